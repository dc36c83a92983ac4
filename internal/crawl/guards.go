package crawl

import (
	"context"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire/errormask"
)

// passGuards hands back the items that have a guard that cannot be read, and returns the others. If the
// site itself has one, or a filter that cannot be read, the site is suspended: it gets no request
// until the setting is changed and the site is active again.
func (r *planner) passGuards(ctx context.Context, site *item.SiteView, items []*item.Item) ([]*item.Item, error) {
	if broken := r.faultOf(site); broken != nil {
		r.Log.Error("suspended site: a setting that limits its requests cannot be read; set it right, then make the site active", "site", site.ID, "error", broken)
		if r.MayWrite() {
			if err := r.data.Suspend(ctx, site.ID, errormask.Initialization, len(items)); err != nil && !item.IsSiteGone(err) {
				return nil, err
			}
		}
		return nil, r.refuseItems(ctx, site, items, errormask.Initialization)
	}
	var pass, stopped []*item.Item
	for _, it := range items {
		if err := it.Settings.Broken; err != nil {
			r.Log.Error("left out an item: a property that limits its requests cannot be read", "site", site.ID, "url", it.Row.URL, "error", err)
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
func (r *planner) faultOf(site *item.SiteView) error {
	if site.BadFilter != nil {
		return site.BadFilter
	}
	return r.settingsOf(site, &item.Item{}).Broken
}
