package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLPurge ends the wait of URLs that were deleted with delay: all copies of
// their rows go, and their contents are left to Trash (docs/spec/storage.md 4.14). Contents
// stay of a URL that is alive again: one with a row whose TcDate is that of no
// copy. Statuses has [site, number of URLs] for each site that was purged; an
// element for all sites adds those that had something to purge, in the order of
// ids. The site may be gone: with its last row the last of it goes. A condition
// that is refused is an error that names its clause. For requests of many rows
// see step.
func (s *Store) URLPurge(ctx context.Context, list []wire.URLPurgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	for i, r := range list {
		p := purge{s: s, object: fmt.Sprintf("URLPurge[%d]", i), r: r}
		statuses, err := p.run(ctx)
		if err != nil {
			return wire.GeneralResponse{}, err
		}
		answer.Statuses = append(answer.Statuses, statuses...)
	}
	return answer, nil
}

// purge is one element of URL_PURGE under way.
type purge struct {
	s      *Store
	object string
	r      wire.URLPurgeRequest
}

func (p *purge) run(ctx context.Context) ([]any, error) {
	if p.r.SiteID != "" {
		site, n, err := p.site(ctx, p.r.SiteID, p.r.URLMd5)
		return []any{[]any{site, n}}, err
	}
	if !p.r.Limits || p.r.Offset < 0 {
		p.s.o.Log.Warn("a purge of all sites has no siteLimits", "element", p.object)
		return nil, nil
	}
	sites, err := p.s.deletedSites(ctx)
	if err != nil {
		return nil, err
	}
	var statuses []any
	for _, id := range sites[min(p.r.Offset, int64(len(sites))):] {
		if p.r.Count >= 0 && int64(len(statuses)) >= p.r.Count {
			break
		}
		site, n, err := p.site(ctx, id, "")
		if err != nil {
			return nil, err
		}
		if n > 0 {
			statuses = append(statuses, []any{site, n})
		}
	}
	return statuses, nil
}

// deletedSites are the sites that have a table of deleted rows, in the order of
// ids: those that are known, and those that rows still wait of.
func (s *Store) deletedSites(ctx context.Context) ([]string, error) {
	var sites []string
	err := s.view(ctx, "URLPurge", func(t *tx) (err error) {
		if sites, err = t.SitesWith(sqldb.Deleted); err != nil {
			return err
		}
		sites = slices.DeleteFunc(sites, func(id string) bool { return wire.CheckSiteID("", "", id) != nil }) // tables of others
		known, err := t.texts("sites_all")
		sites = append(sites, known...)
		return err
	})
	slices.Sort(sites)
	return slices.Compact(sites), err
}

// site purges one site; md5 "" means what the criterion selects.
func (p *purge) site(ctx context.Context, asked, md5 string) (site string, n int, err error) {
	rows := pick{}
	for !rows.done {
		var after pick
		var purged int
		err := p.s.update(ctx, "URLPurge", func(t *tx) (err error) {
			after, purged = rows, 0
			site, purged, err = t.purgeSome(p.object, asked, md5, p.r.Criterion, &after)
			return err
		})
		if err != nil {
			return site, n, err
		}
		rows, n = after, n+purged
	}
	return site, n, nil
}

func (t *tx) purgeSome(object, asked, md5 string, c wire.Criterion, p *pick) (site string, n int, err error) {
	site, known, err := t.deletedSite(asked)
	p.database, p.site, p.object, p.criterion = sqldb.Deleted, site, object+".criterions", c
	if err != nil || site == "" {
		p.done = true
		// What is asked wrongly is refused, be there something to purge or not.
		if _, refusal := t.rowsClauses(sqldb.Deleted, p.object, asked, c); err == nil {
			err = refusal
		}
		return asked, 0, err
	}
	keys := []string{md5}
	if md5 != "" {
		p.done = true
	} else if keys, err = t.next(p, step); err != nil {
		return site, 0, err
	}
	n, err = t.purgeURLs(site, known, keys)
	return site, n, err
}

// deletedSite finds a site by its id, and holds it. A site that is gone is not
// known; one of which nothing waits, too, is "".
func (t *tx) deletedSite(id string) (site string, known bool, err error) {
	if site, err = t.known(id); err != nil || site != "" {
		return site, true, err
	}
	if waits, err := t.HasSite(sqldb.Deleted, id); err != nil || !waits {
		return "", false, err
	}
	free, err := t.claim(id)
	if err != nil || free {
		return id, false, err
	}
	site, err = t.known(id)
	return site, true, err
}

// purgeURLs takes all copies of rows, and tells of how many URLs there were any.
func (t *tx) purgeURLs(site string, known bool, md5s []string) (int, error) {
	copies, err := t.touched(sqldb.Deleted, site, md5s)
	if err != nil {
		return 0, err
	}
	alive := map[string][]string{}
	if known {
		if alive, err = t.touched(sqldb.URLs, site, md5s); err != nil {
			return 0, err
		}
	}
	var gone, dead []string
	var rows int64
	for _, md5 := range md5s {
		if len(copies[md5]) == 0 {
			continue
		}
		gone = append(gone, md5)
		rows += int64(len(copies[md5]))
		if row := alive[md5]; len(row) == 0 || slices.Contains(copies[md5], row[0]) {
			dead = append(dead, md5)
		}
	}
	if err := t.dropContents(site, dead); err != nil {
		return 0, err
	}
	if err := t.deleteKeys(sqldb.Deleted, site, gone); err != nil {
		return 0, err
	}
	if !known {
		var one int
		if waits, err := t.Of(site).Get("deleted_any", []any{site}, &one); err != nil || waits {
			return len(gone), err
		}
		return len(gone), t.forget(site)
	}
	if rows > 0 {
		if _, err := t.Do("site_deleted_less", rows, rows, site); err != nil {
			return 0, err
		}
	}
	stats, err := t.statistics(site)
	if err != nil {
		return 0, err
	}
	return len(gone), stats.events(gone, []string{"FPurged"}, 0, nil)
}

// touched reads the TcDates of rows by key, "" for none.
func (t *tx) touched(database, site string, md5s []string) (map[string][]string, error) {
	dates := make(map[string][]string, len(md5s))
	err := chunks(md5s, func(in string, args []any) error {
		return t.Each("SELECT URLMd5, COALESCE(TcDate, '') FROM "+t.table(database, site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...),
			func(scan func(...any) error) error {
				var md5, date string
				err := scan(&md5, &date)
				dates[md5] = append(dates[md5], date)
				return err
			})
	})
	return dates, err
}
