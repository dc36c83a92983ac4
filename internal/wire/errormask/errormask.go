// Package errormask is the set of errors of a URL or a site: one bit for each kind of error, with its name and meaning.
//
//	mask := errormask.Timeout | errormask.HTTP
//	for _, bit := range mask.Bits() {
//		fmt.Println(bit.Name, bit.Message)
//	}
//
// docs/errors.md has the table of bits.
package errormask

import (
	"errors"
	"math/bits"
)

// Mask is a set of error bits of a URL or a Site (docs/spec/DECISIONS.md 2).
type Mask uint64

// Error bits. The value of bit n is 1 << n.
const (
	BadURL Mask = 1 << iota
	Timeout
	HTTP
	Empty
	MIME
	Connection
	PageConvert
	BadRedirection
	Size
	Authorization
	File
	Robots
	HTMLParse
	BadEncoding
	SiteMaxErrors
	SiteMaxResources
	RawNotStored
	MaxHTTPRedirects
	MaxHTMLRedirects
	GeneralCrawler
	DTD
	MacroDeserialization
	FetchAmbiguous
	FetchConnection
	FetchHTTP
	FetchInvalidURL
	FetchTooManyRedirects
	FetchConnectTimeout
	FetchReadTimeout
	FetchTimeout
	FetcherInternal
	MaxResources
	ProcessorMaxErrors
	ProcessorMaxResources
	UnsupportedType
	RawDecoding
	Scraper
	RawMissing
	Regexp
	MandatoryTemplate
	ProcessorFilters
	SiteState
	MaxItems
	MaxURLsFromPage
	TemplateSource
	RSSEmpty
	URLsSchema
	NoProxy
	Forbidden
	NoTimeWindow
	Initialization
	BatchItem
	MaxExecutionTime
	Macro
	Synchronize
	FiltersBreak
	Database
	SiteMaxResourcesSize
	Guard
	ProcessorBudget
)

// Bit describes one bit of an Mask.
type Bit struct {
	Bit       int
	Name      string
	Message   string
	Retryable bool // another try later may succeed
}

var table = [...]Bit{
	{0, "BAD_URL", "the URL cannot be requested", false},
	{1, "REQUEST_TIMEOUT", "no whole response within the time-out", true},
	{2, "HTTP_ERROR", "the server answered with a code of 400 or more", true},
	{3, "EMPTY_RESPONSE", "the response has no content", true},
	{4, "WRONG_MIME", "the content type is not allowed", false},
	{5, "CONNECTION_ERROR", "the host could not be resolved or connected", true},
	{6, "PAGE_CONVERT_ERROR", "the body is incomplete, or its encoding is broken", true},
	{7, "BAD_REDIRECTION", "a redirect leads nowhere", false},
	{8, "RESPONSE_SIZE_ERROR", "the content is larger than allowed", false},
	{9, "AUTH_ERROR", "the server asks for authorization", false},
	{10, "WRITE_FILE_ERROR", "a content file could not be written", true},
	{11, "ROBOTS_NOT_ALLOW", "robots.txt forbids the URL", false},
	{12, "HTML_PARSE_ERROR", "the page could not be parsed", false},
	{13, "BAD_ENCODING", "the page is not in the character set it declares", false},
	{14, "SITE_MAX_ERRORS", "the site has more errors than allowed", false},
	{15, "SITE_MAX_RESOURCES", "the site has more resources than allowed", false},
	{16, "RAW_CONTENT_NOT_STORED", "the raw content was not stored", true},
	{17, "MAX_ALLOW_HTTP_REDIRECTS", "more HTTP redirects than allowed", false},
	{18, "MAX_ALLOW_HTML_REDIRECTS", "more HTML redirects than allowed", false},
	{19, "GENERAL_CRAWLER", "an unexpected error of the crawler", true},
	{20, "DTD_INVALID", "the document type is not valid", false},
	{21, "MACRO_DESERIALIZATION", "a fetcher macro could not be read", false},
	{22, "FETCH_AMBIGUOUS_REQUEST", "the request failed in an unknown way", true},
	{23, "FETCH_CONNECTION_ERROR", "the browser could not connect", true},
	{24, "FETCH_HTTP_ERROR", "the answer violates HTTP", true},
	{25, "FETCH_INVALID_URL", "the browser refuses the URL", false},
	{26, "FETCH_TOO_MANY_REDIRECTS", "the redirects form a loop", false},
	{27, "FETCH_CONNECTION_TIMEOUT", "the browser's connection timed out", true},
	{28, "FETCH_READ_TIMEOUT", "the browser's reading timed out", true},
	{29, "FETCH_TIMEOUT", "the browser's time is over", true},
	{30, "FETCHER_INTERNAL", "an internal error of the fetcher", true},
	{31, "MAX_RESOURCES", "the site has more processed resources than allowed", false},
	{32, "PROCESSOR_MAX_ERRORS", "the site has more errors than allowed for processing", false},
	{33, "PROCESSOR_MAX_RESOURCES", "the site has more resources than allowed for processing", false},
	{34, "UNSUPPORTED_CONTENT_TYPE", "the content type is not one that the site processes", false},
	{35, "RAW_CONTENT_DECODING", "the raw content could not be decoded", false},
	{36, "SCRAPER_ERROR", "the content could not be extracted", false},
	{37, "MISSED_RAW_CONTENT_ON_DISK", "the raw content is not on the disk", true},
	{38, "RE_ERROR", "a regular expression is not valid", false},
	{39, "MANDATORY_TEMPLATE", "a mandatory template is empty", false},
	{40, "PROCESSOR_FILTERS_BREAK", "a filter of the processor refuses the page", false},
	{41, "SITE_STATE", "the site is not active", true},
	{42, "MAX_ITEMS", "the batch has more items than allowed", true},
	{43, "MAX_URLS_FROM_PAGE", "the page has more URLs than allowed", false},
	{44, "TEMPLATE_SOURCE", "a template, or its source or format, is not usable", false},
	{45, "RSS_EMPTY", "the feed has no entries", true},
	{46, "URLS_SCHEMA_EXTERNAL", "an external source of a URL schema failed", true},
	{47, "NOT_EXIST_ANY_VALID_PROXY", "no valid proxy", true},
	{48, "FETCH_FORBIDDEN", "the server forbids the page", false},
	{49, "NO_TIME_WINDOW", "the frequency limit leaves no time", true},
	{50, "CRAWLER_FATAL_INITIALIZATION_PROJECT_ERROR", "the site or a property of it could not be read", false},
	{51, "PROCESSOR_BATCH_ITEM_PROCESS", "the item could not be processed", true},
	{52, "MAX_EXECUTION_TIME", "the time or the attempts are used up", true},
	{53, "MACRO", "a fetcher macro failed", false},
	{54, "SYNCHRONIZE_URL_WITH_DB", "the URL could not be brought into the database", true},
	{55, "CRAWLER_FILTERS_BREAK", "a filter of the crawler refuses the page", false},
	{56, "DATABASE_ERROR", "the database failed", true},
	{57, "SITE_MAX_RESOURCES_SIZE", "the site's resources are larger than allowed", false},
	{58, "SSRF_GUARD", "the egress guard refuses the address; see AllowedNetworks", false},
	{59, "PROCESSOR_BUDGET", "processing the page takes too much time or memory; see max_item_time and max_item_memory", false},
}

// Bits returns the known bits of m, lowest first.
func (m Mask) Bits() []Bit {
	var list []Bit
	for rest := uint64(m); rest != 0; rest &= rest - 1 {
		if n := bits.TrailingZeros64(rest); n < len(table) {
			list = append(list, table[n])
		}
	}
	return list
}

// Names returns the names of the known bits of m, lowest first. It never returns nil
// (docs/spec/DECISIONS.md 1.8).
func (m Mask) Names() []string {
	names := []string{}
	for _, b := range m.Bits() {
		names = append(names, b.Name)
	}
	return names
}

// Error is an error that sets bits of the row it belongs to.
type Error struct {
	Mask Mask
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Of returns the bits of the Error in err, or 0.
func Of(err error) Mask {
	var e *Error
	if errors.As(err, &e) {
		return e.Mask
	}
	return 0
}
