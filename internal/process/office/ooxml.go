package office

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/process/symbolfont"
	"hce/dc/internal/web/loosexml"
)

// writeDOCX writes the text of a DOCX file, and its notes behind it. text is the part main.
func (a *archive) writeDOCX(main string, text []byte, page *markup.Page) {
	links := a.readRelations(main)
	d := docx{flow: flow{page: page}, links: links}
	var notes []string
	for _, rel := range links {
		switch rel.kind {
		case "styles":
			d.styles = readStyles(a.readFile(rel.target))
		case "numbering":
			d.numbers = readNumbers(a.readFile(rel.target))
		case "footnotes", "endnotes":
			notes = append(notes, rel.target)
		}
	}
	d.writeContent(text)
	slices.Sort(notes)
	for _, name := range notes {
		d.links = a.readRelations(name)
		d.writeContent(a.readFile(name))
	}
}

// writeSlides writes the slides of a PPTX file in the order of the presentation.
func (a *archive) writeSlides(main string, text []byte, page *markup.Page) {
	slides := a.readRelations(main)
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		if t.Kind != loosexml.Start || t.Local() != "sldid" {
			continue
		}
		for _, at := range t.Attrs {
			if rel := slides[at.Value]; rel.kind == "slide" {
				d := docx{flow: flow{page: page}, links: a.readRelations(rel.target)}
				d.writeContent(a.readFile(rel.target))
				delete(slides, at.Value)
			}
		}
	}
}

// docx reads the text of one part: WordprocessingML, or DrawingML in slides.
type docx struct {
	flow
	links   map[string]relation
	styles  map[string]style
	numbers map[string]bool // by key of a list: it is numbered

	text, run, hidden, title bool   // inside of w:t, a run, a hidden run, the title of a slide
	runLink                  bool   // the link ends with the run
	raise                    string // sup, sub or "" for the run
	level                    string // of the list of the paragraph
}

func (d *docx) writeContent(text []byte) {
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Text:
			if d.text && !d.hidden {
				d.writeRaised(d.raise, t.Text)
			}
		case loosexml.End:
			d.closeElement(t.Local())
		case loosexml.Start:
			if isOmitted(t) {
				skipElement(r, t)
			} else if t.Local() == "omath" {
				d.writeFormula(readFormula(r, t))
			} else {
				d.startElement(t)
			}
		}
	}
	d.finishFlow()
}

// writeFormula writes a formula, also one outside of paragraphs.
func (d *docx) writeFormula(html string) {
	if d.currentParagraph() != nil {
		d.writeHTML(html)
		return
	}
	d.beginParagraph()
	d.writeHTML(html)
	d.endParagraph()
}

// symbolOf returns the character of a w:sym element: char is a code of the font, in hexadecimal. It is empty
// for a code of a font with characters of its own that is not known.
func symbolOf(font, char string) string {
	code, err := strconv.ParseUint(char, 16, 21)
	if err != nil {
		return ""
	}
	if s := symbolfont.Text(font, rune(code)); s != "" || symbolfont.Private(rune(code)) {
		return s
	}
	return string(rune(code))
}

// isOmitted reports whether an element has no text of the document: deleted and moved text, earlier
// properties, the second form of a drawing, separators of notes.
func isOmitted(t loosexml.Token) bool {
	switch t.Local() {
	case "del", "movefrom", "pprchange", "rprchange", "fallback", "rt", "fld", "tabs":
		return true
	case "footnote", "endnote":
		return attrValue(t, "type") != "" && attrValue(t, "type") != "normal"
	}
	return false
}

func (d *docx) startElement(t loosexml.Token) {
	switch t.Local() {
	case "p":
		p := d.beginParagraph()
		d.level = "0"
		if d.title {
			p.heading = 2
		}
	case "r":
		d.run, d.hidden, d.raise = true, false, ""
	case "t":
		d.text = true
	case "br", "cr":
		d.lineBreak()
	case "tab", "ptab":
		d.writeWords(" ")
	case "nobreakhyphen":
		d.writeWords("-")
	case "sym":
		d.writeWords(symbolOf(attrValue(t, "font"), attrValue(t, "char")))
	case "vertalign":
		d.raise = raisedBy(attrValue(t, "val"))
	case "rstyle":
		d.raise = d.styles[attrValue(t, "val")].raise
	case "rpr": // of a slide
		if n, err := strconv.Atoi(attrValue(t, "baseline")); err == nil && n != 0 && d.run {
			d.raise = raisedBy(map[bool]string{true: "superscript", false: "subscript"}[n > 0])
		}
	case "gridspan":
		if d.tables == 1 {
			d.flow.spans = spanAttribute("colspan", attrValue(t, "val"))
		}
	case "vanish":
		d.hidden = d.run && attrValue(t, "val") != "0" && attrValue(t, "val") != "false"
	case "hyperlink", "hlinkclick":
		if rel := d.links[attrValue(t, "id")]; rel.kind == "hyperlink" {
			d.beginLink(rel.target)
			d.runLink = t.Local() == "hlinkclick"
		}
	case "ph":
		d.title = strings.EqualFold(attrValue(t, "type"), "title") || strings.EqualFold(attrValue(t, "type"), "ctrtitle")
	case "tbl":
		d.beginTable()
	case "tr":
		d.beginRow("")
	case "tc":
		d.beginCell("", "")
	default:
		d.readProperty(t)
	}
}

// readProperty reads a property of the current paragraph.
func (d *docx) readProperty(t loosexml.Token) {
	p := d.currentParagraph()
	if p == nil || d.run {
		return
	}
	switch t.Local() {
	case "ppr":
		d.level = cmp.Or(attrValue(t, "lvl"), d.level)
	case "pstyle":
		s := d.styles[attrValue(t, "val")]
		p.heading, p.pre = s.heading, s.pre
		if p.item == 0 {
			d.setList(p, s.list, s.level)
		}
	case "outlinelvl":
		p.heading = headingLevel(attrValue(t, "val"))
	case "ilvl":
		d.level = attrValue(t, "val")
	case "numid":
		d.setList(p, attrValue(t, "val"), d.level)
	case "buchar", "buautonum":
		d.setList(p, t.Local(), d.level)
	}
}

// codeStyle matches the names of styles for code, in lower case.
var codeStyle = regexp.MustCompile(`^(?:source ?code|(?:html )?preformatted(?: text)?|code(?: block)?|(?:code )?listing|verbatim)$`)

// raisedBy returns the element for a value of vertAlign.
func raisedBy(value string) string {
	switch value {
	case "superscript":
		return "sup"
	case "subscript":
		return "sub"
	}
	return ""
}

// setList makes p an item of a list. The list "0" means none.
func (d *docx) setList(p *paragraph, list, level string) {
	if p.item = 0; list == "" || list == "0" {
		return
	}
	n, _ := strconv.Atoi(level)
	p.item, p.ordered = max(n, 0)+1, list == "buautonum" || d.numbers[list+" "+cmp.Or(level, "0")]
}

func (d *docx) closeElement(name string) {
	switch name {
	case "p":
		d.endParagraph()
	case "r":
		if d.runLink {
			d.endLink()
		}
		d.run, d.hidden, d.runLink, d.raise = false, false, false, ""
	case "t":
		d.text = false
	case "hyperlink":
		d.endLink()
	case "sp":
		d.title = false
	case "tbl":
		d.endTable()
	case "tr":
		d.endRow()
	case "tc":
		d.endCell()
	}
}

// headingLevel returns the level of a heading for an outline level: "0" is level 1, "9" is text.
func headingLevel(outline string) int {
	if n, err := strconv.Atoi(outline); err == nil && n >= 0 && n < 9 {
		return n + 1
	}
	return 0
}

// style is what a paragraph style says about its paragraphs.
type style struct {
	heading     int
	pre         bool   // code
	raise       string // sup, sub or ""
	list, level string
	base        string // the style that it extends
}

// readStyles reads styles.xml: paragraph styles by their keys.
func readStyles(text []byte) map[string]style {
	styles := map[string]style{}
	var id string
	var s style
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch {
		case t.Kind == loosexml.End && t.Local() == "style":
			styles[id] = s
		case t.Kind != loosexml.Start:
		case t.Local() == "style":
			id, s = attrValue(t, "styleid"), style{level: "0"}
		default:
			s.readProperty(t)
		}
	}
	for id, s := range styles {
		styles[id] = s.withInherited(styles)
	}
	return styles
}

func (s *style) readProperty(t loosexml.Token) {
	value := attrValue(t, "val")
	switch t.Local() {
	case "name":
		name := strings.ToLower(value)
		if level, found := strings.CutPrefix(name, "heading "); found {
			s.heading, _ = strconv.Atoi(level)
		} else if name == "title" {
			s.heading = 1
		}
		s.pre = codeStyle.MatchString(name)
	case "vertalign":
		s.raise = raisedBy(value)
	case "outlinelvl":
		s.heading = headingLevel(value)
	case "numid":
		s.list = value
	case "ilvl":
		s.level = value
	case "basedon":
		s.base = value
	}
}

// withInherited returns s with what it inherits.
func (s style) withInherited(styles map[string]style) style {
	base := s.base
	for range 10 { // styles may extend each other in a circle
		from, found := styles[base]
		if !found {
			break
		}
		s.heading, s.raise = cmp.Or(s.heading, from.heading), cmp.Or(s.raise, from.raise)
		s.pre = s.pre || from.pre
		if s.list == "" {
			s.list, s.level = from.list, from.level
		}
		base = from.base
	}
	return s
}

// readNumbers reads numbering.xml. The keys are a list and a level, such as "3 0"; the value
// says that the level is numbered.
func readNumbers(text []byte) map[string]bool {
	var definition, level, list string
	formats, lists := map[string]string{}, map[string]string{}
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		if t.Kind != loosexml.Start {
			continue
		}
		switch t.Local() {
		case "abstractnum":
			definition, list = attrValue(t, "abstractnumid"), ""
		case "lvl":
			level = attrValue(t, "ilvl")
		case "numfmt":
			if list == "" {
				formats[definition+" "+level] = attrValue(t, "val")
			}
		case "num":
			list = attrValue(t, "numid")
		case "abstractnumid":
			lists[list] = attrValue(t, "val")
		}
	}
	numbers := map[string]bool{}
	for list, definition := range lists {
		for level := range maxLevel {
			key := " " + strconv.Itoa(level)
			format := formats[definition+key]
			numbers[list+key] = format != "" && format != "bullet" && format != "none"
		}
	}
	return numbers
}
