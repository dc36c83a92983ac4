package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLDelete deletes URLs with their contents and attributes, or with delay: then
// copies of the rows wait in dc_urls_deleted, and contents stay, until URL_PURGE
// (docs/spec/storage.md 4.11). Statuses has true for each element, also when there is no such
// URL, and false for an unknown site, for one that names neither URL nor clause,
// and for one that is refused; the first reason stands in ErrorMessage. Contents
// that go are left to Trash. For requests of many rows see step.
func (s *Store) URLDelete(ctx context.Context, list []wire.URLDeleteRequest) (wire.GeneralResponse, error) {
	elements := make([]element, len(list))
	for i, r := range list {
		elements[i] = element{object: fmt.Sprintf("URLDelete[%d]", i), site: r.SiteID, md5: r.URLMd5, criterion: r.Criterion,
			change: func(t *tx, site string, md5s []string) error { return t.deleteURLs(site, md5s, r) }}
	}
	return s.changeElements(ctx, "URLDelete", elements)
}

func (s *Store) changeElements(ctx context.Context, op string, list []element) (wire.GeneralResponse, error) {
	p := progress{answer: wire.GeneralResponse{Statuses: []any{}}}
	for p.at < len(list) {
		var after progress
		err := s.update(ctx, op, func(t *tx) error {
			after = p
			return t.changed(list, &after)
		})
		if err != nil {
			return wire.GeneralResponse{}, err
		}
		p = after
	}
	return p.answer, nil
}

// deleteURLs deletes rows of a site and what belongs to them, as r says. Of keys
// without a row it deletes what may be left of them.
func (t *tx) deleteURLs(site string, md5s []string, r wire.URLDeleteRequest) error {
	rows, err := t.withRows(site, md5s)
	if err != nil {
		return err
	}
	if r.DelayedType == wire.Delayed {
		err = t.keepDeleted(site, rows)
	} else {
		err = t.dropContents(site, md5s)
	}
	if err != nil {
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

// withRows leaves the keys that have a row among the site's URLs.
func (t *tx) withRows(site string, md5s []string) ([]string, error) {
	there, err := t.present(sqldb.URLs, site, md5s)
	var rows []string
	for _, md5 := range md5s {
		if there[md5] {
			rows = append(rows, md5)
		}
	}
	return rows, err
}

// keepDeleted copies rows to those that wait for URL_PURGE, and counts them.
func (t *tx) keepDeleted(site string, md5s []string) error {
	columns := urlColumns + ", Attempts"
	err := chunks(md5s, func(in string, args []any) error {
		_, err := t.Exec("INSERT INTO "+t.table(sqldb.Deleted, site)+" ("+columns+") SELECT "+columns+" FROM "+t.table(sqldb.URLs, site)+
			" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...)...)
		return err
	})
	if err == nil && len(md5s) > 0 {
		_, err = t.Do("site_deleted_more", len(md5s), site)
	}
	return err
}

// dropContents leaves the contents of URLs to Trash.
func (t *tx) dropContents(site string, md5s []string) error {
	rows := make([][]any, len(md5s))
	for i, md5 := range md5s {
		rows[i] = []any{site, md5}
	}
	return t.insertRows(t.DB.Table(sqldb.Sites, "trash"), "Site_Id, URLMd5", rows)
}

// deleteKeys deletes the rows of keys from a table of a site.
func (t *tx) deleteKeys(database, site string, md5s []string) error {
	return chunks(md5s, func(in string, args []any) error {
		_, err := t.Exec("DELETE FROM "+t.table(database, site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...)...)
		return err
	})
}

// URLCleanup empties URLs: State, Status and dates are set, contents and
// attributes go (docs/spec/storage.md 4.12). With delay a copy of the row as it is then waits
// for URL_PURGE, and contents stay until then. For Statuses see URLDelete.
func (s *Store) URLCleanup(ctx context.Context, list []wire.URLCleanupRequest) (wire.GeneralResponse, error) {
	elements := make([]element, len(list))
	for i, r := range list {
		elements[i] = element{object: fmt.Sprintf("URLCleanup[%d]", i), site: r.SiteID, md5: r.URLMd5, criterion: r.Criterion,
			change: func(t *tx, site string, md5s []string) error { return t.cleanURLs(site, md5s, r) }}
	}
	return s.changeElements(ctx, "URLCleanup", elements)
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
	if r.Status == wire.StatusNew { // as old as it must be to be crawled again
		var period int64
		if _, err := t.Get("site_recrawl_period", []any{site}, &period); err != nil {
			return err
		}
		set["UDate"] = wire.Expr(fmt.Sprintf("DATE_SUB(UDate, INTERVAL %d MINUTE)", period))
	}
	g := t.urlsTarget("URLCleanup", site)
	err = t.counted(site, rows, func() error {
		return chunks(rows, func(in string, args []any) error {
			_, err := t.set(g, set, []string{"Attempts = 0"}, "Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...)...)
			return err
		})
	})
	if err != nil {
		return err
	}
	if r.DelayedType == wire.Delayed {
		err = t.keepDeleted(site, rows)
	} else {
		err = t.dropContents(site, md5s)
	}
	if err != nil {
		return err
	}
	return t.deleteKeys(sqldb.Attributes, site, md5s)
}
