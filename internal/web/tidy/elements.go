package tidy

import "strings"

// names is a set of element names.
type names map[string]bool

func newNameSet(list string) names {
	n := make(names)
	for _, name := range strings.Fields(list) {
		n[name] = true
	}
	return n
}

// Sets of elements (HTML standard 13.1.2 and 13.2).
var (
	void         = newNameSet("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
	rawText      = newNameSet("script style title textarea xmp iframe noembed noframes")
	headElements = newNameSet("base basefont bgsound link meta title script style noscript template")
	visible      = newNameSet("a area audio canvas embed form frame iframe img input object svg math textarea video")
	tableParts   = newNameSet("table caption colgroup thead tbody tfoot tr td th")

	// Walls are the elements that an end tag does not close.
	inlineWalls = maskOf("html head body table caption td th object applet marquee template svg math foreignobject")
	tableWalls  = maskOf("html head body table object applet marquee template svg math foreignobject")
)

// mask is a set of elements of rules. A page of many tags below many open elements compares
// each with each, so this is one operation.
type mask uint64

// bits has the mask of each element of a rule; other elements have none.
var bits = make(map[string]mask)

// maskOf is for the initialization only: it adds elements to bits.
func maskOf(list string) (m mask) {
	for _, name := range strings.Fields(list) {
		if bits[name] == 0 {
			bits[name] = 1 << len(bits)
		}
		m |= bits[name]
	}
	return m
}

// rule lists the open elements that a start tag closes, up to the walls.
type rule struct{ ends, walls mask }

// implied maps the element that begins to its rule.
var implied = func() map[string]rule {
	rules := make(map[string]rule)
	add := func(begins, ends, walls string) {
		r := rule{ends: maskOf(ends)}
		r.walls = maskOf(walls) | inlineWalls&^r.ends
		for _, name := range strings.Fields(begins) {
			rules[name] = r
		}
	}
	add(`address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form
		h1 h2 h3 h4 h5 h6 header hgroup hr listing main menu nav ol p pre section summary ul xmp`, "p", "button")
	add("li", "li p", "ul ol menu dir div address article section")
	add("dt dd", "dt dd p", "dl div address article section")
	add("option", "option", "select datalist")
	add("optgroup", "option optgroup", "select datalist")
	add("rt rp", "rt rp", "ruby")
	add("a", "a", "")
	add("button", "button", "")
	add("table", "p", "button")
	inTable := func(begins, ends string) {
		rules[begins] = rule{maskOf(ends), tableWalls}
	}
	for _, part := range []string{"caption", "colgroup", "thead", "tbody", "tfoot"} {
		inTable(part, "caption colgroup thead tbody tfoot tr td th")
	}
	inTable("tr", "caption colgroup tr td th")
	inTable("td", "caption td th")
	inTable("th", "caption td th")
	return rules
}()
