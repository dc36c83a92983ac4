package crawl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/crawl/quota"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// settings are the site properties that the crawler uses for one item. docs/properties.md
// describes them; a test compares page and code (docs/spec/crawling.md 3).
type settings struct {
	// Requests.
	headers        headerrotation.Rule
	cookie         cookies.Property
	referer        int64
	user, password string
	form           map[string]string
	collectForms   bool
	connectTimeout time.Duration
	redirects      int
	htmlRedirects  int // maximum number of meta refreshes; below 1: none is followed
	schemes        canonical.Schemes
	templates      map[bool]template // by: the batch is a real-time batch
	external       string
	alive          proxypool.AliveCheck
	freq           *quota.Limiter
	insecureTLS    bool
	concurrency    int

	proxy      proxypool.Spec
	proxyAlive proxypool.AliveCheck

	// robots.txt, meta robots and rel.
	robots       bool
	robotsLinks  bool
	robotsCache  bool
	robotsMeta   bool
	robotsHeader bool
	refusedRel   []string // links with one of these words are left out

	// Dynamic pages.
	fetchers     linkrules.ByURL[int]
	dynamicRoots bool // only root URLs use the browser
	macro        *browser.Macro
	badMacro     bool // FETCHER_MACRO cannot be read

	processor string // PROCESSOR_NAME

	// Content.
	contentTypes   content.Types
	storedTypes    content.Types
	typeMap        content.TypeMap
	autoDetect     content.AutoDetect
	replace        content.Replace
	recover        int64
	dateSources    int64
	dateKept       int64
	modified       revalidate.Rule
	statuses       content.Statuses
	storeHeaders   bool
	storeRequest   bool
	storeCookies   bool
	expressions    []wire.FieldExpression
	standardFeeds  bool
	feedAsEntry    bool
	sitemaps       []string // named by the site
	robotsSitemaps bool     // use those that robots.txt names
	defaultSitemap bool     // else try /sitemap.xml

	// Links.
	xpaths        *linkrules.XPaths
	collectLimits linkrules.ByURL[int64] // links from a page
	urlLimits     linkrules.URLLimits
	normalize     *linkrules.Normalize
	mask          canonical.Mask
	fieldsInit    linkrules.FieldsInit
	chain         *pyregexp.Regexp // links that continue a page
	resolver      linkrules.ByURL[linkrules.Resolution]
	recrawl       linkrules.ByURL[wire.Patch]
	rules         *wire.LinkRules

	schema *urlschema.Schema

	suffix string         // of the log file of the site's project
	bits   wire.ErrorMask // of properties that cannot be read, for the site

	openPool sync.Once
	pool     *proxypool.Pool
}

// feeds reports whether the site's pages are feeds.
func (s *settings) feeds() bool { return s.processor == feedParser || s.processor == rss }

// Values of PROCESSOR_NAME that the crawler uses (docs/spec/crawling.md 5.10).
const (
	feedParser = "FEED_PARSER" // entries are stored as crawled pages
	rss        = "RSS"         // entries are crawled in the next pass
)

// template is the pattern of the URL that is requested.
type template struct {
	text   string
	encode bool
}

// Limits of numbers in properties.
const maxRedirects = 50

// readSettings reads the properties of a site, overridden by the item's. Each error names a
// property that is left out.
func readSettings(site *wire.Site, over map[string]string, def Config) (*settings, []error) {
	p := propertiesOf(site, over)
	return p.settings(site.ID, def), p.errs
}

// settings reads the properties of a site.
func (p *properties) settings(site string, def Config) *settings {
	s := &settings{}
	s.readRequests(p, def)
	s.readRobots(p)
	s.readContent(p)
	s.readLinks(p)
	s.fetchers = parsed(p, "FETCHER_TYPE", linkrules.ParseFetcherTypes)
	s.dynamicRoots = p.on("DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", false)
	s.macro = parsed(p, "FETCHER_MACRO", browser.ParseMacro)
	s.processor = p.text("PROCESSOR_NAME")
	s.suffix = strings.ReplaceAll(parsed(p, "LOGGER", parseLogger), "%PROJECT_ID%", site)
	if p.failed("FETCHER_MACRO") {
		s.bits, s.badMacro = s.bits|wire.ErrMacroDeserialization, true
	}
	return s
}

func (s *settings) readRequests(p *properties, def Config) {
	s.headers = parsedInPart(p, "HTTP_HEADERS", headerrotation.Parse)
	rule, err := s.headers.Resolve(def.HeaderSourceDir)
	if err != nil {
		p.fail("HTTP_HEADERS", err.Error())
	}
	s.headers = rule
	s.cookie = parsed(p, "HTTP_COOKIE", cookies.ParseProperty)
	if p.text("HTTP_COOKIE") == "" || p.failed("HTTP_COOKIE") {
		s.cookie = def.Cookie
	}
	s.referer = p.within("REFERER_SELF_URL", refererSelf, refererNone, refererParent)
	s.user, s.password = p.text("HTTP_AUTH_NAME"), p.text("HTTP_AUTH_PWD")
	s.form = p.prefixed(formPrefix)
	s.collectForms = p.on("COLLECT_POST_DATA", false)
	s.connectTimeout = p.seconds("CONNECTION_TIMEOUT", 10*time.Second)
	s.redirects = int(min(max(p.int("HTTP_REDIRECTS_MAX", 5), 0), maxRedirects))
	s.htmlRedirects = int(min(p.int("HTML_REDIRECTS_MAX", 1), maxRedirects))
	s.schemes = canonical.Web
	if list := parsed(p, "PROTOCOLS", parseSchemes); len(list) > 0 {
		s.schemes = list
	}
	s.templates = map[bool]template{
		false: {parsed(p, "URL_TEMPLATE_REGULAR", parseTemplate), p.on("URL_TEMPLATE_REGULAR_URLENCODE", false)},
		true:  {parsed(p, "URL_TEMPLATE_REALTIME", parseTemplate), p.on("URL_TEMPLATE_REALTIME_URLENCODE", false)},
	}
	s.external = parsed(p, "EXTERNAL_URL", parseTemplate)
	s.alive = parsed(p, "HOST_ALIVE_CHECK", proxypool.ParseAliveCheck)
	if p.text("HTTP_FREQ_LIMITS") != "" {
		limits := parsed(p, "HTTP_FREQ_LIMITS", quota.Parse)
		limiter, err := quota.Open(limits, def.FreqDir, quota.Options{ReadOnly: def.dry})
		if err != nil {
			p.fail("HTTP_FREQ_LIMITS", err.Error())
		}
		s.freq = limiter
	}
	s.insecureTLS = p.int("TLSVerify", 1) == 0
	s.concurrency = int(min(max(p.int("HostConcurrency", 1), 1), 1<<20))
	s.proxy = parsed(p, "USER_PROXY", proxypool.Parse)
	host, port := p.text("HTTP_PROXY_HOST"), ""
	if n := p.within("HTTP_PROXY_PORT", 0, 0, math.MaxUint16); n > 0 {
		port = strconv.FormatInt(n, 10)
	}
	fixed, err := proxypool.Fixed(host, port)
	if err != nil && !p.failed("HTTP_PROXY_PORT") { // otherwise the port is the reason
		p.fail("HTTP_PROXY_HOST", err.Error())
	}
	if p.text("USER_PROXY") == "" || p.failed("USER_PROXY") {
		s.proxy = fixed
	}
	s.proxyAlive = parsed(p, "HOST_ALIVE_CHECK_PROXY", proxypool.ParseAliveCheck)
}

func (s *settings) readRobots(p *properties) {
	s.robots = p.on("ROBOTS_MODE", true)
	s.robotsLinks = p.on("ROBOTS_COLLECT", true)
	s.robotsCache = p.on("ROBOTS_CACHE", false)
	s.robotsMeta = p.on("ROBOTS_META", true)
	s.robotsHeader = p.on("ROBOTS_HEADER", true)
	s.refusedRel = []string{"nofollow", "ugc", "sponsored"}
	s.refusedRel = parsedOr(p, "ROBOTS_REL", s.refusedRel, parseRel)
}

func (s *settings) readContent(p *properties) {
	s.contentTypes = parsed(p, "ALLOWED_CTYPES", content.ParseTypes)
	s.storedTypes = parsed(p, "MIME_TYPE_STORE_ON_DISK", content.ParseTypes)
	s.typeMap = parsed(p, "CONTENT_TYPE_MAP", content.ParseTypeMap)
	s.autoDetect = parsed(p, "MIME_TYPE_AUTO_DETECT", content.ParseAutoDetect)
	s.replace = parsed(p, "REPLACE", content.ParseReplace)
	s.recover = p.within("HTML_RECOVER", 0, 0, 2)
	s.dateSources = parsedOr(p, "PDATE_SOURCES_MASK", content.DefaultSources, content.ParseMask)
	s.dateKept = parsedOr(p, "PDATE_SOURCES_MASK_OVERWRITE", content.DefaultOverwrite, content.ParseMask)
	s.modified = parsed(p, "DETECT_MODIFIED", revalidate.Parse)
	s.statuses = parsed(p, "HTTP_CODE_STATUS_UPDATE", content.ParseStatuses)
	s.storeHeaders = p.int("STORE_HTTP_HEADERS", 1) != 0
	s.storeRequest = p.int("STORE_HTTP_REQUEST", 1) != 0
	s.storeCookies = p.on("STORE_COOKIES", true)
	s.expressions = parsedInPart(p, "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER", wire.ReadFieldExpressions)
	s.standardFeeds = p.on("RSS_FEEDPARSER_MODE", false)
	s.feedAsEntry = p.on("RSS_FEED_ZERO_ITEM", false)
	s.defaultSitemap = p.on("SITEMAP_DEFAULT", true)
	switch text := p.text("SITEMAPS"); text {
	case "", "1":
		s.robotsSitemaps = true
	case "0":
	default:
		s.sitemaps = parsed(p, "SITEMAPS", parseSitemaps)
		s.robotsSitemaps = p.failed("SITEMAPS")
	}
}

func (s *settings) readLinks(p *properties) {
	s.xpaths = parsed(p, "COLLECT_URLS_XPATH_LIST", linkrules.ParseXPaths)
	s.collectLimits = parsed(p, "COLLECT_URLS_LIMITS", linkrules.ParseCollectLimits)
	s.urlLimits = parsed(p, "URL_LIMITS", linkrules.ParseURLLimits)
	s.normalize = parsed(p, "URL_NORMALIZE", linkrules.ParseNormalize)
	s.mask = canonical.Mask(p.within("URL_NORMALIZE_MASK", int64(canonical.Main), 0, int64(canonical.SkipWWW|canonical.Validate|canonical.Main)))
	if mask, given := s.normalize.Mask(); given {
		s.mask = canonical.Mask(mask)
	}
	s.fieldsInit = parsed(p, "URLS_FIELDS_INIT", linkrules.ParseFieldsInit)
	s.chain = parsed(p, "URL_CHAIN", linkrules.ParseChain)
	s.resolver = parsed(p, "HTTP_REDIRECT_RESOLVER", linkrules.ParseResolver)
	s.schema = parsed(p, "URLS_SCHEMA", urlschema.Parse)
	s.recrawl = parsed(p, "RECRAWL_URL_UPDATE", linkrules.ParseRecrawlUpdates)
	rules, errs := wire.ReadLinkRules(p.lookup)
	s.rules = rules
	p.errs = append(p.errs, errs...)
}

// parseSchemes reads PROTOCOLS: the schemes of the list that can be crawled.
func parseSchemes(text string) (canonical.Schemes, error) {
	var list prop.Texts
	if err := prop.Decode(text, &list); err != nil {
		return nil, err
	}
	var known canonical.Schemes
	for _, s := range list {
		if s = strings.ToLower(s); slices.Contains(canonical.Web, s) && !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		return nil, errors.New("names neither http nor https")
	}
	return known, nil
}

// parseTemplate reads a template of URLs. A template without the URL would request one page for
// all of them, so it is an error.
func parseTemplate(text string) (string, error) {
	if !strings.Contains(text, "%URL%") {
		return "", fmt.Errorf("is %q, without %%URL%%", prop.Clip(text))
	}
	if webHost(strings.ReplaceAll(text, "%URL%", "http://a.example/")) == "" {
		return "", fmt.Errorf("is %q, which is not an http or https URL", prop.Clip(text))
	}
	return text, nil
}

// parseRel reads ROBOTS_REL: words separated by commas or spaces. "0" and "none" mean no word.
func parseRel(text string) ([]string, error) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' })
	for _, word := range words {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_:.") != "" {
			return nil, fmt.Errorf("has %q, which is not a word of a rel attribute", prop.Clip(word))
		}
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "0" || word == "none" }), nil
}

// parseLogger reads LOGGER: the suffix of a log file.
func parseLogger(text string) (string, error) {
	var v struct {
		Suffix string `json:"suffix"`
	}
	return v.Suffix, prop.Decode(text, &v)
}

// mostSitemaps bounds the sitemaps of a property.
const mostSitemaps = 100

// parseSitemaps reads SITEMAPS: absolute URLs, as a JSON list or separated by spaces or commas.
func parseSitemaps(text string) ([]string, error) {
	list := prop.Texts(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r <= ' ' }))
	if text[0] == '[' {
		if err := prop.Decode(text, &list); err != nil {
			return nil, err
		}
	}
	if len(list) > mostSitemaps {
		return nil, fmt.Errorf("names %d sitemaps; expected at most %d", len(list), mostSitemaps)
	}
	urls := make([]string, len(list))
	for i, raw := range list {
		u, err := canonical.Canonical(raw)
		if err != nil {
			return nil, fmt.Errorf("names %q, which is not a URL: %w", prop.Clip(raw), err)
		}
		urls[i] = u
	}
	return urls, nil
}
