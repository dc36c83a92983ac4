package office

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/loosexml"
)

// odf reads content.xml of an OpenDocument file.
type odf struct {
	flow
	archive  *archive
	numbered map[string]bool // by style and level of a list: it is numbered
	styles   map[string]odfStyle
	style    string   // the style that is defined
	within   []string // styles of the open lists; inner ones inherit
	raise    []string // sup, sub or "" for each open span
}

// odfStyle is what a style says about its text.
type odfStyle struct {
	parent, raise string
	hidden        bool
}

func (a *archive) writeODF(page *markup.Page) {
	o := odf{flow: flow{page: page}, archive: a, numbered: map[string]bool{}, styles: map[string]odfStyle{}}
	r := loosexml.NewReader(a.readFile("styles.xml"))
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		if t.Kind == loosexml.Start {
			o.defineStyle(t)
		}
	}
	o.writeContent(a.readFile("content.xml"))
}

func (o *odf) writeContent(text []byte) {
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Text:
			o.writeRaised(o.raiseElement(), t.Text)
		case loosexml.End:
			o.closeElement(t.Local())
		case loosexml.Start:
			switch t.Local() {
			case "annotation", "tracked-changes", "note-citation", "forms", "desc", "title":
				skipElement(r, t)
			case "span":
				if o.styles[attrValue(t, "style-name")].hidden {
					skipElement(r, t)
				} else {
					o.raise = append(o.raise, cmp.Or(o.styleOf(attrValue(t, "style-name")).raise, o.raiseElement()))
				}
			case "object":
				o.writeHTML(o.formulaText(attrValue(t, "href")))
			default:
				o.defineStyle(t)
				o.startElement(t)
			}
		}
	}
	o.finishFlow()
}

// raiseElement returns the element of the innermost span.
func (o *odf) raiseElement() string {
	if n := len(o.raise); n > 0 {
		return o.raise[n-1]
	}
	return ""
}

// formulaText returns the text of an object that is a formula, or "".
func (o *odf) formulaText(object string) string {
	r := loosexml.NewReader(o.archive.readFile(path.Join(strings.TrimPrefix(object, "./"), "content.xml")))
	root, ok := r.Root(func(loosexml.Token) bool { return true })
	if !ok || root.Local() != "math" || o.currentParagraph() == nil {
		return ""
	}
	return readFormula(r, root)
}

// defineStyle reads the definition of a style.
func (o *odf) defineStyle(t loosexml.Token) {
	switch t.Local() {
	case "style":
		o.style = attrValue(t, "name")
		o.styles[o.style] = odfStyle{parent: attrValue(t, "parent-style-name")}
	case "text-properties":
		s := o.styles[o.style]
		s.raise, s.hidden = positionOf(attrValue(t, "text-position")), attrValue(t, "display") == "none"
		o.styles[o.style] = s
	case "list-style":
		o.style = attrValue(t, "name")
	case "list-level-style-number":
		o.numbered[o.style+" "+attrValue(t, "level")] = attrValue(t, "num-format") != ""
	}
}

// positionOf returns the element for a position such as "super 58%" or "-33% 58%".
func positionOf(position string) string {
	first, _, _ := strings.Cut(position, " ")
	switch n, _ := strconv.ParseFloat(strings.TrimSuffix(first, "%"), 64); {
	case first == "super", n > 0:
		return "sup"
	case first == "sub", n < 0:
		return "sub"
	}
	return ""
}

// styleOf returns a style with what it inherits.
func (o *odf) styleOf(name string) odfStyle {
	s := o.styles[name]
	for range 10 { // styles may extend each other in a circle
		from, found := o.styles[s.parent]
		if !found {
			break
		}
		s.raise, s.parent = cmp.Or(s.raise, from.raise), from.parent
	}
	return s
}

// isStyle reports whether a style, or one that it extends, has a name that match accepts.
func (o *odf) isStyle(name string, match func(string) bool) bool {
	for range 10 {
		if match(strings.ToLower(strings.ReplaceAll(name, "_20_", " "))) {
			return true
		}
		if name = o.styles[name].parent; name == "" {
			break
		}
	}
	return false
}

func (o *odf) startElement(t loosexml.Token) {
	switch t.Local() {
	case "p", "h":
		o.startParagraph(t)
	case "s":
		n := 1
		if p := o.currentParagraph(); p != nil && p.pre {
			n = repeatCount(attrValue(t, "c"))
		}
		o.writeWords(strings.Repeat(" ", n))
	case "tab":
		o.writeWords(" ")
	case "line-break":
		o.lineBreak()
	case "ruby-text":
		o.writeWords("(")
	case "a":
		o.beginLink(attrValue(t, "href"))
	case "list":
		style := attrValue(t, "style-name")
		if n := len(o.within); n > 0 {
			style = cmp.Or(style, o.within[n-1])
		}
		o.within = append(o.within, style)
	case "spreadsheet":
		o.sheet = true
	case "table":
		if name := attrValue(t, "name"); o.sheet && o.tables == 0 && !usualSheet.MatchString(name) {
			o.page.Block("h2", name)
		}
		o.beginTable()
	case "table-row":
		o.beginRow(attrValue(t, "number-rows-repeated"))
	case "table-cell":
		o.beginCell(spanAttribute("colspan", attrValue(t, "number-columns-spanned"))+spanAttribute("rowspan", attrValue(t, "number-rows-spanned")), attrValue(t, "number-columns-repeated"))
	}
}

// usualSheet matches names that programs give to sheets.
var usualSheet = regexp.MustCompile(`^\p{L}*[ _]?[0-9]+$`)

func (o *odf) startParagraph(t loosexml.Token) {
	p := o.beginParagraph()
	style := attrValue(t, "style-name")
	if t.Local() == "h" {
		p.heading, _ = strconv.Atoi(attrValue(t, "outline-level"))
		p.heading = max(p.heading, 1)
		return
	}
	p.pre = o.isStyle(style, codeStyle.MatchString)
	if n := len(o.within); n > 0 {
		p.item, p.ordered = n, o.numbered[o.within[n-1]+" "+strconv.Itoa(n)]
	} else if o.isStyle(style, func(name string) bool { return name == "title" }) {
		p.heading = 1
	}
}

func (o *odf) closeElement(name string) {
	switch name {
	case "p", "h":
		o.endParagraph()
	case "span":
		o.raise = o.raise[:max(len(o.raise)-1, 0)]
	case "ruby-text":
		o.writeWords(")")
	case "a":
		o.endLink()
	case "list":
		if len(o.within) > 0 {
			o.within = o.within[:len(o.within)-1]
		}
	case "table":
		o.endTable()
	case "table-row":
		o.endRow()
	case "table-cell":
		o.endCell()
	}
}
