package visit

import (
	"context"
	"errors"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/wire"
	"hce/dc/sitemap"
)

// defaultSitemap is the place of a sitemap that robots.txt and the site do not name.
const defaultSitemap = "/sitemap.xml"

// sitemapTries is how often a root page is asked for before its default sitemap is done without.
const sitemapTries = 3

// findSitemap requests the default sitemap of a root page's origin, once in a batch, if its
// robots.txt names none. Only a sitemap that exists becomes a row. A client that waits for the
// batch did not ask for it. An error means that the item is put off, because the sitemap may come later.
func (v *Visit) findSitemap(ctx context.Context, target string) error {
	set := v.Settings
	origin, _ := SplitOrigin(target)
	if !v.Item.Row.Root() || v.Item.Single || v.Item.IsSitemap() || !v.Env.MayWrite() || !set.DefaultSitemap || !set.RobotsSitemaps || !set.Robots {
		return nil
	}
	rules := v.Env.KnownRules(origin)
	if kept := v.Env.KeptRobots(v.Item, origin); kept != nil {
		rules = kept
	}
	if rules == nil || len(rules.Sitemaps()) > 0 {
		return nil
	}
	if ok, _ := rules.Allowed(v.Settings.Agent, defaultSitemap); !ok {
		return nil
	}
	if _, asked := v.Env.mapsAsked.LoadOrStore(item.Key{Site: v.Item.SiteID, URL: origin}, true); asked {
		return nil
	}
	if err := v.enterGates(ctx, target); err != nil {
		return nil
	}
	defer v.LeaveAll()
	r := v.NewRequest(origin+defaultSitemap, v.cookieStage())
	r.MaxBytes = robotscache.MaxBytes
	r.Allow = v.checkRedirect
	response, err := v.SendRequest(v.Env.Running, r)
	if v.mayReturn(min(sitemapTries, v.retryTable()[v.trouble.cause].Attempts)) {
		v.Env.mapsAsked.Delete(item.Key{Site: v.Item.SiteID, URL: origin})
		return Refusal{Back: true, reason: "the default sitemap of " + origin + " is not available yet"}
	}
	if err != nil {
		fault, ok := errors.AsType[*fetch.Fault](err)
		if !ok || fault.Kind != fetch.TooLarge || fault.Partial == nil {
			return nil
		}
		response = fault.Partial // its beginning is enough
		response.Code = fault.Code
	}
	if !wire.IsPageCode(int64(response.Code)) {
		return nil
	}
	_, err = sitemap.Parse(response.Body, sitemap.Options{MaxEntries: 1, MaxBytes: robotscache.MaxBytes, ContentType: DeclaredType(response.Header)})
	found, bad := set.Schemes.Canonical(response.FinalURL)
	if (err == nil || errors.Is(err, sitemap.ErrFeed)) && bad == nil && SiteOf(found) == SiteOf(target) {
		v.Item.FoundSitemap = found
	}
	return nil
}
