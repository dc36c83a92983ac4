package sqlstore

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLVerify reads for each element a row of a site's URLs, or of those that wait for
// URL_PURGE (docs/spec/storage.md 4.17). The answer is nil if the row, the site or the
// database does not exist or the criterion does not match. An invalid criterion is an
// error with its clause.
func (s *Store) URLVerify(ctx context.Context, list []wire.URLVerifyRequest) ([]*wire.URL, error) {
	return readEach(ctx, s, "URLVerify", list, (*tx).verify)
}

func (t *tx) verify(object string, r wire.URLVerifyRequest) (first *wire.URL, err error) {
	if r.Null {
		return nil, nil
	}
	object += ".criterions"
	database := ""
	for _, d := range []string{sqldb.URLs, sqldb.Deleted} {
		if r.Database == d || r.Database == t.DB.Name(d) {
			database = d
		}
	}
	_, err = t.rowsClauses(sqldb.URLs, object, r.SiteID, r.Criterion) // refuse before reading
	if err != nil || database == "" {
		return nil, err
	}
	site, err := t.storedID(r.SiteID)
	if err != nil {
		return nil, err
	}
	if site == "" {
		site = r.SiteID
		if waits, err := t.HasSite(database, site); err != nil || !waits {
			return nil, err
		}
	}
	c, err := t.rowsClauses(database, object, site, r.Criterion)
	if err != nil {
		return nil, err
	}
	text, args := c.query("SELECT "+urlColumns+" FROM "+t.table(database, site)+c.as, ofSite(site), expr.SQL{Text: "(URLMd5 = ?)", Args: []any{r.URLMd5}})
	err = t.eachURL(t.named(site, text), args, func(u wire.URL) {
		if first == nil {
			first = &u
		}
	})
	return first, err
}
