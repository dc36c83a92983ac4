package crawl

import (
	"context"
	"errors"
	"slices"

	"hce/dc/internal/wire"
)

// Guards are the properties without which more would be fetched, sent or kept than the site allows. If
// one of them cannot be read, nothing of the site is fetched. docs/properties.md lists them.
var Guards = []string{
	"HTTP_HEADERS", "HTTP_COOKIE", "REFERER_SELF_URL", "HTTP_REDIRECTS_MAX", "HTML_REDIRECTS_MAX", "PROTOCOLS", "URL_TEMPLATE_REGULAR",
	"URL_TEMPLATE_REALTIME", "EXTERNAL_URL", "HTTP_FREQ_LIMITS", "RETRY", "USER_PROXY", "HTTP_PROXY_HOST", "HTTP_PROXY_PORT", "ROBOTS_REL",
	"ALLOWED_CTYPES", "MIME_TYPE_STORE_ON_DISK", "REPLACE", "STORE_HTTP_HEADERS", "STORE_HTTP_REQUEST", "STORE_COOKIES", "SITEMAPS",
	"SITEMAP_DEFAULT", "COLLECT_URLS_XPATH_LIST", "COLLECT_URLS_LIMITS", "URL_LIMITS", "CANONICAL_ONLY", "URLS_SCHEMA", "FETCHER_TYPE",
	"DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", "AUTO_REMOVE_RESOURCES", "URL_NORMALIZE", "URLS_FIELDS_INIT", "CONTENT_TYPE_MAP", "MIME_TYPE_AUTO_DETECT",
	"RECRAWL_NO_ROOT_URLS", "RECRAWL_URL_UPDATE", "RECRAWL_URL_UPDATE_STATUS",
}

// brokenGuard returns the first error about one of the Guards.
func brokenGuard(errs []error) error {
	for _, err := range errs {
		var p *wire.PropertyError
		if errors.As(err, &p) && slices.Contains(Guards, p.Name) {
			return err
		}
	}
	return nil
}

// passGuards hands back the items that have a guard that cannot be read, and returns the others. If the
// site itself has one, or a filter that cannot be read, the site is suspended: it gets no request
// until the setting is changed and the site is active again.
func (r *batchRun) passGuards(ctx context.Context, site *siteWork, items []*item) ([]*item, error) {
	if broken := site.faultOf(r); broken != nil {
		r.log.Error("suspended site: a setting that limits its requests cannot be read; set it right, then make the site active", "site", site.ID, "error", broken)
		if r.mayWrite() {
			if err := r.Data.Suspend(ctx, site.ID, wire.ErrInitialization, len(items)); err != nil && !isSiteGone(err) {
				return nil, err
			}
		}
		return nil, r.refuseItems(ctx, site, items, wire.ErrInitialization)
	}
	var pass, stopped []*item
	for _, it := range items {
		if err := it.settings.broken; err != nil {
			r.log.Error("left out an item: a property that limits its requests cannot be read", "site", site.ID, "url", it.url.URL, "error", err)
			stopped = append(stopped, it)
		} else {
			pass = append(pass, it)
		}
	}
	if len(stopped) > 0 {
		return pass, r.refuseItems(ctx, site, stopped, wire.ErrInitialization)
	}
	return pass, nil
}

// faultOf returns why nothing of the site may be fetched.
func (s *siteWork) faultOf(r *batchRun) error {
	if s.badFilter != nil {
		return s.badFilter
	}
	return r.settingsOf(s, &item{}).broken
}
