package links

const (
	// maxURL is the longest attribute value, in bytes, that is a URL: servers reject longer
	// ones.
	maxURL = 8 << 10

	// maxList is the same for a value with several URLs.
	maxList = 64 << 10

	// maxTitle bounds the title, in bytes.
	maxTitle = 2 << 10

	// maxLang bounds a language tag, in bytes.
	maxLang = 64
)

// Page is the result of one scan.
type Page struct {
	// Title is the text of the first title element that has text, with white space
	// collapsed, at most 2 KiB.
	Title string

	// Base is the href of the first base element that has one, as written, or "". It may be
	// relative to the URL of the page.
	Base string

	// Refresh is the URL of the first meta refresh that has one, as written, or "".
	Refresh string

	// RefreshDelay is the delay of Refresh in whole seconds, at most 999.
	RefreshDelay int

	// RefreshInert says that Refresh is in a noscript, noframes or template element, which a browser
	// with scripts does not follow. Any other refresh is preferred.
	RefreshInert bool

	// Robots are the meta elements that ask something of robots, at most 50: those named robots, and those
	// with another name and a directive such as noindex.
	Robots []RobotsRule

	// Canonical is the href of the first link element with rel=canonical.
	Canonical string

	// Lang is the lang (or xml:lang) of the root element as written.
	Lang string

	// Forms are the forms of an HTML page in document order, at most 100.
	Forms []Form

	// Links are in document order, each URL once.
	Links []Link

	// Dead are the links of Anchors that lead to no document, such as mailto:x, or are too long: as
	// written, cut at 8 KiB, each once.
	Dead []string

	// Cut says that there were more links than maxLinks.
	Cut bool
}

// RobotsRule is one meta element for robots, in lower case.
type RobotsRule struct {
	Agent   string // its name: robots, or a product token
	Content string // at most 8 KiB
}

// Link is one URL as written, with entities decoded and outer white space removed. It has 1
// byte to 8 KiB.
type Link struct {
	URL  string
	Tag  string // element in lower case, without XML prefix; "header" for a header
	Attr string // attribute or header in lower case; "" for the text of an XML element
	Rel  string // rel of the element in lower case, often ""
	Text string // of Named: text inside an a element, at most maxLinkText bytes
}

// Form is what a browser would send if the form was sent unchanged (docs/spec/crawling.md
// 5.2).
type Form struct {
	Action string  // as written; "" is the page itself
	Method string  // "get" or "post"
	Fields []Field // in document order, at most 200
}

// Field is one name and value of a form. Fields with a name above 255 bytes or a value
// above 4 KiB are left out.
type Field struct{ Name, Value string }
