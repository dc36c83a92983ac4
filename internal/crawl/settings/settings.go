// Package settings reads the properties of a site into the values by which its pages are requested and read.
//
//	set, problems := settings.Read(&site, item.Properties, config)
//
// A property that cannot be read is left out. Guards are those without which nothing of a site is fetched.
package settings

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
	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/property"
	"hce/dc/internal/wire/schema"
	"hce/dc/robots"
)

// Settings are the site properties that the crawler uses for one item. docs/properties.md
// describes them; a test compares page and code (docs/spec/crawling.md 3).
type Settings struct {
	// Requests.
	Headers        headerrotation.Rule
	Cookie         cookies.Property
	Referer        int64
	User, Password string
	Form           map[string]string
	CollectForms   bool
	ConnectTimeout time.Duration
	Redirects      int
	HTMLRedirects  int // maximum number of meta refreshes; below 1: none is followed
	Schemes        canonical.Schemes
	Templates      map[bool]Template // by: the batch is a real-time batch
	External       string
	Alive          proxypool.AliveCheck
	Freq           *quota.Limiter
	InsecureTLS    bool
	LegacyTLS      bool
	Concurrency    int
	Retries        retry.Table // RETRY
	RetriesOnce    retry.Table // of a batch that asks once

	Proxy      proxypool.Spec
	ProxyAlive proxypool.AliveCheck

	// robots.txt, meta robots and rel.
	Robots       bool
	RobotsLinks  bool
	RobotsNotes  bool // links that robots.txt forbids become rows
	RobotsCache  bool
	RobotsMeta   bool
	RobotsHeader bool
	Agent        string   // names that select the group of a robots.txt, as robots.Names has them
	RefusedRel   []string // links with one of these words are left out

	// Dynamic pages.
	Fetchers     linkrules.ByURL[int]
	DynamicRoots bool // only root URLs use the browser
	Macro        *browser.Macro
	BadMacro     bool // FETCHER_MACRO cannot be read

	Processor string // PROCESSOR_NAME

	// Content.
	ContentTypes   content.Types
	StoredTypes    content.Types
	TypeMap        content.TypeMap
	AutoDetect     content.AutoDetect
	Replace        content.Replace
	Recover        int64
	Dates          pdate.Masks // PDATE_SOURCES_MASK, PDATE_SOURCES_MASK_OVERWRITE
	Modified       revalidate.Rule
	Statuses       content.Statuses
	StoreHeaders   bool
	StoreRequest   bool
	StoreReceived  bool // text as its bytes came, not as UTF-8
	StoreCookies   bool
	Expressions    []wire.FieldExpression
	StandardFeeds  bool
	FeedAsEntry    bool
	Sitemaps       []string // named by the site
	RobotsSitemaps bool     // use those that robots.txt names
	DefaultSitemap bool     // else try /sitemap.xml

	// Links.
	XPaths        *linkrules.XPaths
	CollectLimits linkrules.ByURL[int64] // links from a page
	URLLimits     linkrules.URLLimits
	Traps         bool // URLs of traps are asked last
	CanonicalOnly bool // pages with another canonical URL are left out
	Normalize     *linkrules.Normalize
	Mask          canonical.Mask
	FieldsInit    linkrules.FieldsInit
	Chain         *pyregexp.Regexp // links that continue a page
	Resolver      linkrules.ByURL[linkrules.Resolution]
	Recrawl       linkrules.ByURL[schema.Patch]
	Rules         *wire.LinkRules

	Schema *urlschema.Schema

	Sum    int64          // checksum of what decides how a page is read; never 0
	Suffix string         // of the log file of the site's project
	Bits   errormask.Mask // of properties that cannot be read, for the site
	Broken error          // of a property of Guards that cannot be read

	OpenPool sync.Once
	Pool     *proxypool.Pool
}

// IsFeedSite reports whether the site's pages are feeds.
func (s *Settings) IsFeedSite() bool { return s.Processor == FeedParser || s.Processor == RSS }

// Values of PROCESSOR_NAME that the crawler uses (docs/spec/crawling.md 5.10).
const (
	FeedParser = "FEED_PARSER" // entries are stored as crawled pages
	RSS        = "RSS"         // entries are crawled in the next pass
)

// Template is the pattern of the URL that is requested.
type Template struct {
	Text   string
	Encode bool
}

// NeedsProbes reports whether links of the item's page need requests.
func (s *Settings) NeedsProbes() bool {
	return s.Resolver != nil || s.AutoDetect.HeadsLinks() || s.URLLimits.NeedsContentTypes()
}

// Values of REFERER_SELF_URL (docs/spec/crawling.md 3).
const (
	RefererNone   = 0
	RefererSelf   = 1
	RefererHost   = 2
	RefererParent = 3
)

// FormPrefix is the prefix of properties that are form fields.
const FormPrefix = "HTTP_POST_FORM_"

// MaxRedirects is the most redirects of one request that a property may allow.
const MaxRedirects = 50

// Read reads the properties of a site, overridden by the item's. Each error names a
// property that is left out.
func Read(site *wire.Site, over map[string]string, def Config) (*Settings, []error) {
	p := property.Of(site, over)
	s := ReadValues(p, site.ID, def)
	s.Sum = settingsSum(site, p)
	s.Broken = brokenGuard(p.Errs)
	return s, p.Errs
}

// ReadValues reads the properties of a site without its checksum and its guards.
func ReadValues(p *property.Values, site string, def Config) *Settings {
	s := &Settings{}
	s.readRequests(p, def)
	s.readRobots(p)
	s.Agent = robotsAgent(s.Headers, def)
	s.readContent(p, def)
	s.readLinks(p)
	s.Fetchers = property.Parsed(p, "FETCHER_TYPE", linkrules.ParseFetcherTypes)
	s.DynamicRoots = p.On("DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", false)
	s.Macro = property.Parsed(p, "FETCHER_MACRO", browser.ParseMacro)
	s.Processor = p.Text("PROCESSOR_NAME")
	s.Suffix = strings.ReplaceAll(property.Parsed(p, "LOGGER", parseLogger), "%PROJECT_ID%", site)
	if p.Failed("FETCHER_MACRO") {
		s.Bits, s.BadMacro = s.Bits|errormask.MacroDeserialization, true
	}
	return s
}

func (s *Settings) readRequests(p *property.Values, def Config) {
	s.Headers = property.ParsedInPart(p, "HTTP_HEADERS", headerrotation.Parse)
	rule, err := s.Headers.Resolve(def.HeaderSourceDir)
	if err != nil {
		p.Fail("HTTP_HEADERS", err.Error())
	}
	s.Headers = rule
	s.Cookie = property.Parsed(p, "HTTP_COOKIE", cookies.ParseProperty)
	if p.Text("HTTP_COOKIE") == "" || p.Failed("HTTP_COOKIE") {
		s.Cookie = def.Cookie
	}
	s.Referer = p.Within("REFERER_SELF_URL", RefererSelf, RefererNone, RefererParent)
	s.User, s.Password = p.Text("HTTP_AUTH_NAME"), p.Text("HTTP_AUTH_PWD")
	s.Form = p.Prefixed(FormPrefix)
	s.CollectForms = p.On("COLLECT_POST_DATA", false)
	s.ConnectTimeout = p.Seconds("CONNECTION_TIMEOUT", 10*time.Second)
	s.Redirects = int(min(max(p.Int("HTTP_REDIRECTS_MAX", 5), 0), MaxRedirects))
	s.HTMLRedirects = int(min(p.Int("HTML_REDIRECTS_MAX", 1), MaxRedirects))
	s.Schemes = canonical.Web
	if list := property.Parsed(p, "PROTOCOLS", linkrules.ParseSchemes); len(list) > 0 {
		s.Schemes = list
	}
	s.Templates = map[bool]Template{
		false: {property.Parsed(p, "URL_TEMPLATE_REGULAR", linkrules.ParseTemplate), p.On("URL_TEMPLATE_REGULAR_URLENCODE", false)},
		true:  {property.Parsed(p, "URL_TEMPLATE_REALTIME", linkrules.ParseTemplate), p.On("URL_TEMPLATE_REALTIME_URLENCODE", false)},
	}
	s.External = property.Parsed(p, "EXTERNAL_URL", linkrules.ParseTemplate)
	s.Alive = property.Parsed(p, "HOST_ALIVE_CHECK", proxypool.ParseAliveCheck)
	if p.Text("HTTP_FREQ_LIMITS") != "" {
		limits := property.Parsed(p, "HTTP_FREQ_LIMITS", quota.Parse)
		limiter, err := quota.Open(limits, def.FreqDir, quota.Options{ReadOnly: def.Dry})
		if err != nil {
			p.Fail("HTTP_FREQ_LIMITS", err.Error())
		}
		s.Freq = limiter
	}
	s.InsecureTLS = p.Int("TLSVerify", 1) == 0
	s.LegacyTLS = p.On("TLSLegacy", false)
	s.Concurrency = int(min(max(p.Int("HostConcurrency", 1), 1), 1<<20))
	table := retry.Default(def.Backoff)
	s.Retries = property.ParsedOr(p, "RETRY", table, table.Parse)
	s.RetriesOnce = s.Retries.Once()
	s.Proxy = property.Parsed(p, "USER_PROXY", proxypool.Parse)
	host, port := p.Text("HTTP_PROXY_HOST"), ""
	if n := p.Within("HTTP_PROXY_PORT", 0, 0, math.MaxUint16); n > 0 {
		port = strconv.FormatInt(n, 10)
	}
	fixed, err := proxypool.Fixed(host, port)
	if err != nil && !p.Failed("HTTP_PROXY_PORT") { // otherwise the port is the reason
		p.Fail("HTTP_PROXY_HOST", err.Error())
	}
	if p.Text("USER_PROXY") == "" || p.Failed("USER_PROXY") {
		s.Proxy = fixed
	}
	s.ProxyAlive = property.Parsed(p, "HOST_ALIVE_CHECK_PROXY", proxypool.ParseAliveCheck)
}

// robotsAgent returns the names by which pages and robots.txt address the requests of a site: those of its
// own User-Agent, otherwise robots_agent and those of the default User-Agent.
func robotsAgent(own headerrotation.Rule, def Config) string {
	if agents := own.Values("User-Agent"); len(agents) > 0 {
		return robots.Names(agents...)
	}
	return robots.Names(append(def.Headers.Values("User-Agent"), def.RobotsAgent)...)
}

func (s *Settings) readRobots(p *property.Values) {
	s.Robots = p.On("ROBOTS_MODE", true)
	collect := p.Int("ROBOTS_COLLECT", 1)
	s.RobotsLinks, s.RobotsNotes = collect != 0, collect != 2
	s.RobotsCache = p.On("ROBOTS_CACHE", false)
	s.RobotsMeta = p.On("ROBOTS_META", true)
	s.RobotsHeader = p.On("ROBOTS_HEADER", true)
	s.RefusedRel = []string{"nofollow", "ugc", "sponsored"}
	s.RefusedRel = property.ParsedOr(p, "ROBOTS_REL", s.RefusedRel, linkrules.ParseRel)
}

func (s *Settings) readContent(p *property.Values, def Config) {
	s.ContentTypes = property.Parsed(p, "ALLOWED_CTYPES", content.ParseTypes)
	s.StoredTypes = property.Parsed(p, "MIME_TYPE_STORE_ON_DISK", content.ParseTypes)
	s.TypeMap = property.Parsed(p, "CONTENT_TYPE_MAP", content.ParseTypeMap)
	s.AutoDetect = property.Parsed(p, "MIME_TYPE_AUTO_DETECT", content.ParseAutoDetect)
	s.Replace = property.Parsed(p, "REPLACE", content.ParseReplace)
	s.Recover = p.Within("HTML_RECOVER", 0, 0, 2)
	s.Dates.Sources = property.ParsedOr(p, "PDATE_SOURCES_MASK", pdate.Default.Sources, pdate.ParseMask)
	s.Dates.Overwrite = property.ParsedOr(p, "PDATE_SOURCES_MASK_OVERWRITE", pdate.Default.Overwrite, pdate.ParseMask)
	s.Modified = property.ParsedOr(p, "DETECT_MODIFIED", def.Modified, revalidate.Parse)
	s.Statuses = property.Parsed(p, "HTTP_CODE_STATUS_UPDATE", content.ParseStatuses)
	s.StoreHeaders = p.Int("STORE_HTTP_HEADERS", 1) != 0
	s.StoreRequest = p.Int("STORE_HTTP_REQUEST", 1) != 0
	s.StoreReceived = p.Int("STORE_AS_RECEIVED", 0) != 0
	s.StoreCookies = p.On("STORE_COOKIES", true)
	s.Expressions = property.ParsedInPart(p, "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER", wire.ReadFieldExpressions)
	s.StandardFeeds = p.On("RSS_FEEDPARSER_MODE", false)
	s.FeedAsEntry = p.On("RSS_FEED_ZERO_ITEM", false)
	s.DefaultSitemap = p.On("SITEMAP_DEFAULT", true)
	switch text := p.Text("SITEMAPS"); text {
	case "", "1":
		s.RobotsSitemaps = true
	case "0":
	default:
		s.Sitemaps = property.Parsed(p, "SITEMAPS", linkrules.ParseSitemaps)
		s.RobotsSitemaps = p.Failed("SITEMAPS")
	}
}

func (s *Settings) readLinks(p *property.Values) {
	s.XPaths = property.Parsed(p, "COLLECT_URLS_XPATH_LIST", linkrules.ParseXPaths)
	s.CollectLimits = property.Parsed(p, "COLLECT_URLS_LIMITS", linkrules.ParseCollectLimits)
	s.URLLimits = property.Parsed(p, "URL_LIMITS", linkrules.ParseURLLimits)
	s.Traps = p.On("TRAPS", true)
	s.CanonicalOnly = p.On("CANONICAL_ONLY", false)
	s.Normalize = property.Parsed(p, "URL_NORMALIZE", linkrules.ParseNormalize)
	s.Mask = canonical.Mask(p.Within("URL_NORMALIZE_MASK", int64(canonical.Main), 0, int64(canonical.SkipWWW|canonical.Validate|canonical.Main)))
	if mask, given := s.Normalize.Mask(); given {
		s.Mask = canonical.Mask(mask)
	}
	s.FieldsInit = property.Parsed(p, "URLS_FIELDS_INIT", linkrules.ParseFieldsInit)
	s.Chain = property.Parsed(p, "URL_CHAIN", linkrules.ParseChain)
	s.Resolver = property.Parsed(p, "HTTP_REDIRECT_RESOLVER", linkrules.ParseResolver)
	s.Schema = property.Parsed(p, "URLS_SCHEMA", urlschema.Parse)
	s.Recrawl = property.Parsed(p, "RECRAWL_URL_UPDATE", linkrules.ParseRecrawlUpdates)
	rules, errs := wire.ReadLinkRules(p.Lookup)
	s.Rules = rules
	p.Errs = append(p.Errs, errs...)
}

// parseLogger reads LOGGER: the suffix of a log file.
func parseLogger(text string) (string, error) {
	var v struct {
		Suffix string `json:"suffix"`
	}
	return v.Suffix, prop.Decode(text, &v)
}
