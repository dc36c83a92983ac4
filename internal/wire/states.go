package wire

// States of a Site (docs/spec/objects.md 5.2).
const (
	SiteActive      = 1
	SiteDisabled    = 2
	SiteSuspended   = 3
	SiteDeleted     = 4
	SiteDeleteTask  = 5
	SiteRestart     = 6 // in requests only
	SiteCleaned     = 7
	SiteCleanupTask = 8
	SiteNotFound    = 9 // in answers only
)

// Update types of the lists in SITE_UPDATE (docs/spec/objects.md 2.5).
const (
	UpdateAppend    = 0
	UpdateOverwrite = 1 // delete the stored rows first
	UpdateRows      = 2 // change stored rows; add no row
)

// States of a URL (docs/spec/objects.md 5.3).
const (
	URLEnabled  = 0
	URLDisabled = 1
	URLError    = 2
)

// Statuses of a URL, from discovered to processed (docs/spec/objects.md 5.3).
const (
	StatusUndefined           = 0
	StatusNew                 = 1
	StatusSelectedCrawling    = 2
	StatusCrawling            = 3
	StatusCrawled             = 4
	StatusSelectedProcessing  = 5
	StatusProcessing          = 6
	StatusProcessed           = 7
	StatusSelectedIncremental = 8
)

// Types of a URL (docs/spec/objects.md 5.3).
const (
	TypeRegular    = 0 // its links are collected for this site
	TypeSingle     = 1 // its links are not collected
	TypeRegularExt = 2
	TypeNewSite    = 3
	TypeFetched    = 4
	TypeRealTime   = 5
	TypeChain      = 6
)

// How URL_NEW chooses the site of a URL with an unknown siteId (docs/spec/objects.md 5.3).
const (
	SelectExplicit = 0
	SelectAuto     = 1
	SelectQualify  = 2
	SelectNone     = 3
)

// Values of urlType: the url field of a request holds the URL or its key.
const (
	ByURL = 0
	ByMd5 = 1
)

// Kinds of a Batch (docs/spec/objects.md 5.5).
const (
	CrawlNormal      = 1
	CrawlIncremental = 2
	CrawlReturn      = 3
	CrawlRealTime    = 4
	CrawlPurge       = 5
	CrawlProcess     = 6
	CrawlAge         = 7
)

// Bits of a Batch's dbMode (docs/spec/objects.md 5.5).
const (
	DBRead  = 1
	DBWrite = 2
)

// Values of delayedType: a delayed deletion keeps contents until URL_PURGE
// (docs/spec/storage.md 4.0.6).
const (
	Delayed   = 0
	Immediate = 1
)

// Bits of URL_CONTENT's contentTypeMask (docs/spec/objects.md 5.4).
const (
	MaskProcessed = 1 << iota
	MaskRawLast
	MaskRawFirst
	MaskRawAll
	MaskHeaders
	MaskRequests
	MaskMeta
	MaskCookies
	MaskTidy
	MaskDynamic
	MaskRaw
	MaskChain
	MaskInternal
	MaskCustom
	MaskAll
	MaskAttributes
	MaskHops // not in the specification: the content ContentHops of a raw content
)

// Type ids of Content (docs/spec/objects.md 5.4).
const (
	ContentRaw       = 0
	ContentTidy      = 1
	ContentHeaders   = 2
	ContentRequests  = 3
	ContentMeta      = 4
	ContentCookies   = 5
	ContentDynamic   = 9
	ContentProcessed = 10
	ContentChain     = 11
	ContentHops      = 12 // not in the specification: a JSON list of HopAnswer
)

// Codes of GeneralResponse (docs/spec/objects.md 3.3, 5.5).
const (
	CodeOK            = 0
	CodeFailed        = 1
	CodeNotFound      = 2
	CodeDuplicateSite = 2020
	CodeSQLError      = 2021
)

// GeneralSite is the id of the site for URLs that belong to no other site.
const GeneralSite = "0"
