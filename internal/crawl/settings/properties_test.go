package settings_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/canonical"
	"hce/dc/docs"
	"hce/dc/hostgate"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/property"
)

// propertiesPage is the table for users.
const propertiesPage = "../../../docs/properties.md"

// documented is a property as the page describes it.
type documented struct{ form, def, example string }

// readPage returns the properties of the page that the crawler reads, by name; a property with a prefix has
// the name of the prefix. Properties of items are absent.
func readPage(t *testing.T) map[string]documented {
	t.Helper()
	all := map[string]documented{}
	for _, p := range docs.ListProperties() {
		if !p.IsReadBy("crawl") || p.Section == docs.ItemSection {
			continue
		}
		for _, name := range p.Names {
			all[name] = documented{p.Form, p.Defaults()[name], p.Examples()[name]}
		}
	}
	return all
}

// asked returns the properties that settings.Read reads.
func asked() []string {
	p := property.Of(&wire.Site{ID: "s"}, nil)
	settings.ReadValues(p, "s", settings.Config{})
	slices.Sort(p.Names)
	return slices.Compact(p.Names)
}

func siteOfProperties(values map[string]string) *wire.Site {
	s := &wire.Site{ID: "s"}
	for name, value := range values {
		if strings.HasSuffix(name, "_") { // a prefix
			name += "q"
		}
		s.Properties = append(s.Properties, wire.SiteProperty{SiteID: "s", Name: name, Value: value})
	}
	return s
}

func TestPageNamesEveryProperty(t *testing.T) {
	page := readPage(t)
	names := asked()
	for _, name := range names {
		if _, ok := page[name]; !ok {
			t.Errorf("%s is read, but not in %s", name, propertiesPage)
		}
	}
	for name := range page {
		if !slices.Contains(names, name) {
			t.Errorf("%s is in %s, but nothing reads it", name, propertiesPage)
		}
	}
	if len(names) < 70 {
		t.Errorf("only %d properties are read", len(names))
	}
}

func TestPageExamplesAreGood(t *testing.T) {
	examples := map[string]string{}
	for name, d := range readPage(t) {
		examples[name] = d.example
		if _, errs := settings.Read(siteOfProperties(map[string]string{name: d.example}), nil, settings.Config{FreqDir: t.TempDir()}); len(errs) > 0 {
			t.Errorf("%s = %s: %v", name, d.example, errs)
		}
	}
	if _, errs := settings.Read(siteOfProperties(examples), nil, settings.Config{FreqDir: t.TempDir()}); len(errs) > 0 {
		t.Errorf("all together: %v", errs)
	}
}

// TestPageDefaults: a site without a property has the default that the page states.
func TestPageDefaults(t *testing.T) {
	s, _ := settings.Read(&wire.Site{ID: "s"}, nil, settings.Config{})
	values := map[string]any{
		"REFERER_SELF_URL": s.Referer, "CONNECTION_TIMEOUT": s.ConnectTimeout.Seconds(), "HTTP_REDIRECTS_MAX": s.Redirects,
		"HTML_REDIRECTS_MAX": s.HTMLRedirects, "URL_TEMPLATE_REGULAR_URLENCODE": s.Templates[false].Encode,
		"URL_TEMPLATE_REALTIME_URLENCODE": s.Templates[true].Encode, "TLSVerify": !s.InsecureTLS, "TLSLegacy": s.LegacyTLS, "HostConcurrency": s.Concurrency, "RETRY": s.Retries["503"].Attempts > s.RetriesOnce["503"].Attempts,
		"ROBOTS_MODE": s.Robots, "ROBOTS_COLLECT": s.RobotsLinks, "ROBOTS_CACHE": s.RobotsCache, "ROBOTS_META": s.RobotsMeta,
		"ROBOTS_HEADER": s.RobotsHeader, "TRAPS": s.Traps, "CANONICAL_ONLY": s.CanonicalOnly, "DYNAMIC_FETCH_ONLY_FOR_ROOT_URL": s.DynamicRoots, "HTML_RECOVER": s.Recover,
		"PDATE_SOURCES_MASK": s.Dates.Sources, "PDATE_SOURCES_MASK_OVERWRITE": s.Dates.Overwrite, "STORE_HTTP_HEADERS": s.StoreHeaders,
		"STORE_HTTP_REQUEST": s.StoreRequest, "STORE_COOKIES": s.StoreCookies, "STORE_AS_RECEIVED": s.StoreReceived, "URL_NORMALIZE_MASK": int(s.Mask),
		"RECRAWL_NO_ROOT_URLS": !s.Rules.KeepKnown, "RECRAWL_URL_UPDATE_STATUS": s.Rules.Status, "RSS_FEEDPARSER_MODE": s.StandardFeeds,
		"RSS_FEED_ZERO_ITEM": s.FeedAsEntry, "SITEMAPS": s.RobotsSitemaps, "SITEMAP_DEFAULT": s.DefaultSitemap,
	}
	number := regexp.MustCompile(`^[0-9.]+$`)
	for name, d := range readPage(t) {
		value, known := values[name]
		if !number.MatchString(d.def) {
			if known {
				t.Errorf("%s: the page has %q, want the number %v", name, d.def, value)
			}
			continue
		}
		want := fmt.Sprint(value)
		switch value {
		case true:
			want = "1"
		case false:
			want = "0"
		}
		if d.def != want {
			t.Errorf("%s: the page has %s, a site %s", name, d.def, want)
		}
	}
	if s.Mask != canonical.Main || !slices.Equal(s.Schemes, canonical.Web) || !slices.Equal(s.RefusedRel, []string{"nofollow", "ugc", "sponsored"}) {
		t.Errorf("mask %v, schemes %v, rel %v", s.Mask, s.Schemes, s.RefusedRel)
	}
}

// anyText lists properties that accept every text. SQL is parsed by the repository, which reports what
// it refuses.
var anyText = []string{
	"HTTP_AUTH_NAME", "HTTP_AUTH_PWD", settings.FormPrefix, "PROCESSOR_NAME", "RECRAWL_URL_AGE_EXPRESSION", "RECRAWL_URL_UPDATE_TCDATE",
	"RECRAWL_URL_UPDATE_UDATE", "RECRAWL_URL_UPDATE_CDATE", "AUTO_REMOVE_WHERE", "AUTO_REMOVE_ORDER", "AUTO_REMOVE_WHERE_ACTIVE",
}

// malformed has invalid values; "x y" is invalid for all other properties.
var malformed = map[string][]string{
	"HTTP_HEADERS":                         {"no header", `{"A": {}}`, "{", "file://../x"},
	"HTTP_COOKIE":                          {"{", `{".*": {"stage": "two"}}`, "a\x01b"},
	"REFERER_SELF_URL":                     {"4", "-1", "self"},
	"CONNECTION_TIMEOUT":                   {"soon", "0", "-1", "NaN", "3601"},
	"PROTOCOLS":                            {"http", `["ftp"]`, `{"a":1}`},
	"URL_TEMPLATE_REGULAR":                 {"https://cache.example/", "ftp://x/%URL%"},
	"EXTERNAL_URL":                         {"https://render.example/", "/%URL%"},
	"HOST_ALIVE_CHECK":                     {"1", `{"method": 3}`, `{"connection_timeout": -1}`},
	"HTTP_FREQ_LIMITS":                     {"2", `{"(": {}}`, `{"a": {"max_freq": -1}}`, `{"PATH_CONFIG": "../.."}`},
	"HTTP_PROXY_PORT":                      {"70000", "-1", "x"},
	"HTTP_PROXY_HOST":                      {"ftp://a:1", "a b"},
	"USER_PROXY":                           {"proxy", `{"proxies": {"p": {"host": "no port"}}}`, `{"raw_content_check": {"patterns": ["("]}}`},
	"FETCHER_TYPE":                         {"2", `{"(": 2}`, `{"a": "b"}`},
	"FETCHER_MACRO":                        {"{", `{"sets": []}`},
	"ALLOWED_CTYPES":                       {"html", `["text/html"`},
	"CONTENT_TYPE_MAP":                     {"text/html", `{"a/b": "c"}`},
	"MIME_TYPE_AUTO_DETECT":                {"3", `[{"mode": 4}]`, `[{"url_expression": "("}]`},
	"REPLACE":                              {"a", `[{"WHAT": "("}]`, `[{"WHERE": "TIDY", "WHAT": "a"}]`, `[{"WITH": "a"}]`},
	"HTML_RECOVER":                         {"3", "-1", "yes"},
	"PDATE_SOURCES_MASK":                   {"-1", "all"},
	"DETECT_MODIFIED":                      {"1", `{"mode": 3}`},
	"HTTP_CODE_STATUS_UPDATE":              {"1", `{"code": 1}`, `{"200": 99}`},
	"COLLECT_URLS_XPATH_LIST":              {"//a", `{"mode": 2}`, `{"sets": {"(": []}}`},
	"COLLECT_URLS_LIMITS":                  {"5", `{"a": [["MaxURLSFromPage"]]}`, `{"(": [["x", 1]]}`},
	"URL_LIMITS":                           {"5", `{"root_url_mask": ["("]}`},
	"URL_NORMALIZE":                        {"x", `{"mask": "x"}`, `{"replace": [{"(": ""}]}`},
	"URL_NORMALIZE_MASK":                   {"8", "-1", "main"},
	"URLS_FIELDS_INIT":                     {"5", `{"color": {"value": 1}}`, `{"priority": {"value": 1, "conditions": ["it rains"]}}`},
	"URL_CHAIN":                            {"next", `{"url_pattern": "("}`},
	"URLS_SCHEMA":                          {"5", `{"type": 9}`, `{"type": 2, "parameters": {"a": {"min": 2, "max": 1}}}`},
	"HTTP_REDIRECT_RESOLVER":               {"HEAD", `{"METHOD": "POST"}`, `{"URL": ["a", "("]}`, `{"TYPES": [200]}`},
	"RECRAWL_URL_UPDATE":                   {"5", `{"(": {}}`, `{"a": {"fields": {"color": 1}}}`},
	"RECRAWL_URL_UPDATE_STATUS":            {"3", "new"},
	"AUTO_REMOVE_RESOURCES":                {"-1", "some"},
	"SITEMAPS":                             {"ftp://a/", `["a"`, "[5"},
	"ROBOTS_REL":                           {`["nofollow"]`},
	"LOGGER":                               {"own", `{"suffix": 5}`},
	"HostConcurrency":                      {"many", "1.5"},
	"SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER": {"5", `[{"URL": {"Color": {"1": 0}}}]`, `[{"URL": {"Depth": {"1": 9}}}]`},
}

// TestMalformedStopsOnlyItself: an invalid value gives one error with the property's name. All other
// properties are read as if it were absent.
func TestMalformedStopsOnlyItself(t *testing.T) {
	page := readPage(t)
	def := settings.Config{FreqDir: t.TempDir()}
	for _, name := range asked() {
		if slices.Contains(anyText, name) {
			continue
		}
		values := malformed[name]
		if values == nil {
			values = []string{"x y"}
		}
		rest := map[string]string{}
		for other, d := range page {
			if other != name {
				rest[other] = d.example
			}
		}
		want, errs := settings.Read(siteOfProperties(rest), nil, def)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for other, value := range rest {
			if problems := strict.PropertyValue("p", other, value); len(problems) > 0 {
				t.Fatalf("hce refuses the example of the page: %v", problems)
			}
		}
		for _, value := range values {
			rest[name] = value
			got, errs := settings.Read(siteOfProperties(rest), nil, def)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "property "+name+" ") {
				t.Errorf("%s = %s: errors %v", name, value, errs)
				continue
			}
			if got.Bits&^errormask.MacroDeserialization != 0 {
				t.Errorf("%s = %s: bits %v", name, value, got.Bits.Names())
			}
			if (got.Broken != nil) != slices.Contains(settings.Guards, name) {
				t.Errorf("%s = %s: broken %v", name, value, got.Broken)
			}
			if got.Broken != nil && name != "HTTP_HEADERS" && name != "HTTP_FREQ_LIMITS" && len(strict.PropertyValue("p", name, value)) == 0 {
				t.Errorf("%s = %s stops a site, and hce would set it", name, value)
			}
			for i, field := range reflect.VisibleFields(reflect.TypeFor[settings.Settings]()) {
				if field.Name == "Freq" || field.Name == "Bits" || field.Name == "BadMacro" || field.Name == "Broken" || field.Name == "Sum" { // contains a clock; name the difference
					continue
				}
				a, b := reflect.ValueOf(got).Elem().Field(i), reflect.ValueOf(want).Elem().Field(i)
				if x, y := plain(a), plain(b); x != y {
					t.Errorf("%s = %s changes %s\nto   %s\nfrom %s", name, value, field.Name, x, y)
				}
			}
		}
	}
}

// plain returns a value as text, with pointers followed; functions and running parts are left out.
func plain(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		if v.Type().String() == "*regexp2.Regexp" || v.Type().String() == "*regexp.Regexp" {
			return "regexp"
		}
		return plain(v.Elem())
	case reflect.Struct:
		var b strings.Builder
		for i := range v.NumField() {
			fmt.Fprintf(&b, "%s:%s ", v.Type().Field(i).Name, plain(v.Field(i)))
		}
		return "{" + b.String() + "}"
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Sprintf("%q", v.Bytes())
		}
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(plain(v.Index(i)) + " ")
		}
		return "[" + b.String() + "]"
	case reflect.Map:
		var lines []string
		for _, key := range v.MapKeys() {
			lines = append(lines, plain(key)+":"+plain(v.MapIndex(key)))
		}
		slices.Sort(lines)
		return "map" + strings.Join(lines, " ")
	case reflect.Func, reflect.Chan:
		return v.Kind().String()
	}
	return fmt.Sprint(v)
}

// TestNumbersKeepTheirBounds: numbers that are too large become the maximum.
func TestNumbersKeepTheirBounds(t *testing.T) {
	s, errs := settings.Read(siteOfProperties(map[string]string{
		"HTTP_REDIRECTS_MAX": "1000", "HTML_REDIRECTS_MAX": "1000", "HostConcurrency": "0",
	}), nil, settings.Config{})
	page := readPage(t)
	for name, bound := range map[string]int{"HTTP_REDIRECTS_MAX": settings.MaxRedirects, "HTML_REDIRECTS_MAX": settings.MaxRedirects, "HostConcurrency": hostgate.MaxConcurrency, "URL_NORMALIZE_MASK": int(canonical.SkipWWW | canonical.Validate | canonical.Main)} {
		if !strings.Contains(page[name].form, fmt.Sprint(bound)) {
			t.Errorf("%s: the page has %q, without the bound %d", name, page[name].form, bound)
		}
	}
	if len(errs) > 0 || s.Redirects != 50 || s.HTMLRedirects != 50 || s.Concurrency != 1 {
		t.Errorf("%v; %d, %d, %d", errs, s.Redirects, s.HTMLRedirects, s.Concurrency)
	}
}

// The page for users lists the guards.
func TestGuardsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile(propertiesPage)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "\nThese stop the site:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var named []string
	for _, name := range regexp.MustCompile("`([A-Za-z_]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, name[1])
	}
	if want := slices.Sorted(slices.Values(settings.Guards)); !slices.Equal(named, want) {
		t.Errorf("the page lists %q, want %q", named, want)
	}
}
