package crawl

import (
	"context"

	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/wire/errormask"
)

// Guards is Guards of package settings.
var Guards = settings.Guards

// passGuards hands back the items that have a guard that cannot be read, and returns the others. If the
// site itself has one, or a filter that cannot be read, the site is suspended: it gets no request
// until the setting is changed and the site is active again.
func (r *planner) passGuards(ctx context.Context, site *siteWork, items []*item) ([]*item, error) {
	if broken := site.faultOf(r); broken != nil {
		r.log.Error("suspended site: a setting that limits its requests cannot be read; set it right, then make the site active", "site", site.ID, "error", broken)
		if r.mayWrite() {
			if err := r.Data.Suspend(ctx, site.ID, errormask.Initialization, len(items)); err != nil && !isSiteGone(err) {
				return nil, err
			}
		}
		return nil, r.refuseItems(ctx, site, items, errormask.Initialization)
	}
	var pass, stopped []*item
	for _, it := range items {
		if err := it.settings.Broken; err != nil {
			r.log.Error("left out an item: a property that limits its requests cannot be read", "site", site.ID, "url", it.url.URL, "error", err)
			stopped = append(stopped, it)
		} else {
			pass = append(pass, it)
		}
	}
	if len(stopped) > 0 {
		return pass, r.refuseItems(ctx, site, stopped, errormask.Initialization)
	}
	return pass, nil
}

// faultOf returns why nothing of the site may be fetched.
func (s *siteWork) faultOf(r *planner) error {
	if s.badFilter != nil {
		return s.badFilter
	}
	return r.settingsOf(s, &item{}).Broken
}
