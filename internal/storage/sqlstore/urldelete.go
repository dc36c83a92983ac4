package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLDelete deletes URLs with their contents and attributes (docs/spec/storage.md 4.11).
// Delayed deletion keeps copies of the rows in dc_urls_deleted, and the contents, until
// URL_PURGE. Statuses has true for each element, also if no URL matches. It has false
// for an unknown site, for an element without URL and clause, and for a refused one;
// ErrorMessage has the first reason. Deleted contents go to the trash. A transaction
// deletes at most pageRows URLs.
func (s *Store) URLDelete(ctx context.Context, list []wire.URLDeleteRequest) (wire.GeneralResponse, error) {
	return s.changeElements(ctx, "URLDelete", mapped(list, func(r wire.URLDeleteRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, func(t *tx, site string, md5s []string) error { return t.deleteURLs(site, md5s, r) }}
	}))
}

// deleteURLs deletes rows of a site with their contents and attributes. It also deletes
// contents and attributes of keys without a row.
func (t *tx) deleteURLs(site string, md5s []string, r wire.URLDeleteRequest) error {
	rows, err := t.withRows(site, md5s)
	if err != nil {
		return err
	}
	if err := t.keepOrTrash(site, rows, md5s, r.DelayedType); err != nil {
		return err
	}
	err = t.counted(site, rows, func() error { return t.deleteKeys(sqldb.URLs, site, rows) })
	if err != nil {
		return err
	}
	if err := t.deleteKeys(sqldb.Attributes, site, md5s); err != nil {
		return err
	}
	stats, err := t.statistics(site)
	if err != nil {
		return err
	}
	return stats.events(rows, []string{"FDel", "FDeleted"}, logDelete, r)
}

// withRows returns the keys that have a row.
func (t *tx) withRows(site string, md5s []string) ([]string, error) {
	found, err := t.present(sqldb.URLs, site, md5s)
	return slices.DeleteFunc(slices.Clone(md5s), func(md5 string) bool { return !found[md5] }), err
}

// keepOrTrash prepares a deletion. If it is delayed, it copies the rows to those that
// wait for URL_PURGE and counts them. Otherwise it puts the contents of md5s in the trash.
func (t *tx) keepOrTrash(site string, rows, md5s []string, delayedType int64) error {
	if delayedType != wire.Delayed {
		return t.trash(site, md5s)
	}
	_, err := execIn(t, rows, t.copyToDeleted(site)+ofKeys, site)
	if err == nil && len(rows) > 0 {
		_, err = t.Do("site_deleted_more", len(rows), site)
	}
	return err
}

// trash puts the contents of URLs in the trash.
func (t *tx) trash(site string, md5s []string) error {
	rows := mapped(md5s, func(md5 string) []any { return []any{site, md5} })
	return t.insertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "trash")+" (Site_Id, URLMd5)", rows)
}

// URLCleanup resets URLs: it sets State, Status and dates, and deletes contents and
// attributes (docs/spec/storage.md 4.12). Delayed cleanup keeps a copy of the changed row,
// and the contents, until URL_PURGE. Statuses are as for URLDelete.
func (s *Store) URLCleanup(ctx context.Context, list []wire.URLCleanupRequest) (wire.GeneralResponse, error) {
	return s.changeElements(ctx, "URLCleanup", mapped(list, func(r wire.URLCleanupRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, func(t *tx, site string, md5s []string) error { return t.cleanURLs(site, md5s, r) }}
	}))
}

func (t *tx) cleanURLs(site string, md5s []string, r wire.URLCleanupRequest) error {
	rows, err := t.withRows(site, md5s)
	if err != nil {
		return err
	}
	stats, err := t.statistics(site)
	if err != nil {
		return err
	}
	if err := stats.events(rows, nil, logCleanup, r); err != nil {
		return err
	}
	set := wire.Patch{"State": r.State, "Status": r.Status, "TcDate": t.now, "UDate": t.now}
	if r.Status == wire.StatusNew { // old enough for the next crawl
		var period int64
		if _, err := t.Get("site_recrawl_period", []any{site}, &period); err != nil {
			return err
		}
		set["UDate"] = wire.Expr(fmt.Sprintf("DATE_SUB(UDate, INTERVAL %d MINUTE)", period))
	}
	err = t.counted(site, rows, func() error { return t.setKeys(t.urlsTarget("URLCleanup", site), rows, set, "Attempts = 0") })
	if err != nil {
		return err
	}
	if err := t.keepOrTrash(site, rows, md5s, r.DelayedType); err != nil {
		return err
	}
	return t.deleteKeys(sqldb.Attributes, site, md5s)
}
