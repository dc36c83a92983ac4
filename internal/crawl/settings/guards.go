package settings

import (
	"errors"
	"slices"

	"hce/dc/internal/wire/lenient"
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
		var p *lenient.PropertyError
		if errors.As(err, &p) && slices.Contains(Guards, p.Name) {
			return err
		}
	}
	return nil
}
