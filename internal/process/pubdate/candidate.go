package pubdate

import (
	"time"

	"hce/dc/internal/web/dates"
)

// Source is the place of a candidate on its page.
type Source uint8

// Sources of candidates.
const (
	JSONLD    Source = iota // a member of an object of JSON-LD
	Meta                    // a meta element
	Microdata               // an element with itemprop or RDFa property
	Time                    // a time element
	Element                 // an element whose class or id speaks of a date
	Visible                 // a line of text near the title
	URL                     // the address of the page
)

// Candidate is a text that may be a date of the page. Collectors decode references and escapes.
type Candidate struct {
	Source Source

	// Type has the types of the object in JSON-LD or microdata, separated by blanks, with or
	// without "https://schema.org/"; "" if unknown.
	Type string

	// Role is the member of JSON-LD in which the object is nested, such as "video", "comment" and
	// "mainEntity"; "" for an object at the top and in @graph. Of microdata it is the itemprop of
	// the element with the itemscope.
	Role string

	// Name says what the date is: the member of JSON-LD, the name, property or itemprop of a meta
	// element, the itemprop of microdata. Of Time and Element it is the class, the id and the name of
	// each attribute that says more, such as pubdate, of the element and of its parent, separated by
	// blanks. Letter case does not count.
	Name string

	// Text is the date as written. Only its first MaxText bytes are read.
	Text string

	// Before is the end of the visible text before a Time or Element: of its line, or of the short line
	// before it. It tells "Updated" from "Published". Its last 40 bytes count.
	Before string

	// Line is how many lines the place lies behind the line of the title, negative before it. It
	// counts for Time, Element and Visible.
	Line int

	// Inside says that the place is inside of the chosen lines of the article, or at most 6 lines
	// around them.
	Inside bool
}

// MaxText bounds the text of a candidate, in bytes. Lines of Visible above it are no candidates.
const MaxText = 160

// Page is what is known of the page of the candidates.
type Page struct {
	Now time.Time // of the fetch: nothing later is a date of the page. Zero: no limit

	// Language is the language tag of the page, or "". It says what 03/04/2015 means.
	Language string

	// List says that the page is a list of other pages: dates of its places are theirs.
	List bool
}

// Chosen are the dates of a page. A zero Value is a date that the page does not state.
type Chosen struct {
	Published dates.Value
	Modified  dates.Value

	// Text is the candidate of Published as written, for the tag pubdate; "" without one.
	Text   string
	Source Source // of Published
}
