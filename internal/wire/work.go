package wire

import (
	"context"
	"time"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Mark is the state of a row that a task wants to work on.
type Mark struct {
	Row   URL  // the row before, or the item itself if the row is not Known
	Known bool // the row existed before
	Done  bool // this batch has already finished the row
	Busy  bool // another batch holds the row; outcomes of this one would be dropped
}

// Fetched is the outcome of crawling one URL. If Set has no Status, the batch keeps the
// row in flight: a later outcome of the same batch follows, such as that of a chain. The
// repository computes the mean speed of the site from Size and CrawlingTime
// (docs/spec/DECISIONS.md 5.6).
type Fetched struct {
	URLMd5  string
	URL     string       // for the archive of Files; may be ""
	Set     schema.Patch // columns of the URL's row, except Crawled
	Crawled bool         // increment Crawled
	// First means that the page was never crawled before: its links increment the Freq of
	// their rows. This costs one update for each distinct known link.
	First    bool
	SiteBits errormask.Mask // errors to add to the site
	// HeldUntil is the earliest time of the next request to the host of a row that is
	// handed back. "": at once.
	HeldUntil schema.Date

	Links []Link     // for the page's own site, in order
	Rules *LinkRules // of Links; nil: DefaultLinkRules
	// Elsewhere are links for the site that URL_NEW chooses by Select: SelectAuto or
	// SelectQualify (docs/spec/crawling.md 5.13).
	Elsewhere []Link
	Select    int64

	// Attributes of the URL by name; an empty value deletes the attribute.
	Attributes map[string]string
	// FormFields are site properties HTTP_POST_FORM_* to add unless they exist
	// (docs/spec/crawling.md 5.2).
	FormFields  map[string]string
	Expressions []FieldExpression

	Same  bool      // the body equals the stored version; do not store another
	At    time.Time // the time in the names of Files
	Files []File
}

// Link is a URL that a crawled page names.
type Link struct {
	URL URL // the row to insert
	// Update are columns to set in a known row that is reset (RECRAWL_URL_UPDATE).
	Update schema.Patch
	// Chain makes the link a part of a chain: limits of the site do not apply, and a known
	// row gets TypeChain (docs/spec/crawling.md 5.11).
	Chain bool
	// Files are stored if the row is new, or is an entry of a feed with another RawContentMd5, which then
	// gets the columns of URL that describe its content (docs/spec/crawling.md 5.10).
	Files []File
	At    time.Time // the time in the names of Files
}

// Renews reports whether the content of a link takes the place of that of its row: both are entries of a
// feed, and no batch holds the row.
func (l *Link) Renews(row *URL) bool {
	return len(l.Files) > 0 && row.Type == TypeFetched && FreeStatus(row.Status) && row.RawContentMd5 != l.URL.RawContentMd5
}

// File is one raw content to store (docs/spec/DECISIONS.md 5.2).
type File struct {
	Type int // ContentRaw, ContentHeaders, ...
	Data []byte
}

// SiteFetched are outcomes of crawling of one site, which are stored together with those of other
// sites.
type SiteFetched struct {
	Site    string
	Results []Fetched
}

// Saved counts side effects of storing outcomes of crawling of one site.
type Saved struct {
	Skipped int      // new links that a full site did not accept
	Reset   int      // known links that will be crawled again
	Removed int      // rows that AUTO_REMOVE_* removed to make room
	Gone    []string // keys of outcomes whose rows were deleted in the meantime
	// Refused are the errors "property NAME ..." of invalid properties, each once. With one,
	// the site's mask gets ErrInitialization.
	Refused []error
}

// Verdict is the value of an expression over the row of one URL.
type Verdict struct {
	True bool  // the value is above 0
	Err  error // the expression is refused or cannot be evaluated
}

// ReadRaw reads the raw content of a URL that has a type, such as ContentRaw. It returns nil without
// one.
type ReadRaw = func(ctx context.Context, md5 string, kind int) ([]byte, error)

// Extracted is the outcome of processing one URL.
type Extracted struct {
	URLMd5    string
	Set       schema.Patch // columns of the URL's row, except Processed
	Processed bool         // increment Processed
	Content   []byte       // JSON for the key-value store; nil: store nothing

	Expressions []FieldExpression // columns to compute after the row is stored
	Items       []ExtractedItem   // further rows, of the items of the page
	Files       []File            // raw contents of Items: copies of those of the page
}

// Weight returns the bytes of the contents.
func (e *Extracted) Weight() int {
	n := len(e.Content)
	for _, item := range e.Items {
		n += len(item.Content)
	}
	return n
}

// ExtractedItem is a further row that a page gives, with its content (docs/spec/processing.md
// 1.7).
type ExtractedItem struct {
	Row     URL
	Content []byte // as in Extracted
}

// Entry is one stored processed content. Source: docs/spec/storage.md 3.
type Entry struct {
	ID    string    // key of the URL
	Data  []byte    // text
	CDate time.Time // when it was stored, UTC, whole seconds; zero in a write: now
	// Damage says that the bytes in the store are not those that were stored; Data is nil then. It begins
	// with DamagedProcessed. It is nil in a write.
	Damage error
}

// Bookmark is the position of a copy of table rows that are ordered by a key.
type Bookmark struct {
	Key  string // of the last copied row; "": no row is copied
	Rows int64  // number of copied rows with Key
	Done bool   // all rows are copied
}
