package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// agingProperty is the property of a site that takes the place of the WHERE of
// URL_AGE.
const agingProperty = "AGING_URL_CRITERION"

// URLAge deletes old URLs, now or with delay (docs/spec/storage.md 4.15). The elements select
// URLs first, site by site, until they have MaxURLs of all together; the rows that
// a site's selection has beyond that are noted as seen, too. Then all are deleted,
// but for those that the condition selects no longer. Statuses is empty. A
// condition of the request that is refused is an error that names its clause and
// nothing is done; one that a site's property has is logged, and the site left
// out. For requests of many rows see step.
func (s *Store) URLAge(ctx context.Context, list []wire.URLAgeRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	var aged []*agedSite
	err := s.view(ctx, "URLAge", func(t *tx) (err error) {
		a := aging{tx: t, taken: map[Key]bool{}}
		for i, r := range list {
			if err := a.collect(fmt.Sprintf("URLAgeObj[%d]", i), r); err != nil {
				return err
			}
		}
		aged = a.sites
		return nil
	})
	if err != nil {
		return answer, err
	}
	for _, site := range aged {
		for !site.rows.done {
			var after pick
			err := s.update(ctx, "URLAge", func(t *tx) error {
				after = site.rows
				return t.ageURLs(site, &after)
			})
			if err != nil {
				return answer, err
			}
			site.rows = after
		}
	}
	return answer, nil
}

// agedSite is what one element chose of one site.
type agedSite struct {
	r    wire.URLAgeRequest
	rows pick
	seen []string // chosen beyond the limit
}

// aging collects what URL_AGE will delete.
type aging struct {
	*tx
	taken map[Key]bool
	sites []*agedSite
}

func (a *aging) collect(object string, r wire.URLAgeRequest) error {
	// What is asked wrongly is refused, be there a site or not.
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
	own, _, err := a.property(site, agingProperty)
	if err != nil {
		return err
	}
	found := strings.TrimSpace(own) != ""
	if found {
		c.Where = own
	}
	if c.Limit == "" {
		c.Limit = fmt.Sprint(left)
	}
	rows := pick{database: sqldb.URLs, site: site, object: object + ".urlsCriterions", criterion: c}
	keys, err := a.next(&rows, step)
	if err != nil {
		if found && refused(err) {
			a.s.o.Log.Warn("a site's own criterion of aging is refused", "site", site, "error", message(err))
			return nil
		}
		return err
	}
	all := append(keys[:len(keys):len(keys)], rows.left...)
	chosen := &agedSite{r: r, rows: rows}
	chosen.rows.left, chosen.rows.done = nil, false
	for _, md5 := range all {
		key := Key{SiteID: site, URLMd5: md5}
		switch {
		case a.taken[key]:
		case int64(len(chosen.rows.left)) < left:
			a.taken[key] = true
			chosen.rows.left = append(chosen.rows.left, md5)
		default:
			chosen.seen = append(chosen.seen, md5)
		}
	}
	a.sites = append(a.sites, chosen)
	return nil
}

// ageURLs deletes the next rows of a site.
func (t *tx) ageURLs(a *agedSite, p *pick) error {
	site, err := t.known(p.site)
	if err != nil {
		return err
	}
	if site == "" { // deleted meanwhile
		p.done = true
		return nil
	}
	stats, err := t.statistics(site)
	if err != nil {
		return err
	}
	md5s, err := t.next(p, step)
	if err != nil {
		return err
	}
	if p.done {
		if err := stats.events(a.seen, nil, logAging, a.r); err != nil {
			return err
		}
	}
	if err := stats.events(md5s, []string{"FAged"}, logAging, a.r); err != nil {
		return err
	}
	return t.deleteURLs(site, md5s, wire.URLDeleteRequest{SiteID: site, Criterion: p.criterion, DelayedType: a.r.DelayedType, Reason: wire.ReasonAging})
}
