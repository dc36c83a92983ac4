package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// agingProperty is the site property that replaces the WHERE of URL_AGE.
const agingProperty = "AGING_URL_CRITERION"

// URLAge deletes old URLs, at once or delayed (docs/spec/storage.md 4.15). Each element
// first selects URLs, site by site, up to MaxURLs in total; the journal also notes the
// URLs above this limit. Then the selected URLs that still match are deleted, pageRows in
// one transaction. Statuses is empty. An invalid criterion in the request is an error
// with its clause, and nothing is deleted. A site with an invalid property is skipped
// with a log line.
func (s *Store) URLAge(ctx context.Context, list []wire.URLAgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	sites, err := result(ctx, s.view, "URLAge", func(t *tx) ([]*agedSite, error) {
		a := aging{tx: t, taken: map[Key]bool{}}
		for i, r := range list {
			if err := a.collect(elementName("URLAgeObj", i), r); err != nil {
				return nil, err
			}
		}
		return a.sites, nil
	})
	if err != nil {
		return answer, err
	}
	for _, site := range sites {
		for !site.keys.done {
			next, err := result(ctx, s.update, "URLAge", func(t *tx) (keyPages, error) {
				next := site.keys
				err := t.ageURLs(site, &next)
				return next, err
			})
			if err != nil {
				return answer, err
			}
			site.keys = next
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

func (a *aging) collect(object string, r wire.URLAgeRequest) error {
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
	where, _, err := a.property(site, agingProperty)
	if err != nil {
		return err
	}
	hasProperty := strings.TrimSpace(where) != ""
	if hasProperty {
		c.Where = where
	}
	if c.Limit == "" {
		c.Limit = fmt.Sprint(left)
	}
	p := keyPages{database: sqldb.URLs, site: site, object: object + ".urlsCriterions", criterion: c}
	keys, err := a.nextKeys(&p, pageRows)
	if err != nil {
		if hasProperty && refused(err) {
			a.s.o.Log.Warn("invalid "+agingProperty+"; skipping the site", "site", site, "error", message(err))
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
	stats, err := t.statistics(site)
	if err != nil {
		return err
	}
	md5s, err := t.nextKeys(p, pageRows)
	if err != nil {
		return err
	}
	if p.done {
		if err := stats.events(a.overLimit, nil, logAging, a.r); err != nil {
			return err
		}
	}
	if err := stats.events(md5s, []string{"FAged"}, logAging, a.r); err != nil {
		return err
	}
	return t.deleteURLs(site, md5s, wire.URLDeleteRequest{SiteID: site, Criterion: p.criterion, DelayedType: a.r.DelayedType, Reason: wire.ReasonAging})
}
