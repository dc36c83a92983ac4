package links

import "time"

const (
	// maxURL is the longest attribute value, in bytes, taken for a URL. Longer
	// ones are left out: servers refuse them and nobody writes them by hand.
	maxURL = 8 << 10

	// maxList is the same for values that hold several URLs.
	maxList = 64 << 10

	// maxTitle bounds the title.
	maxTitle = 2 << 10

	// maxLang bounds a language tag; real ones are far shorter.
	maxLang = 64
)

// Page is what the tokens of one page say about links.
type Page struct {
	// Title is the text of the first title element, white space collapsed and
	// cut after 2 KiB.
	Title string

	// Base is the href of the first base element that has one, as written;
	// empty when there is none. It may be relative to the URL of the page.
	Base string

	// Refresh is the first meta refresh with a URL, nil when there is none.
	Refresh *Refresh

	// Robots is the content of the robots meta elements in lower case, joined
	// by commas.
	Robots string

	// Canonical is the href of the first link element with rel=canonical.
	Canonical string

	// Lang is the lang (or xml:lang) of the root element as written.
	Lang string

	// Forms are the forms of an HTML page in document order, at most 100.
	Forms []Form

	// Links are in document order, each URL text once.
	Links []Link

	// Cut reports that there were more links than asked for.
	Cut bool
}

// Link is one URL as the page writes it: entities decoded, outer white space
// removed, nothing else changed. It is never empty and never longer than 8 KiB.
type Link struct {
	URL  string
	Tag  string // element in lower case, such as "a"; for XML without a prefix; "header" for a Link header
	Attr string // attribute in lower case; empty for the text of an XML element
	Rel  string // rel of the element in lower case, often empty
}

// Refresh is the target of a meta refresh.
type Refresh struct {
	URL   string        // as written, not empty
	Delay time.Duration // whole seconds, at most one year
}

// Form is what a browser would send of a form that nobody filled in (docs/spec/crawling.md
// 5.2).
type Form struct {
	Action string  // as written; empty for the page itself
	Method string  // "get" or "post"
	Fields []Field // in document order, at most 200
}

// Field is one name and value of a form. A value of more than 4 KiB, or a name of
// more than 255 bytes, leaves the field out.
type Field struct{ Name, Value string }
