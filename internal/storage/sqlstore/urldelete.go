package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
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
	return s.changeElements(ctx, "URLDelete", mapSlice(list, func(r wire.URLDeleteRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, r.Check, func(t *tx, site string, md5s []string) error { return t.deleteURLs(site, md5s, r) }}
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
	err = t.runCounted(site, rows, func() error { return t.deleteKeys(sqldb.URLs, site, rows) })
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		err = t.newEpoch(site)
	}
	if err != nil {
		return err
	}
	if err := t.deleteKeys(sqldb.Attributes, site, md5s); err != nil {
		return err
	}
	return t.statisticsOf(site).recordEvents(rows, []string{"FDel", "FDeleted"}, logDelete, r)
}

// withRows returns the keys that have a row.
func (t *tx) withRows(site string, md5s []string) ([]string, error) {
	found, err := t.keysWithRow(sqldb.URLs, site, md5s)
	return slices.DeleteFunc(slices.Clone(md5s), func(md5 string) bool { return !found[md5] }), err
}

// keepOrTrash prepares a deletion. If it is delayed, it copies the rows to those that
// wait for URL_PURGE and counts them. Otherwise it puts the contents of md5s in the trash.
func (t *tx) keepOrTrash(site string, rows, md5s []string, delayedType int64) error {
	if delayedType != wire.Delayed {
		return t.putInTrash(site, md5s)
	}
	_, err := execIn(t, rows, t.copyToDeleted(site)+ofKeys, site)
	if err == nil && len(rows) > 0 {
		_, err = t.Do("site_deleted_more", len(rows), site)
	}
	return err
}

// putInTrash puts the contents of URLs in the trash.
func (t *tx) putInTrash(site string, md5s []string) error {
	rows := mapSlice(md5s, func(md5 string) []any { return []any{site, md5} })
	return t.insertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "trash")+" (Site_Id, URLMd5)", rows)
}

// URLCleanup resets URLs: it sets State, Status and dates, and deletes contents and
// attributes (docs/spec/storage.md 4.12). Delayed cleanup keeps a copy of the changed row,
// and the contents, until URL_PURGE. Statuses are as for URLDelete.
func (s *Store) URLCleanup(ctx context.Context, list []wire.URLCleanupRequest) (wire.GeneralResponse, error) {
	return s.changeElements(ctx, "URLCleanup", mapSlice(list, func(r wire.URLCleanupRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, r.Check, func(t *tx, site string, md5s []string) error { return t.cleanURLs(site, md5s, r) }}
	}))
}

func (t *tx) cleanURLs(site string, md5s []string, r wire.URLCleanupRequest) error {
	rows, err := t.withRows(site, md5s)
	if err != nil {
		return err
	}
	if err := t.statisticsOf(site).recordEvents(rows, nil, logCleanup, r); err != nil {
		return err
	}
	set := wire.Patch{"State": r.State, "Status": r.Status, "TcDate": t.now, "UDate": t.now}
	if r.Status == wire.StatusNew { // old enough for the next crawl
		c, err := t.readCapacity(site)
		if err != nil {
			return err
		}
		set["UDate"] = wire.Expr(fmt.Sprintf("DATE_SUB(UDate, INTERVAL %d MINUTE)", c.period))
	}
	err = t.runCounted(site, rows, func() error { return t.setKeys(t.urlsTarget("URLCleanup", site), rows, set, "Attempts = 0") })
	if err != nil {
		return err
	}
	if err := t.keepOrTrash(site, rows, md5s, r.DelayedType); err != nil {
		return err
	}
	return t.deleteKeys(sqldb.Attributes, site, md5s)
}

// TrashItem names files to remove: those of one URL, or of a site if URLMd5 is "".
type TrashItem struct {
	ID             int64
	SiteID, URLMd5 string
}

// TrashPage is the maximum number of items of Trash.
const TrashPage = 5000

// Trash lists files to remove, oldest first, at most TrashPage. Call it after each change,
// and at the start before the first write: it recovers from a kill between a commit and
// the removal.
func (s *Store) Trash(ctx context.Context) ([]TrashItem, error) {
	return runForResult(ctx, s.runReadTx, "Trash", func(t *tx) (list []TrashItem, err error) {
		err = t.All("trash_oldest", []any{TrashPage}, appendTo(&list, func(i *TrashItem) []any { return []any{&i.ID, &i.SiteID, &i.URLMd5} }))
		return list, err
	})
}

// TrashDone deletes items whose files are removed.
func (s *Store) TrashDone(ctx context.Context, list []TrashItem) error {
	if len(list) == 0 {
		return nil
	}
	return s.runUpdateTx(ctx, "TrashDone", func(t *tx) error {
		ids := mapSlice(list, func(i TrashItem) int64 { return i.ID })
		_, err := execIn(t, ids, "DELETE FROM "+t.DB.Table(sqldb.Sites, "trash")+" WHERE Id IN ")
		return err
	})
}

// agingProperty is the site property that replaces the WHERE of URL_AGE.
const agingProperty = "AGING_URL_CRITERION"

// URLAge deletes old URLs, at once or delayed (docs/spec/storage.md 4.15). Each element
// first selects URLs, site by site, up to MaxURLs in total; the journal also notes the
// URLs above this limit. Then the selected URLs that still match are deleted, pageRows in
// one transaction. Statuses is empty. An invalid criterion in the request is an error
// with its clause, and nothing is deleted. A site with an invalid property is skipped
// with a log line. Without a WHERE only sites with the property have old URLs.
func (s *Store) URLAge(ctx context.Context, list []wire.URLAgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	sites, err := runForResult(ctx, s.runReadTx, "URLAge", func(t *tx) ([]*agedSite, error) {
		a := aging{tx: t, taken: map[Key]bool{}}
		for i, r := range list {
			if err := a.collectRows(elementName("URLAgeObj", i), r); err != nil {
				return nil, err
			}
		}
		return a.sites, nil
	})
	if err != nil {
		return answer, err
	}
	for _, site := range sites {
		_, err := s.changePages(ctx, "URLAge", site.keys, func(t *tx, p *keyPages) error { return t.ageURLs(site, p) })
		if err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// agedSite is the selection of one element in one site.
type agedSite struct {
	r         wire.URLAgeRequest
	keys      keyPages
	overLimit []string // selected keys above MaxURLs
}

// aging collects the selections of URL_AGE.
type aging struct {
	*tx
	taken map[Key]bool
	sites []*agedSite
}

func (a *aging) collectRows(object string, r wire.URLAgeRequest) error {
	// An invalid criterion is an error even if no site is selected.
	if _, err := a.rowsClauses(sqldb.URLs, object+".urlsCriterions", wire.GeneralSite, r.URLsCriterion); err != nil {
		return err
	}
	sites, err := a.selectSites(object+".sitesCriterions", r.SitesCriterion, expr.SQL{})
	if err != nil {
		return err
	}
	for _, site := range sites {
		left := r.MaxURLs - int64(len(a.taken))
		if left <= 0 {
			return nil
		}
		if err := a.collectSite(object, site, r, left); err != nil {
			return err
		}
	}
	return nil
}

func (a *aging) collectSite(object, site string, r wire.URLAgeRequest, left int64) error {
	c := r.URLsCriterion
	where, _, err := a.readProperty(site, agingProperty)
	if err != nil {
		return err
	}
	hasProperty := strings.TrimSpace(where) != ""
	if hasProperty {
		c.Where = where
	}
	if c.Where == "" {
		return nil // no age is named: nothing is old
	}
	if c.Limit == "" {
		c.Limit = fmt.Sprint(left)
	}
	p := keyPages{database: sqldb.URLs, site: site, object: object + ".urlsCriterions", criterion: c}
	keys, err := a.nextKeys(&p, pageRows)
	if err != nil {
		if hasProperty && isRefusal(err) {
			a.options.Log.Warn("invalid "+agingProperty+"; skipping the site", "site", site, "error", clientMessage(err))
			return nil
		}
		return err
	}
	all := append(keys[:len(keys):len(keys)], p.left...)
	selected := &agedSite{r: r, keys: p}
	selected.keys.left, selected.keys.done = nil, false
	for _, md5 := range all {
		key := Key{SiteID: site, URLMd5: md5}
		switch {
		case a.taken[key]:
		case int64(len(selected.keys.left)) < left:
			a.taken[key] = true
			selected.keys.left = append(selected.keys.left, md5)
		default:
			selected.overLimit = append(selected.overLimit, md5)
		}
	}
	a.sites = append(a.sites, selected)
	return nil
}

// ageURLs deletes the next page of a site's selection.
func (t *tx) ageURLs(a *agedSite, p *keyPages) error {
	site, err := t.storedID(p.site)
	if err != nil {
		return err
	}
	if site == "" { // deleted in the meantime
		p.done = true
		return nil
	}
	md5s, err := t.nextKeys(p, pageRows)
	if err != nil {
		return err
	}
	stats := t.statisticsOf(site)
	if p.done {
		if err := stats.recordEvents(a.overLimit, nil, logAging, a.r); err != nil {
			return err
		}
	}
	if err := stats.recordEvents(md5s, []string{"FAged"}, logAging, a.r); err != nil {
		return err
	}
	return t.deleteURLs(site, md5s, wire.URLDeleteRequest{SiteID: site, Criterion: p.criterion, DelayedType: a.r.DelayedType, Reason: wire.ReasonAging})
}
