package outcomes

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// lastRows bounds the waiting rows that are looked at for URLs of traps. These have the lowest priority, so they
// are the last ones of their index.
const lastRows = 1000

// waitingLast is the order of waiting rows, the last one first.
const waitingLast = "LENGTH(`ParentMd5`) DESC, `Priority` ASC, `Depth` DESC, `UDate` ASC"

// LateURLs returns at most most waiting URLs of a site that belong to a trap (wire.CauseTrap), by key.
func (s *Store) LateURLs(ctx context.Context, site string, most int) (map[string]string, error) {
	return tables.OfStored(ctx, s.run.Read, "LateURLs", site, func(t *tx, site string) (map[string]string, error) {
		urls := map[string]string{}
		return urls, t.lateRows(site, func(md5, url string) {
			if len(urls) < most {
				urls[md5] = url
			}
		})
	})
}

// lateRows calls each for waiting rows of traps that were never asked.
func (t *tx) lateRows(site string, each func(md5, url string)) error {
	scope := t.URLScope(site)
	order, err := scope.OrderBy(waitingLast)
	if err != nil {
		return err
	}
	p := tables.Clauses{Order: order, Limit: expr.Limit{Count: lastRows, Set: true}}
	text, args := p.BuildQuery("SELECT URLMd5, URL, RetryCause, Crawled FROM "+t.SiteTable(sqldb.URLs, site)+tables.AliasURLs(site), tables.OfSite(site), expr.SQL{Text: "(Status = 1 AND State = 0)"})
	return t.Each(t.WithNamedTables(site, text), args, func(scan func(...any) error) error {
		var md5, url, cause string
		var crawled int64
		if err := scan(&md5, &url, &cause, &crawled); err != nil {
			return err
		}
		if cause == wire.CauseTrap && crawled == 0 {
			each(md5, url)
		}
		return nil
	})
}

// giveWay removes waiting URLs of traps from a full site, at most most, so that other links fit. It returns their
// number. A removed URL counts as a link that did not fit.
func (f *finishing) giveWay(most int) (int, error) {
	var keys []string
	err := f.lateRows(f.site, func(md5, _ string) {
		if len(keys) < most {
			keys = append(keys, md5)
		}
	})
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	for _, md5 := range keys {
		if m := f.links[md5]; m != nil {
			m.has, m.kept = false, false
		}
	}
	f.saved.Skipped += len(keys)
	return len(keys), f.DeleteURLs(f.site, keys, wire.URLDeleteRequest{SiteID: f.site, DelayedType: wire.Immediate, Reason: wire.ReasonAutoRemove})
}
