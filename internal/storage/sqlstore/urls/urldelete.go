package urls

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// URLDelete deletes URLs with their contents and attributes (docs/spec/storage.md 4.11).
// Delayed deletion keeps copies of the rows in dc_urls_deleted, and the contents, until
// URL_PURGE. Statuses has true for each element, also if no URL matches. It has false
// for an unknown site, for an element without URL and clause, and for a refused one;
// ErrorMessage has the first reason. Deleted contents go to the trash. A transaction
// deletes at most PageRows URLs.
func (s *Store) URLDelete(ctx context.Context, list []wire.URLDeleteRequest) (wire.GeneralResponse, error) {
	return s.changeElements(ctx, "URLDelete", tables.MapSlice(list, func(r wire.URLDeleteRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, r.Check, func(t *Tx, site string, md5s []string) error { return t.DeleteURLs(site, md5s, r) }}
	}))
}

// URLCleanup resets URLs: it sets State, Status and dates, and deletes contents and
// attributes (docs/spec/storage.md 4.12). Delayed cleanup keeps a copy of the changed row,
// and the contents, until URL_PURGE. Statuses are as for URLDelete.
func (s *Store) URLCleanup(ctx context.Context, list []wire.URLCleanupRequest) (wire.GeneralResponse, error) {
	return s.changeElements(ctx, "URLCleanup", tables.MapSlice(list, func(r wire.URLCleanupRequest) element {
		return element{r.SiteID, r.URLMd5, r.Criterion, r.Check, func(t *Tx, site string, md5s []string) error { return t.cleanURLs(site, md5s, r) }}
	}))
}

func (t *Tx) cleanURLs(site string, md5s []string, r wire.URLCleanupRequest) error {
	rows, err := t.WithRows(site, md5s)
	if err != nil {
		return err
	}
	if err := t.StatisticsOf(site).RecordEvents(rows, nil, counters.LogCleanup, r); err != nil {
		return err
	}
	set := schema.Patch{"State": r.State, "Status": r.Status, "TcDate": t.Now, "UDate": t.Now}
	if r.Status == wire.StatusNew { // old enough for the next crawl
		c, err := t.ReadCapacity(site)
		if err != nil {
			return err
		}
		set["UDate"] = schema.Expr(fmt.Sprintf("DATE_SUB(UDate, INTERVAL %d MINUTE)", c.Period))
	}
	err = t.RunCounted(site, rows, func() error { return t.SetKeys(t.URLsTarget("URLCleanup", site), rows, set, "Attempts = 0") })
	if err != nil {
		return err
	}
	if err := t.KeepOrTrash(site, rows, md5s, r.DelayedType); err != nil {
		return err
	}
	return t.DeleteKeys(sqldb.Attributes, site, md5s)
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
	return tables.RunForResult(ctx, s.run.Read, "Trash", func(t *Tx) (list []TrashItem, err error) {
		err = t.All("trash_oldest", []any{TrashPage}, tables.AppendTo(&list, func(i *TrashItem) []any { return []any{&i.ID, &i.SiteID, &i.URLMd5} }))
		return list, err
	})
}

// TrashDone deletes items whose files are removed.
func (s *Store) TrashDone(ctx context.Context, list []TrashItem) error {
	if len(list) == 0 {
		return nil
	}
	return s.run.Update(ctx, "TrashDone", func(t *Tx) error {
		ids := tables.MapSlice(list, func(i TrashItem) int64 { return i.ID })
		_, err := tables.ExecIn(t.tableTx, ids, "DELETE FROM "+t.DB.Table(sqldb.Sites, "trash")+" WHERE Id IN ")
		return err
	})
}

// agingProperty is the site property that replaces the WHERE of URL_AGE.
const agingProperty = "AGING_URL_CRITERION"

// URLAge deletes old URLs, at once or delayed (docs/spec/storage.md 4.15). Each element
// first selects URLs, site by site, up to MaxURLs in total; the journal also notes the
// URLs above this limit. Then the selected URLs that still match are deleted, PageRows in
// one transaction. Statuses is empty. An invalid criterion in the request is an error
// with its clause, and nothing is deleted. A site with an invalid property is skipped
// with a log line. Without a WHERE only sites with the property have old URLs.
func (s *Store) URLAge(ctx context.Context, list []wire.URLAgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	sites, err := tables.RunForResult(ctx, s.run.Read, "URLAge", func(t *Tx) ([]*agedSite, error) {
		a := aging{Tx: t, taken: map[Key]bool{}}
		for i, r := range list {
			if err := a.collectRows(tables.ElementName("URLAgeObj", i), r); err != nil {
				return nil, err
			}
		}
		return a.sites, nil
	})
	if err != nil {
		return answer, err
	}
	for _, site := range sites {
		_, err := s.changePages(ctx, "URLAge", site.keys, func(t *Tx, p *tables.KeyPages) error { return t.ageURLs(site, p) })
		if err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// agedSite is the selection of one element in one site.
type agedSite struct {
	r         wire.URLAgeRequest
	keys      tables.KeyPages
	overLimit []string // selected keys above MaxURLs
}

// aging collects the selections of URL_AGE.
type aging struct {
	*Tx
	taken map[Key]bool
	sites []*agedSite
}

func (a *aging) collectRows(object string, r wire.URLAgeRequest) error {
	// An invalid criterion is an error even if no site is selected.
	if _, err := a.RowsClauses(sqldb.URLs, object+".urlsCriterions", wire.GeneralSite, r.URLsCriterion); err != nil {
		return err
	}
	sites, err := a.SelectSites(object+".sitesCriterions", r.SitesCriterion, expr.SQL{})
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
	where, _, err := a.ReadProperty(site, agingProperty)
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
	p := tables.KeyPages{Database: sqldb.URLs, Site: site, Object: object + ".urlsCriterions", Criterion: c}
	keys, err := a.NextKeys(&p, tables.PageRows)
	if err != nil {
		if hasProperty && tables.IsRefusal(err) {
			a.Options.Log.Warn("invalid "+agingProperty+"; skipping the site", "site", site, "error", tables.ClientMessage(err))
			return nil
		}
		return err
	}
	all := append(keys[:len(keys):len(keys)], p.Left...)
	selected := &agedSite{r: r, keys: p}
	selected.keys.Left, selected.keys.Done = nil, false
	for _, md5 := range all {
		key := Key{SiteID: site, URLMd5: md5}
		switch {
		case a.taken[key]:
		case int64(len(selected.keys.Left)) < left:
			a.taken[key] = true
			selected.keys.Left = append(selected.keys.Left, md5)
		default:
			selected.overLimit = append(selected.overLimit, md5)
		}
	}
	a.sites = append(a.sites, selected)
	return nil
}

// ageURLs deletes the next page of a site's selection.
func (t *Tx) ageURLs(a *agedSite, p *tables.KeyPages) error {
	site, err := t.StoredID(p.Site)
	if err != nil {
		return err
	}
	if site == "" { // deleted in the meantime
		p.Done = true
		return nil
	}
	md5s, err := t.NextKeys(p, tables.PageRows)
	if err != nil {
		return err
	}
	stats := t.StatisticsOf(site)
	if p.Done {
		if err := stats.RecordEvents(a.overLimit, nil, counters.LogAging, a.r); err != nil {
			return err
		}
	}
	if err := stats.RecordEvents(md5s, []string{"FAged"}, counters.LogAging, a.r); err != nil {
		return err
	}
	return t.DeleteURLs(site, md5s, wire.URLDeleteRequest{SiteID: site, Criterion: p.Criterion, DelayedType: a.r.DelayedType, Reason: wire.ReasonAging})
}
