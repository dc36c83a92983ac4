package urls

import (
	"context"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// URLPurge ends a delayed deletion: it deletes the copies of rows and puts their contents
// in the trash (docs/spec/storage.md 4.14). It keeps the contents of a URL that exists
// again with a TcDate that no copy has. Statuses has [site, number of URLs] for each
// purged site. An element for all sites adds only sites with deleted URLs, sorted by id.
// The purge of the last copy of a deleted site removes the rest of the site. An invalid
// criterion is an error with its clause. A transaction purges at most PageRows URLs.
func (s *Store) URLPurge(ctx context.Context, list []wire.URLPurgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	for i, r := range list {
		p := purge{s: s, object: tables.ElementName("URLPurge", i), r: r}
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
		p.s.db.Options.Log.Warn("a purge of all sites needs siteLimits; nothing is purged", "element", p.object)
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
	sites, err := tables.RunForResult(ctx, s.run.Read, "URLPurge", func(t *Tx) ([]string, error) {
		sites, err := t.SitesWith(sqldb.Deleted)
		if err != nil {
			return nil, err
		}
		known, err := tables.NamedColumn[string](t.tableTx, "sites_all")
		ours := slices.DeleteFunc(sites, func(id string) bool { return wire.CheckSiteID("", "", id) != nil }) // not tables of this program
		return append(ours, known...), err
	})
	return tables.SortUnique(sites), err
}

// purgeSite purges one site: the URL of md5, or the criterion's selection if md5 is "".
func (p *purge) purgeSite(ctx context.Context, id, md5 string) (site string, n int, err error) {
	keys, err := p.s.changePages(ctx, "URLPurge", tables.KeyPages{}, func(t *Tx, keys *tables.KeyPages) (err error) {
		site, err = t.purgePage(p.object, id, md5, p.r.Criterion, keys)
		return err
	})
	return site, keys.Purged, err
}

func (t *Tx) purgePage(object, id, md5 string, c wire.Criterion, p *tables.KeyPages) (site string, err error) {
	site, known, err := t.deletedSite(id)
	p.Database, p.Site, p.Object, p.Criterion = sqldb.Deleted, site, object+".criterions", c
	if err != nil || site == "" {
		p.Done = true
		// An invalid criterion is an error even if there is nothing to purge.
		if _, refusal := t.RowsClauses(sqldb.Deleted, p.Object, id, c); err == nil {
			err = refusal
		}
		return id, err
	}
	keys := []string{md5}
	if md5 != "" {
		p.Done = true
	} else if keys, err = t.NextKeys(p, tables.PageRows); err != nil {
		return site, err
	}
	n, err := t.purgeURLs(site, known, keys)
	p.Purged += n
	return site, err
}

// deletedSite locks a site and returns its id, or "" for an unknown site without rows
// that wait for URL_PURGE. Known is false for a deleted site.
func (t *Tx) deletedSite(id string) (site string, known bool, err error) {
	if site, err = t.StoredID(id); err != nil || site != "" {
		return site, true, err
	}
	if waits, err := t.HasSite(sqldb.Deleted, id); err != nil || !waits {
		return "", false, err
	}
	free, err := t.ReserveID(id)
	if err != nil {
		return "", false, err
	}
	if free { // another transaction may have removed its tables before
		if waits, err := t.KeepsSite(sqldb.Deleted, id); err != nil || !waits {
			return "", false, err
		}
		return id, false, nil
	}
	site, err = t.StoredID(id)
	return site, true, err
}

// purgeURLs deletes all copies of rows and returns the number of URLs that had one.
func (t *Tx) purgeURLs(site string, known bool, md5s []string) (int, error) {
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
	if err := t.PutInTrash(site, withoutRow); err != nil {
		return 0, err
	}
	if err := t.DeleteKeys(sqldb.Deleted, site, purged); err != nil {
		return 0, err
	}
	if !known {
		if waits, err := t.AwaitsPurge(site); err != nil || waits {
			return len(purged), err
		}
		return len(purged), t.DropRest(site)
	}
	if rows > 0 {
		if _, err := t.Do("site_deleted_less", rows, rows, site); err != nil {
			return 0, err
		}
	}
	return len(purged), t.StatisticsOf(site).RecordEvents(purged, []string{"FPurged"}, 0, nil)
}

// touchDates reads the TcDates of rows by key; a NULL date is "".
func (t *Tx) touchDates(database, site string, md5s []string) (map[string][]string, error) {
	dates := make(map[string][]string, len(md5s))
	text := "SELECT URLMd5, COALESCE(TcDate, '') FROM " + t.SiteTable(database, site) + tables.OfKeys
	err := tables.EachIn(t.tableTx, md5s, text, []any{site}, tables.ScanPair(func(md5, date string) { dates[md5] = append(dates[md5], date) }))
	return dates, err
}
