package sqlstore

import (
	"context"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLPurge ends a delayed deletion: it deletes the copies of rows and puts their contents
// in the trash (docs/spec/storage.md 4.14). It keeps the contents of a URL that exists
// again with a TcDate that no copy has. Statuses has [site, number of URLs] for each
// purged site. An element for all sites adds only sites with deleted URLs, sorted by id.
// The purge of the last copy of a deleted site removes the rest of the site. An invalid
// criterion is an error with its clause. A transaction purges at most pageRows URLs.
func (s *Store) URLPurge(ctx context.Context, list []wire.URLPurgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	for i, r := range list {
		p := purge{s: s, object: elementName("URLPurge", i), r: r}
		statuses, err := p.runPurge(ctx)
		if err != nil {
			return wire.GeneralResponse{}, err
		}
		answer.Statuses = append(answer.Statuses, statuses...)
	}
	return answer, nil
}

// purge is one element of URL_PURGE.
type purge struct {
	s      *Store
	object string
	r      wire.URLPurgeRequest
}

func (p *purge) runPurge(ctx context.Context) ([]any, error) {
	if p.r.SiteID != "" {
		site, n, err := p.purgeSite(ctx, p.r.SiteID, p.r.URLMd5)
		return []any{[]any{site, n}}, err
	}
	if !p.r.Limits || p.r.Offset < 0 {
		p.s.db.options.Log.Warn("a purge of all sites needs siteLimits; nothing is purged", "element", p.object)
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
		site, n, err := p.purgeSite(ctx, id, "")
		if err != nil {
			return nil, err
		}
		if n > 0 {
			statuses = append(statuses, []any{site, n})
		}
	}
	return statuses, nil
}

// deletedSites returns the known sites and the sites with rows that wait for URL_PURGE,
// sorted by id.
func (s *Store) deletedSites(ctx context.Context) ([]string, error) {
	sites, err := runForResult(ctx, s.runReadTx, "URLPurge", func(t *tx) ([]string, error) {
		sites, err := t.SitesWith(sqldb.Deleted)
		if err != nil {
			return nil, err
		}
		known, err := namedColumn[string](t, "sites_all")
		ours := slices.DeleteFunc(sites, func(id string) bool { return wire.CheckSiteID("", "", id) != nil }) // not tables of this program
		return append(ours, known...), err
	})
	return sortUnique(sites), err
}

// purgeSite purges one site: the URL of md5, or the criterion's selection if md5 is "".
func (p *purge) purgeSite(ctx context.Context, id, md5 string) (site string, n int, err error) {
	keys, err := p.s.changePages(ctx, "URLPurge", keyPages{}, func(t *tx, keys *keyPages) (err error) {
		site, err = t.purgePage(p.object, id, md5, p.r.Criterion, keys)
		return err
	})
	return site, keys.purged, err
}

func (t *tx) purgePage(object, id, md5 string, c wire.Criterion, p *keyPages) (site string, err error) {
	site, known, err := t.deletedSite(id)
	p.database, p.site, p.object, p.criterion = sqldb.Deleted, site, object+".criterions", c
	if err != nil || site == "" {
		p.done = true
		// An invalid criterion is an error even if there is nothing to purge.
		if _, refusal := t.rowsClauses(sqldb.Deleted, p.object, id, c); err == nil {
			err = refusal
		}
		return id, err
	}
	keys := []string{md5}
	if md5 != "" {
		p.done = true
	} else if keys, err = t.nextKeys(p, pageRows); err != nil {
		return site, err
	}
	n, err := t.purgeURLs(site, known, keys)
	p.purged += n
	return site, err
}

// deletedSite locks a site and returns its id, or "" for an unknown site without rows
// that wait for URL_PURGE. Known is false for a deleted site.
func (t *tx) deletedSite(id string) (site string, known bool, err error) {
	if site, err = t.storedID(id); err != nil || site != "" {
		return site, true, err
	}
	if waits, err := t.HasSite(sqldb.Deleted, id); err != nil || !waits {
		return "", false, err
	}
	free, err := t.reserveID(id)
	if err != nil {
		return "", false, err
	}
	if free { // another transaction may have removed its tables before
		if waits, err := t.KeepsSite(sqldb.Deleted, id); err != nil || !waits {
			return "", false, err
		}
		return id, false, nil
	}
	site, err = t.storedID(id)
	return site, true, err
}

// purgeURLs deletes all copies of rows and returns the number of URLs that had one.
func (t *tx) purgeURLs(site string, known bool, md5s []string) (int, error) {
	copies, err := t.touchDates(sqldb.Deleted, site, md5s)
	if err != nil {
		return 0, err
	}
	live := map[string][]string{}
	if known {
		if live, err = t.touchDates(sqldb.URLs, site, md5s); err != nil {
			return 0, err
		}
	}
	var purged, withoutRow []string
	var rows int64
	for _, md5 := range md5s {
		if len(copies[md5]) == 0 {
			continue
		}
		purged = append(purged, md5)
		rows += int64(len(copies[md5]))
		if row := live[md5]; len(row) == 0 || slices.Contains(copies[md5], row[0]) {
			withoutRow = append(withoutRow, md5)
		}
	}
	if err := t.putInTrash(site, withoutRow); err != nil {
		return 0, err
	}
	if err := t.deleteKeys(sqldb.Deleted, site, purged); err != nil {
		return 0, err
	}
	if !known {
		if waits, err := t.awaitsPurge(site); err != nil || waits {
			return len(purged), err
		}
		return len(purged), t.dropRest(site)
	}
	if rows > 0 {
		if _, err := t.Do("site_deleted_less", rows, rows, site); err != nil {
			return 0, err
		}
	}
	return len(purged), t.statisticsOf(site).recordEvents(purged, []string{"FPurged"}, 0, nil)
}

// touchDates reads the TcDates of rows by key; a NULL date is "".
func (t *tx) touchDates(database, site string, md5s []string) (map[string][]string, error) {
	dates := make(map[string][]string, len(md5s))
	text := "SELECT URLMd5, COALESCE(TcDate, '') FROM " + t.siteTable(database, site) + ofKeys
	err := eachIn(t, md5s, text, []any{site}, scanPair(func(md5, date string) { dates[md5] = append(dates[md5], date) }))
	return dates, err
}
