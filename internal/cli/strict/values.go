package strict

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/crawl/quota"
	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/secret"
)

// valueChecks check the values of properties as the crawler reads them: those of settings.Guards, which stop
// a site if they cannot be read, and others that it would ignore with a warning.
var valueChecks = map[string]func(text string) error{
	"HTTP_HEADERS":         checkParse(headerrotation.Parse),
	"HTTP_COOKIE":          checkParse(cookies.ParseProperty),
	"REFERER_SELF_URL":     checkRange(0, 3),
	"HTTP_REDIRECTS_MAX":   checkRange(math.MinInt64, math.MaxInt64),
	"HTML_REDIRECTS_MAX":   checkRange(math.MinInt64, math.MaxInt64),
	"PROTOCOLS":            checkParse(linkrules.ParseSchemes),
	"URL_TEMPLATE_REGULAR": checkParse(linkrules.ParseTemplate), "URL_TEMPLATE_REALTIME": checkParse(linkrules.ParseTemplate), "EXTERNAL_URL": checkParse(linkrules.ParseTemplate),
	"HTTP_FREQ_LIMITS": checkParse(quota.Parse),
	"RETRY":            checkParse(retry.Default(time.Second).Parse),
	"USER_PROXY":       checkParse(proxypool.Parse),
	"HTTP_PROXY_HOST":  checkParse(func(text string) (proxypool.Spec, error) { return proxypool.Fixed(text, "1") }),
	"HTTP_PROXY_PORT":  checkRange(0, math.MaxUint16),
	"HOST_ALIVE_CHECK": checkParse(proxypool.ParseAliveCheck), "HOST_ALIVE_CHECK_PROXY": checkParse(proxypool.ParseAliveCheck),
	"ROBOTS_REL":     checkParse(linkrules.ParseRel),
	"ALLOWED_CTYPES": checkParse(content.ParseTypes), "MIME_TYPE_STORE_ON_DISK": checkParse(content.ParseTypes),
	"CONTENT_TYPE_MAP":        checkParse(content.ParseTypeMap),
	"MIME_TYPE_AUTO_DETECT":   checkParse(content.ParseAutoDetect),
	"REPLACE":                 checkParse(content.ParseReplace),
	"HTTP_CODE_STATUS_UPDATE": checkParse(content.ParseStatuses),
	"DETECT_MODIFIED":         checkParse(revalidate.Parse),
	"SITEMAPS": func(text string) error {
		if text == "0" || text == "1" {
			return nil
		}
		return checkParse(linkrules.ParseSitemaps)(text)
	},
	"COLLECT_URLS_XPATH_LIST":   checkParse(linkrules.ParseXPaths),
	"COLLECT_URLS_LIMITS":       checkParse(linkrules.ParseCollectLimits),
	"URL_LIMITS":                checkParse(linkrules.ParseURLLimits),
	"URL_NORMALIZE":             checkParse(linkrules.ParseNormalize),
	"URLS_FIELDS_INIT":          checkParse(linkrules.ParseFieldsInit),
	"URLS_SCHEMA":               checkParse(urlschema.Parse),
	"HTTP_REDIRECT_RESOLVER":    checkParse(linkrules.ParseResolver),
	"FETCHER_TYPE":              checkParse(linkrules.ParseFetcherTypes),
	"AUTO_REMOVE_RESOURCES":     checkRange(0, math.MaxInt64),
	"RECRAWL_URL_UPDATE":        checkParse(linkrules.ParseRecrawlUpdates),
	"RECRAWL_URL_UPDATE_STATUS": linkRule("RECRAWL_URL_UPDATE_STATUS"), "RECRAWL_NO_ROOT_URLS": linkRule("RECRAWL_NO_ROOT_URLS"),

	"STORE_HTTP_HEADERS": aSwitch, "STORE_HTTP_REQUEST": aSwitch, "STORE_COOKIES": aSwitch, "SITEMAP_DEFAULT": aSwitch, "CANONICAL_ONLY": aSwitch,
	"DYNAMIC_FETCH_ONLY_FOR_ROOT_URL": aSwitch, "ROBOTS_MODE": aSwitch, "ROBOTS_META": aSwitch, "ROBOTS_HEADER": aSwitch, "ROBOTS_COLLECT": checkRange(0, 2),
	"ROBOTS_CACHE": aSwitch, "COLLECT_POST_DATA": aSwitch, "TLSVerify": aSwitch, "TLSLegacy": aSwitch, "HostConcurrency": aSwitch,
}

// aSwitch is what a property that is on or off accepts; the crawler takes any number.
var aSwitch = checkRange(math.MinInt64, math.MaxInt64)

func checkParse[T any](parse func(text string) (T, error)) func(text string) error {
	return func(text string) error { _, err := parse(text); return err }
}

// linkRule checks a property that wire.ReadLinkRules reads.
func linkRule(name string) func(text string) error {
	return func(text string) error {
		_, errs := wire.ReadLinkRules(func(other string) (string, bool) { return text, other == name })
		var p *lenient.PropertyError
		if len(errs) > 0 && errors.As(errs[0], &p) {
			return errors.New(p.Reason)
		}
		return errors.Join(errs...)
	}
}

func checkRange(low, high int64) func(text string) error {
	return func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return fmt.Errorf("is %q, not a whole number", prop.Clip(text))
		case n < low || n > high:
			return fmt.Errorf("is %d, not a number from %d to %d", n, low, high)
		}
		return nil
	}
}

// PropertyValue checks the value of a property. An empty value, or null, removes the property.
func PropertyValue(field, name, value string) []Problem {
	check, text := valueChecks[name], strings.TrimSpace(value)
	if check == nil || text == "" || text == "null" {
		return nil
	}
	if err := check(text); err != nil {
		return []Problem{{Field: field + "." + name, Reason: secret.ShowReason(name, text, err.Error())}}
	}
	return nil
}
