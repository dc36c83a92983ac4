package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLVerify reads a row of a site's live URLs, or of those that wait for
// URL_PURGE, for each element; nil where there is none that the criterion selects
// too, or no such site or database (docs/spec/storage.md 4.17). A condition that is refused is
// an error that names its clause.
func (s *Store) URLVerify(ctx context.Context, list []wire.URLVerifyRequest) ([]*wire.URL, error) {
	var urls []*wire.URL
	err := s.view(ctx, "URLVerify", func(t *tx) error {
		urls = make([]*wire.URL, len(list))
		for i, r := range list {
			if r.Null {
				continue
			}
			u, err := t.verify(fmt.Sprintf("URLVerify[%d].criterions", i), r)
			if err != nil {
				return err
			}
			urls[i] = u
		}
		return nil
	})
	return urls, err
}

func (t *tx) verify(object string, r wire.URLVerifyRequest) (*wire.URL, error) {
	database := ""
	for _, d := range []string{sqldb.URLs, sqldb.Deleted} {
		if r.Database == d || r.Database == t.DB.Name(d) {
			database = d
		}
	}
	c, err := t.rowsClauses(sqldb.URLs, object, r.SiteID, r.Criterion)
	if err != nil || database == "" {
		return nil, err
	}
	site, err := t.known(r.SiteID)
	if err != nil {
		return nil, err
	}
	if site == "" {
		site = r.SiteID
		if waits, err := t.HasSite(database, site); err != nil || !waits {
			return nil, err
		}
	}
	if c, err = t.rowsClauses(database, object, site, r.Criterion); err != nil {
		return nil, err
	}
	var q statement
	q.add("SELECT " + urlColumns + " FROM " + t.table(database, site) + c.as)
	q.where(ofSite(site), expr.SQL{Text: "(URLMd5 = ?)", Args: []any{r.URLMd5}}, c.where)
	q.order(c.order)
	q.limit(c.limit)
	var first *wire.URL
	err = t.eachURL(t.named(site, q.text.String()), q.args, func(u wire.URL) {
		if first == nil {
			first = &u
		}
	})
	return first, err
}
