package crawl

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/crawl/quota"
	"hce/dc/internal/crawl/retry"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/property"
	"hce/dc/robots"
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
	legacyTLS      bool
	concurrency    int
	retries        retry.Table // RETRY
	retriesOnce    retry.Table // of a batch that asks once

	proxy      proxypool.Spec
	proxyAlive proxypool.AliveCheck

	// robots.txt, meta robots and rel.
	robots       bool
	robotsLinks  bool
	robotsNotes  bool // links that robots.txt forbids become rows
	robotsCache  bool
	robotsMeta   bool
	robotsHeader bool
	agent        string   // names that select the group of a robots.txt, as robots.Names has them
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
	dates          pdate.Masks // PDATE_SOURCES_MASK, PDATE_SOURCES_MASK_OVERWRITE
	modified       revalidate.Rule
	statuses       content.Statuses
	storeHeaders   bool
	storeRequest   bool
	storeReceived  bool // text as its bytes came, not as UTF-8
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
	traps         bool // URLs of traps are asked last
	canonicalOnly bool // pages with another canonical URL are left out
	normalize     *linkrules.Normalize
	mask          canonical.Mask
	fieldsInit    linkrules.FieldsInit
	chain         *pyregexp.Regexp // links that continue a page
	resolver      linkrules.ByURL[linkrules.Resolution]
	recrawl       linkrules.ByURL[wire.Patch]
	rules         *wire.LinkRules

	schema *urlschema.Schema

	sum    int64          // see settingsSum
	suffix string         // of the log file of the site's project
	bits   wire.ErrorMask // of properties that cannot be read, for the site
	broken error          // of a property of Guards that cannot be read

	openPool sync.Once
	pool     *proxypool.Pool
}

// isFeedSite reports whether the site's pages are feeds.
func (s *settings) isFeedSite() bool { return s.processor == feedParser || s.processor == rss }

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
	p := property.Of(site, over)
	s := settingsOf(p, site.ID, def)
	s.sum = settingsSum(site, p)
	s.broken = brokenGuard(p.Errs)
	return s, p.Errs
}

// settingsOf reads the properties of a site.
func settingsOf(p *property.Values, site string, def Config) *settings {
	s := &settings{}
	s.readRequests(p, def)
	s.readRobots(p)
	s.agent = robotsAgent(s.headers, def)
	s.readContent(p, def)
	s.readLinks(p)
	s.fetchers = property.Parsed(p, "FETCHER_TYPE", linkrules.ParseFetcherTypes)
	s.dynamicRoots = p.On("DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", false)
	s.macro = property.Parsed(p, "FETCHER_MACRO", browser.ParseMacro)
	s.processor = p.Text("PROCESSOR_NAME")
	s.suffix = strings.ReplaceAll(property.Parsed(p, "LOGGER", parseLogger), "%PROJECT_ID%", site)
	if p.Failed("FETCHER_MACRO") {
		s.bits, s.badMacro = s.bits|wire.ErrMacroDeserialization, true
	}
	return s
}

func (s *settings) readRequests(p *property.Values, def Config) {
	s.headers = property.ParsedInPart(p, "HTTP_HEADERS", headerrotation.Parse)
	rule, err := s.headers.Resolve(def.HeaderSourceDir)
	if err != nil {
		p.Fail("HTTP_HEADERS", err.Error())
	}
	s.headers = rule
	s.cookie = property.Parsed(p, "HTTP_COOKIE", cookies.ParseProperty)
	if p.Text("HTTP_COOKIE") == "" || p.Failed("HTTP_COOKIE") {
		s.cookie = def.Cookie
	}
	s.referer = p.Within("REFERER_SELF_URL", refererSelf, refererNone, refererParent)
	s.user, s.password = p.Text("HTTP_AUTH_NAME"), p.Text("HTTP_AUTH_PWD")
	s.form = p.Prefixed(formPrefix)
	s.collectForms = p.On("COLLECT_POST_DATA", false)
	s.connectTimeout = p.Seconds("CONNECTION_TIMEOUT", 10*time.Second)
	s.redirects = int(min(max(p.Int("HTTP_REDIRECTS_MAX", 5), 0), maxRedirects))
	s.htmlRedirects = int(min(p.Int("HTML_REDIRECTS_MAX", 1), maxRedirects))
	s.schemes = canonical.Web
	if list := property.Parsed(p, "PROTOCOLS", linkrules.ParseSchemes); len(list) > 0 {
		s.schemes = list
	}
	s.templates = map[bool]template{
		false: {property.Parsed(p, "URL_TEMPLATE_REGULAR", linkrules.ParseTemplate), p.On("URL_TEMPLATE_REGULAR_URLENCODE", false)},
		true:  {property.Parsed(p, "URL_TEMPLATE_REALTIME", linkrules.ParseTemplate), p.On("URL_TEMPLATE_REALTIME_URLENCODE", false)},
	}
	s.external = property.Parsed(p, "EXTERNAL_URL", linkrules.ParseTemplate)
	s.alive = property.Parsed(p, "HOST_ALIVE_CHECK", proxypool.ParseAliveCheck)
	if p.Text("HTTP_FREQ_LIMITS") != "" {
		limits := property.Parsed(p, "HTTP_FREQ_LIMITS", quota.Parse)
		limiter, err := quota.Open(limits, def.FreqDir, quota.Options{ReadOnly: def.dry})
		if err != nil {
			p.Fail("HTTP_FREQ_LIMITS", err.Error())
		}
		s.freq = limiter
	}
	s.insecureTLS = p.Int("TLSVerify", 1) == 0
	s.legacyTLS = p.On("TLSLegacy", false)
	s.concurrency = int(min(max(p.Int("HostConcurrency", 1), 1), 1<<20))
	table := retry.Default(def.Backoff)
	s.retries = property.ParsedOr(p, "RETRY", table, table.Parse)
	s.retriesOnce = s.retries.Once()
	s.proxy = property.Parsed(p, "USER_PROXY", proxypool.Parse)
	host, port := p.Text("HTTP_PROXY_HOST"), ""
	if n := p.Within("HTTP_PROXY_PORT", 0, 0, math.MaxUint16); n > 0 {
		port = strconv.FormatInt(n, 10)
	}
	fixed, err := proxypool.Fixed(host, port)
	if err != nil && !p.Failed("HTTP_PROXY_PORT") { // otherwise the port is the reason
		p.Fail("HTTP_PROXY_HOST", err.Error())
	}
	if p.Text("USER_PROXY") == "" || p.Failed("USER_PROXY") {
		s.proxy = fixed
	}
	s.proxyAlive = property.Parsed(p, "HOST_ALIVE_CHECK_PROXY", proxypool.ParseAliveCheck)
}

// robotsAgent returns the names by which pages and robots.txt address the requests of a site: those of its
// own User-Agent, otherwise robots_agent and those of the default User-Agent.
func robotsAgent(own headerrotation.Rule, def Config) string {
	if agents := own.Values("User-Agent"); len(agents) > 0 {
		return robots.Names(agents...)
	}
	return robots.Names(append(def.Headers.Values("User-Agent"), def.RobotsAgent)...)
}

func (s *settings) readRobots(p *property.Values) {
	s.robots = p.On("ROBOTS_MODE", true)
	collect := p.Int("ROBOTS_COLLECT", 1)
	s.robotsLinks, s.robotsNotes = collect != 0, collect != 2
	s.robotsCache = p.On("ROBOTS_CACHE", false)
	s.robotsMeta = p.On("ROBOTS_META", true)
	s.robotsHeader = p.On("ROBOTS_HEADER", true)
	s.refusedRel = []string{"nofollow", "ugc", "sponsored"}
	s.refusedRel = property.ParsedOr(p, "ROBOTS_REL", s.refusedRel, linkrules.ParseRel)
}

func (s *settings) readContent(p *property.Values, def Config) {
	s.contentTypes = property.Parsed(p, "ALLOWED_CTYPES", content.ParseTypes)
	s.storedTypes = property.Parsed(p, "MIME_TYPE_STORE_ON_DISK", content.ParseTypes)
	s.typeMap = property.Parsed(p, "CONTENT_TYPE_MAP", content.ParseTypeMap)
	s.autoDetect = property.Parsed(p, "MIME_TYPE_AUTO_DETECT", content.ParseAutoDetect)
	s.replace = property.Parsed(p, "REPLACE", content.ParseReplace)
	s.recover = p.Within("HTML_RECOVER", 0, 0, 2)
	s.dates.Sources = property.ParsedOr(p, "PDATE_SOURCES_MASK", pdate.Default.Sources, pdate.ParseMask)
	s.dates.Overwrite = property.ParsedOr(p, "PDATE_SOURCES_MASK_OVERWRITE", pdate.Default.Overwrite, pdate.ParseMask)
	s.modified = property.ParsedOr(p, "DETECT_MODIFIED", def.Modified, revalidate.Parse)
	s.statuses = property.Parsed(p, "HTTP_CODE_STATUS_UPDATE", content.ParseStatuses)
	s.storeHeaders = p.Int("STORE_HTTP_HEADERS", 1) != 0
	s.storeRequest = p.Int("STORE_HTTP_REQUEST", 1) != 0
	s.storeReceived = p.Int("STORE_AS_RECEIVED", 0) != 0
	s.storeCookies = p.On("STORE_COOKIES", true)
	s.expressions = property.ParsedInPart(p, "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER", wire.ReadFieldExpressions)
	s.standardFeeds = p.On("RSS_FEEDPARSER_MODE", false)
	s.feedAsEntry = p.On("RSS_FEED_ZERO_ITEM", false)
	s.defaultSitemap = p.On("SITEMAP_DEFAULT", true)
	switch text := p.Text("SITEMAPS"); text {
	case "", "1":
		s.robotsSitemaps = true
	case "0":
	default:
		s.sitemaps = property.Parsed(p, "SITEMAPS", linkrules.ParseSitemaps)
		s.robotsSitemaps = p.Failed("SITEMAPS")
	}
}

func (s *settings) readLinks(p *property.Values) {
	s.xpaths = property.Parsed(p, "COLLECT_URLS_XPATH_LIST", linkrules.ParseXPaths)
	s.collectLimits = property.Parsed(p, "COLLECT_URLS_LIMITS", linkrules.ParseCollectLimits)
	s.urlLimits = property.Parsed(p, "URL_LIMITS", linkrules.ParseURLLimits)
	s.traps = p.On("TRAPS", true)
	s.canonicalOnly = p.On("CANONICAL_ONLY", false)
	s.normalize = property.Parsed(p, "URL_NORMALIZE", linkrules.ParseNormalize)
	s.mask = canonical.Mask(p.Within("URL_NORMALIZE_MASK", int64(canonical.Main), 0, int64(canonical.SkipWWW|canonical.Validate|canonical.Main)))
	if mask, given := s.normalize.Mask(); given {
		s.mask = canonical.Mask(mask)
	}
	s.fieldsInit = property.Parsed(p, "URLS_FIELDS_INIT", linkrules.ParseFieldsInit)
	s.chain = property.Parsed(p, "URL_CHAIN", linkrules.ParseChain)
	s.resolver = property.Parsed(p, "HTTP_REDIRECT_RESOLVER", linkrules.ParseResolver)
	s.schema = property.Parsed(p, "URLS_SCHEMA", urlschema.Parse)
	s.recrawl = property.Parsed(p, "RECRAWL_URL_UPDATE", linkrules.ParseRecrawlUpdates)
	rules, errs := wire.ReadLinkRules(p.Lookup)
	s.rules = rules
	p.Errs = append(p.Errs, errs...)
}

// parseLogger reads LOGGER: the suffix of a log file.
func parseLogger(text string) (string, error) {
	var v struct {
		Suffix string `json:"suffix"`
	}
	return v.Suffix, prop.Decode(text, &v)
}
