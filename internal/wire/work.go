package wire

import "time"

// Mark is what the data owner says of one row that a task takes into work.
type Mark struct {
	Row   URL  // the row as it was before, or the item itself when there was none
	Known bool // the row was there before
	Done  bool // this very batch has finished it: leave it alone
	Busy  bool // another batch holds it: what this one brings would be dropped
}

// Fetched is the outcome of crawling one URL, handed to the data owner. A row
// whose Status is not set stays held, so that a later outcome of the same batch
// can follow: that of a chain's first page, which ends with its batch. The site's
// mean speed needs no field: it is counted from Size and CrawlingTime of the rows
// (docs/spec/DECISIONS.md 5.6).
type Fetched struct {
	URLMd5  string
	Set     Patch // columns of the URL's row
	Crawled bool  // Crawled + 1, whatever Set says
	// First says that the page was never crawled before: its links count in their
	// Freq. Each distinct known link then costs a change of its row.
	First    bool
	SiteBits ErrorMask
	// HeldUntil is when the host of a row that was handed back may be asked again;
	// "": nobody knows of a reason to wait.
	HeldUntil Date

	Links []Link     // for the page's own site, in their order
	Rules *LinkRules // of Links; nil: those of a site without such properties
	// Elsewhere are links for whatever site URL_NEW would choose by Select
	// (docs/spec/crawling.md 5.13): SelectAuto or SelectQualify.
	Elsewhere []Link
	Select    int64

	// Attributes of the URL by name; an empty value takes the attribute away.
	Attributes map[string]string
	// FormFields are site properties HTTP_POST_FORM_*, added unless they are there
	// (docs/spec/crawling.md 5.2).
	FormFields  map[string]string
	Expressions []FieldExpression

	Same  bool      // the body is the one stored last: no new version is needed
	At    time.Time // the moment in the names of Files
	Files []File
}

// Link is a URL that a crawled page names.
type Link struct {
	URL URL // the row to insert
	// Update are columns of a row that is there, set when it is reset to be crawled
	// again (RECRAWL_URL_UPDATE).
	Update Patch
	// Chain makes it a part of a chain: whatever the limits of the site, and also a
	// row that is there gets TypeChain (docs/spec/crawling.md 5.11).
	Chain bool
	// Files are stored when the row is new: the entry of a feed (docs/spec/crawling.md 5.10).
	Files []File
	At    time.Time // the moment in the names of Files
}

// File is one raw content to keep (docs/spec/DECISIONS.md 5.2).
type File struct {
	Type int // ContentRaw, ContentHeaders, ...
	Data []byte
}

// Saved tells what became of outcomes of crawling beside what was asked.
type Saved struct {
	Skipped int // new links that found no room in their site
	Reset   int // known links that are to be crawled again
	Removed int // rows that AUTO_REMOVE_* took to make room
	// Refused says which properties could not be followed, each once, as "property
	// NAME ..."; bit ErrInitialization is set in the site's mask then.
	Refused []error
}

// Condition is an expression over one URL's row, its macros replaced.
type Condition struct {
	URLMd5 string
	SQL    string
}

// Verdict is the answer to a Condition.
type Verdict struct {
	True bool  // more than 0
	Err  error // the expression is refused, or cannot be evaluated
}

// Extracted is the outcome of processing one URL, handed to the data owner.
type Extracted struct {
	URLMd5    string
	Set       Patch
	Processed bool   // Processed + 1, whatever Set says
	Content   []byte // JSON for the key-value store; nil stores nothing
}
