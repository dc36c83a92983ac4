package urls

import (
	"context"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// Selection reads the keys of a site's URLs that a criterion selects, a page at a time.
// It is not safe for concurrent use.
type Selection struct {
	s *Store
	p tables.KeyPages
}

// Select starts a selection. Object names the owner of the criterion in refusals.
func (s *Store) Select(object, site string, c wire.Criterion) *Selection {
	return &Selection{s: s, p: tables.KeyPages{Database: sqldb.URLs, Site: site, Object: object + ".criterions", Criterion: c, Ordered: true}}
}

// Check returns an error with the clause if the criterion is invalid.
func (l *Selection) Check(ctx context.Context) error {
	return l.s.run.Read(ctx, "Select", func(t *Tx) error {
		_, err := t.RowsClauses(sqldb.URLs, l.p.Object, l.p.Site, l.p.Criterion)
		return err
	})
}

// Next returns the keys of the next page. It returns no keys at the end and for an
// unknown site.
func (l *Selection) Next(ctx context.Context) (md5s []string, err error) {
	for len(md5s) == 0 && !l.p.Done {
		var next tables.KeyPages
		err := l.s.run.Read(ctx, "Select", func(t *Tx) error {
			next, md5s = l.p, nil
			site, err := t.StoredID(next.Site)
			if err != nil || site == "" {
				next.Done = true
				return err
			}
			next.Site = site
			md5s, err = t.NextKeys(&next, tables.PageRows)
			return err
		})
		if err != nil {
			return nil, err
		}
		l.p = next
	}
	return md5s, nil
}
