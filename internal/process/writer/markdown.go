package writer

import (
	"bytes"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// mdWriter writes the chosen blocks as CommonMark with tables.
type Markdown struct {
	Outline *outline.Outline
	Dst     []byte
	Base    *Base
	Chosen  []bool

	chain, last []int32 // boxes around a block that Markdown knows, outermost first
	numbers     []listNumber
	prefix      []byte // of continuation lines
	prev        int    // the block before; -1: none

	// inline state
	open    []span
	pending bool // a blank before the next word
	lineAt  int  // where the line of text begins
	inLink  bool
	inTable bool
	emph    [6]bool
	ticks   bool // the code has backticks in it
}

type listNumber struct {
	list int32
	n    int
}

// span is an open inline element.
type span struct {
	end     int32
	kind    uint8
	written bool
	at      int // where its text begins
	href    []byte
}

const (
	spanEm = iota
	spanStrong
	spanCode
	spanLink
	spanSup
	spanSub
)

// known reports whether Markdown knows a box.
func mdTag(t htmltree.Tag) bool {
	switch t {
	case htmltree.TagBlockquote, htmltree.TagLi, htmltree.TagPre, htmltree.TagH1, htmltree.TagH2, htmltree.TagH3, htmltree.TagH4, htmltree.TagH5, htmltree.TagH6, htmltree.TagTable, htmltree.TagListing, htmltree.TagXmp:
		return true
	}
	return false
}

// blocks writes the chosen blocks.
func (w *Markdown) Write() {
	o := w.Outline
	w.prev = -1
	w.last = w.last[:0]
	w.numbers = w.numbers[:0]
	for i := 0; i < len(o.Lines); i++ {
		if !w.Chosen[i] {
			continue
		}
		b := &o.Lines[i]
		w.chain = w.chain[:0]
		table := int32(-1)
		for x := b.Box; x > 0; x = o.Boxes[x].Parent {
			switch t := o.Boxes[x].Tag; {
			case t == htmltree.TagTable:
				if (table < 0 || o.Boxes[table].Tag != htmltree.TagCaption) && w.dataTable(x) {
					table = x
				}
			case t == htmltree.TagCaption && table < 0:
				table = x // a line of its own, before the table
			case mdTag(t):
				w.chain = append(w.chain, x)
			}
		}
		if table >= 0 && o.Boxes[table].Tag == htmltree.TagCaption {
			table = -1
		}
		for l, r := 0, len(w.chain)-1; l < r; l, r = l+1, r-1 {
			w.chain[l], w.chain[r] = w.chain[r], w.chain[l]
		}
		if table >= 0 {
			end := int(o.Boxes[table].End)
			// the boxes inside of the table are no context
			for len(w.chain) > 0 && w.chain[len(w.chain)-1] > table {
				w.chain = w.chain[:len(w.chain)-1]
			}
			w.begin(i, b)
			w.table(table, i, end)
			w.prev = end - 1
			w.last = append(w.last[:0], w.chain...)
			i = end - 1
			continue
		}
		inner := htmltree.TagDiv
		if len(w.chain) > 0 {
			inner = o.Boxes[w.chain[len(w.chain)-1]].Tag
		}
		if inner.IsHeading() && len(w.last) > 0 && w.last[len(w.last)-1] == w.chain[len(w.chain)-1] && w.prev == i-1 && b.Kind == outline.KindHeading {
			w.Dst = append(w.Dst, ' ') // a heading of several lines
			w.line(b)
			w.prev = i
			continue
		}
		w.begin(i, b)
		switch {
		case b.Kind == outline.KindListing && (inner == htmltree.TagPre || inner == htmltree.TagListing || inner == htmltree.TagXmp):
			pre := w.chain[len(w.chain)-1]
			last := i
			for last+1 < len(o.Lines) && last+1 < int(o.Boxes[pre].End) && w.Chosen[last+1] {
				last++
			}
			w.listing(pre, i, last)
			i = last
		default:
			if b.Kind == outline.KindHeading && inner.IsHeading() {
				for range inner - htmltree.TagH1 + 1 {
					w.Dst = append(w.Dst, '#')
				}
				w.Dst = append(w.Dst, ' ')
			}
			w.line(b)
		}
		w.prev = i
		w.last = append(w.last[:0], w.chain...)
	}
}

// begin writes what stands between the block before and this one, and the marks of lists and quotes.
func (w *Markdown) begin(i int, b *outline.Line) {
	o := w.Outline
	// the part of the chain that both blocks share
	same := 0
	for same < len(w.chain) && same < len(w.last) && w.chain[same] == w.last[same] {
		same++
	}
	if w.prev >= 0 {
		p := &o.Lines[w.prev]
		switch {
		case p.Box == b.Box && same == len(w.chain) && same == len(w.last) && i == w.prev+1 && w.breaks(p, b) == 1 && b.Kind != outline.KindListing:
			w.Dst = append(w.Dst, "  \n"...)
			w.Dst = append(w.Dst, w.prefix...)
			return
		case len(w.last) > 0 && same < len(w.chain) && o.Boxes[w.chain[same]].Tag == htmltree.TagLi && (same < len(w.last) && o.Boxes[w.last[same]].Tag == htmltree.TagLi &&
			o.Boxes[w.last[same]].Parent == o.Boxes[w.chain[same]].Parent || same == len(w.last) && o.Boxes[w.last[same-1]].Tag == htmltree.TagLi):
			w.Dst = append(w.Dst, '\n') // the next item, or a list in an item
		default:
			w.Dst = append(w.Dst, '\n')
			w.setPrefix(same)
			w.Dst = append(w.Dst, bytes.TrimRight(w.prefix, " ")...)
			w.Dst = append(w.Dst, '\n')
		}
	}
	w.setPrefix(same)
	w.Dst = append(w.Dst, w.prefix...)
	for k := same; k < len(w.chain); k++ {
		x := w.chain[k]
		switch o.Boxes[x].Tag {
		case htmltree.TagBlockquote:
			w.Dst = append(w.Dst, "> "...)
			w.prefix = append(w.prefix, "> "...)
		case htmltree.TagLi:
			from := len(w.Dst)
			w.Dst = w.mark(w.Dst, x)
			for range len(w.Dst) - from {
				w.prefix = append(w.prefix, ' ')
			}
		}
	}
}

// setPrefix sets the prefix of a line inside of the first n boxes of the chain.
func (w *Markdown) setPrefix(n int) {
	w.prefix = w.prefix[:0]
	for _, x := range w.chain[:n] {
		switch w.Outline.Boxes[x].Tag {
		case htmltree.TagBlockquote:
			w.prefix = append(w.prefix, "> "...)
		case htmltree.TagLi:
			w.prefix = append(w.prefix, "  "...)
			if w.ordered(x) {
				w.prefix = append(w.prefix, ' ')
			}
		}
	}
}

func (w *Markdown) ordered(li int32) bool {
	p := w.Outline.Boxes[li].Parent
	return p >= 0 && w.Outline.Boxes[p].Tag == htmltree.TagOl
}

// mark writes the mark of an item.
func (w *Markdown) mark(dst []byte, li int32) []byte {
	if !w.ordered(li) {
		return append(dst, "- "...)
	}
	list := w.Outline.Boxes[li].Parent
	n := 0
	for k := len(w.numbers) - 1; k >= 0; k-- {
		if w.numbers[k].list == list {
			w.numbers[k].n++
			n = w.numbers[k].n
			break
		}
	}
	if n == 0 {
		n = 1
		for _, c := range w.Outline.Doc.Attr(&w.Outline.Doc.Nodes[w.Outline.Boxes[list].Node], htmltree.KeyStart) {
			if c < '0' || c > '9' || n > 1<<20 {
				break
			}
			if n == 1 {
				n = 0
			}
			n = n*10 + int(c-'0')
		}
		if len(w.numbers) > 64 {
			w.numbers = w.numbers[:0]
		}
		w.numbers = append(w.numbers, listNumber{list, n})
	}
	dst = appendInt(dst, n)
	return append(dst, ". "...)
}

func appendInt(dst []byte, n int) []byte {
	if n >= 10 {
		dst = appendInt(dst, n/10)
	}
	return append(dst, byte('0'+n%10))
}

// breaks counts the br elements between two blocks of a box.
func (w *Markdown) breaks(a, b *outline.Line) (n int) {
	for i := a.Last + 1; i < b.First; i++ {
		if w.Outline.Doc.Nodes[i].Tag == htmltree.TagBr {
			n++
		}
	}
	return n
}

// listing writes the blocks of a pre as a fenced block.
func (w *Markdown) listing(pre int32, from, to int) {
	o := w.Outline
	first, last := o.Lines[from].First, o.Lines[to].Last
	fence := "```"
	for i := first; i <= last; i++ {
		if n := &o.Doc.Nodes[i]; n.Tag == htmltree.TagText && bytes.Contains(o.Doc.Text(n), []byte("```")) {
			fence = "~~~~~~"
		}
	}
	w.Dst = append(w.Dst, fence...)
	w.Dst = append(w.Dst, w.language(pre)...)
	w.Dst = append(w.Dst, '\n')
	w.Dst = append(w.Dst, w.prefix...)
	begin := true
	newline := func() {
		w.Dst = append(w.Dst, '\n')
		w.Dst = append(w.Dst, w.prefix...)
	}
	next := from
	for i := first; i <= last; i++ {
		if next < to && i >= o.Lines[next+1].First { // another block of it: a line, unless one has ended
			next++
			if c := w.Dst[len(w.Dst)-1]; !(c == '\n' || len(w.prefix) > 0 && bytes.HasSuffix(w.Dst, w.prefix)) {
				newline()
			}
		}
		n := &o.Doc.Nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag > htmltree.TagOther && (n.Tag.IsSilent() || n.A < n.B && o.IsHidden(n)) {
				i = n.End - 1
			}
			if n.Tag == htmltree.TagBr && !begin {
				newline()
			}
			continue
		}
		s := o.Doc.Text(n)
		if begin {
			s = bytes.TrimLeft(s, "\r\n")
			begin = len(s) == 0
		}
		for {
			j := bytes.IndexByte(s, '\n')
			if j < 0 {
				w.Dst = append(w.Dst, s...)
				break
			}
			w.Dst = append(w.Dst, s[:j]...)
			newline()
			s = s[j+1:]
		}
	}
	w.Dst = bytes.TrimRight(w.Dst, " \r\n\t")
	if len(w.Dst) > 0 && w.Dst[len(w.Dst)-1] == '>' && len(w.prefix) > 0 {
		w.Dst = bytes.TrimRight(w.Dst, "> \n") // empty lines of a quote
	}
	newline()
	w.Dst = append(w.Dst, fence...)
}

// language returns the language of a listing, as classes around it and in it name it.
func (w *Markdown) language(pre int32) []byte {
	o := w.Outline
	d := o.Doc
	at := o.Boxes[pre].Node
	if l := languageOf(d.Attr(&d.Nodes[at], htmltree.KeyClass), true); l != nil {
		return l
	}
	if i := at + 1; i < d.Nodes[at].End {
		if i+1 < d.Nodes[at].End && d.Nodes[i].Tag == htmltree.TagText && d.Nodes[i].Flags&htmltree.FlagBlank != 0 {
			i++
		}
		if d.Nodes[i].Tag == htmltree.TagCode {
			if l := languageOf(d.Attr(&d.Nodes[i], htmltree.KeyClass), true); l != nil {
				return l
			}
		}
	}
	for k, p := 0, d.Nodes[at].Parent; k < 2 && p > 0; k, p = k+1, d.Nodes[p].Parent {
		if d.Nodes[p].Tag != htmltree.TagDiv && d.Nodes[p].Tag != htmltree.TagFigure {
			break
		}
		if l := languageOf(d.Attr(&d.Nodes[p], htmltree.KeyClass), false); l != nil {
			return l
		}
	}
	return nil
}

// languageOf finds the language in the names of a class, such as language-go, highlight-source-go, brush: go. near is for
// pre and code, where a word after sourceCode or programlisting names it, too.
func languageOf(class []byte, near bool) []byte {
	for len(class) > 0 {
		i := 0
		for i < len(class) && !htmltree.IsSpace(class[i]) {
			i++
		}
		name := class[:i]
		class = bytes.TrimLeft(class[i:], " \t\n\r\f")
		var l []byte
		switch {
		case htmltree.HasPrefix(name, "language-"):
			l = name[9:]
		case htmltree.HasPrefix(name, "lang-"):
			l = name[5:]
		case htmltree.HasPrefix(name, "highlight-source-"):
			l = name[17:]
		case htmltree.HasPrefix(name, "highlight-text-"):
			l = name[15:]
		case htmltree.HasPrefix(name, "highlight-"):
			l = name[10:]
		case string(name) == "brush:", near && (string(name) == "sourceCode" || string(name) == "programlisting" || string(name) == "src" || string(name) == "prettyprint"):
			j := 0
			for j < len(class) && !htmltree.IsSpace(class[j]) && class[j] != ';' {
				j++
			}
			l = class[:j]
		case near && htmltree.HasPrefix(name, "src-"):
			l = name[4:]
		}
		if len(l) == 0 || len(l) > 20 {
			continue
		}
		switch string(l) {
		case "default", "none", "text", "plain", "plaintext", "nohighlight", "notranslate", "literal":
			continue
		case "python3", "ipython3", "pycon", "pycon3":
			return []byte("python")
		}
		plain := true
		for _, c := range l {
			plain = plain && (isWord(c) || c == '+' || c == '#' || c == '-' || c == '_' || c == '.')
		}
		if plain {
			return l
		}
	}
	return nil
}

// line writes the texts of a block with its links and emphasis.
func (w *Markdown) line(b *outline.Line) {
	o := w.Outline
	nodes := o.Doc.Nodes
	w.open, w.pending, w.lineAt = w.open[:0], false, len(w.Dst)
	w.emph = [6]bool{}
	w.inLink = false
	// the inline elements around the first text
	var around [16]int32
	n := 0
	box := o.Boxes[b.Box].Node
	for p := nodes[b.First].Parent; p > box && n < len(around); p = nodes[p].Parent {
		around[n] = p
		n++
	}
	for n--; n >= 0; n-- {
		w.enter(around[n])
	}
	for i := b.First; i <= b.Last; i++ {
		for len(w.open) > 0 && i >= w.open[len(w.open)-1].end {
			w.leave()
		}
		x := &nodes[i]
		switch x.Tag {
		case htmltree.TagText:
			w.text(o.Doc.Text(x))
			continue
		case htmltree.TagEnd:
			if htmltree.Tag(x.A) == htmltree.TagA {
				for k := range w.open {
					if w.open[k].kind == spanLink {
						for len(w.open) > k {
							w.leave()
						}
						break
					}
				}
			}
			continue
		}
		if x.Tag == htmltree.TagMath {
			w.text(o.MathText(x))
		}
		if x.Tag.IsSilent() || x.A < x.B && o.IsHidden(x) {
			i = x.End - 1
			continue
		}
		if x.Tag == htmltree.TagBr {
			w.pending = true
		}
		w.enter(i)
	}
	for len(w.open) > 0 {
		w.leave()
	}
}

// enter opens an inline element.
func (w *Markdown) enter(i int32) {
	n := &w.Outline.Doc.Nodes[i]
	kind := uint8(0)
	switch n.Tag {
	case htmltree.TagEm, htmltree.TagI, htmltree.TagCite, htmltree.TagDfn, htmltree.TagVar:
		kind = spanEm
	case htmltree.TagStrong, htmltree.TagB:
		kind = spanStrong
	case htmltree.TagCode, htmltree.TagTt, htmltree.TagKbd, htmltree.TagSamp:
		kind = spanCode
	case htmltree.TagSup:
		kind = spanSup
	case htmltree.TagSub:
		kind = spanSub
	case htmltree.TagA:
		href := w.Outline.Doc.Attr(n, htmltree.KeyHref)
		if w.inLink || w.emph[spanCode] || len(href) == 0 || htmltree.HasPrefix(href, "javascript:") {
			return
		}
		w.inLink = true
		w.open = append(w.open, span{end: n.End, kind: spanLink, href: href})
		return
	default:
		return
	}
	if w.emph[kind] || w.emph[spanCode] {
		return
	}
	if kind == spanCode {
		w.ticks = false
		for k := i + 1; k < n.End; k++ {
			if c := &w.Outline.Doc.Nodes[k]; c.Tag == htmltree.TagText && bytes.IndexByte(w.Outline.Doc.Text(c), '`') >= 0 {
				w.ticks = true
			}
		}
	}
	if kind == spanSup || kind == spanSub {
		if n.End-i > 4 {
			return
		}
		for k := i + 1; k < n.End; k++ {
			if c := &w.Outline.Doc.Nodes[k]; c.Tag == htmltree.TagA || c.Tag == htmltree.TagText && c.B-c.A > 12 {
				return
			}
		}
	}
	w.emph[kind] = true
	w.open = append(w.open, span{end: n.End, kind: kind})
}

var marksOf = [...]string{"*", "**", "`", "[", "<sup>", "<sub>"}
var marksEnd = [...]string{"*", "**", "`", "]", "</sup>", "</sub>"}

// leave closes the innermost open element.
func (w *Markdown) leave() {
	s := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if s.kind == spanLink {
		w.inLink = false
		if s.written {
			w.Dst = append(w.Dst, "]("...)
			w.Dst = w.Base.appendLink(w.Dst, s.href)
			w.Dst = append(w.Dst, ')')
		}
		return
	}
	w.emph[s.kind] = false
	if s.written {
		if s.kind == spanCode && w.ticks {
			w.Dst = append(w.Dst, " `"...)
		}
		w.Dst = append(w.Dst, marksEnd[s.kind]...)
	}
}

// text writes a text with single blanks.
func (w *Markdown) text(s []byte) {
	for i := 0; i < len(s); {
		k := outline.ClassOf[s[i]]
		if k == outline.Blank {
			w.pending = true
			i++
			continue
		}
		if k == outline.Multibyte {
			if n := outline.BlankAt(s, i); n > 0 {
				w.pending = true
				i += n
				continue
			}
		}
		j := i + 1
		for j < len(s) {
			if k := outline.ClassOf[s[j]]; k == outline.Blank || k == outline.Multibyte && outline.BlankAt(s, j) > 0 {
				break
			}
			j++
		}
		w.word(s[i:j])
		i = j
	}
}

func (w *Markdown) word(s []byte) {
	if w.pending && len(w.Dst) > w.lineAt {
		w.Dst = append(w.Dst, ' ')
	}
	w.pending = false
	begin := len(w.Dst) == w.lineAt
	for k := range w.open {
		if o := &w.open[k]; !o.written {
			o.written = true
			w.Dst = append(w.Dst, marksOf[o.kind]...)
			if o.kind == spanCode && w.ticks {
				w.Dst = append(w.Dst, "` "...)
			}
			o.at = len(w.Dst)
			begin = false
		}
	}
	if w.emph[spanCode] {
		for _, c := range s {
			if c == '|' && w.inTable {
				w.Dst = append(w.Dst, '\\')
			}
			w.Dst = append(w.Dst, c)
		}
		return
	}
	if begin && len(s) > 0 {
		switch c := s[0]; {
		case c == '#' || c == '>' || (c == '-' || c == '+') && len(s) == 1 || c == '=' || c == '~' && htmltree.HasPrefix(s, "~~~"):
			w.Dst = append(w.Dst, '\\')
		case c == '-' && htmltree.HasPrefix(s, "---"):
			w.Dst = append(w.Dst, '\\')
		case c >= '0' && c <= '9':
			k := 0
			for k < len(s) && s[k] >= '0' && s[k] <= '9' {
				k++
			}
			if k < len(s) && k < 10 && (s[k] == '.' || s[k] == ')') && k+1 == len(s) {
				w.Dst = append(append(w.Dst, s[:k]...), '\\')
				s = s[k:]
			}
		}
	}
	from := 0
	for i, c := range s {
		if c >= 0x80 || !special[c] {
			continue
		}
		switch c {
		case '_':
			if i > 0 && i+1 < len(s) && isWord(s[i-1]) && isWord(s[i+1]) {
				continue
			}
		case '<':
			if i+1 >= len(s) || !(s[i+1] == '/' || s[i+1] == '!' || s[i+1]|0x20 >= 'a' && s[i+1]|0x20 <= 'z') {
				continue
			}
		case '|':
			if !w.inTable {
				continue
			}
		case '&':
			if i+1 >= len(s) || !(s[i+1] == '#' || s[i+1]|0x20 >= 'a' && s[i+1]|0x20 <= 'z') || bytes.IndexByte(s[i:], ';') < 0 {
				continue
			}
		}
		w.Dst = append(w.Dst, s[from:i]...)
		w.Dst = append(w.Dst, '\\')
		from = i
	}
	w.Dst = append(w.Dst, s[from:]...)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

var special [128]bool

func init() {
	for _, c := range "\\`*_[]<|&" {
		special[c] = true
	}
}

// dataTable reports whether a table has data: rows of short cells, not a layout.
func (w *Markdown) dataTable(x int32) bool {
	o := w.Outline
	t := &o.Boxes[x]
	rows, cells, heads := 0, 0, 0
	nodes := o.Doc.Nodes
	n := &nodes[t.Node]
	width, most := 0, 0
	for i := t.Node + 1; i < n.End; i++ {
		switch nodes[i].Tag {
		case htmltree.TagTable:
			return false
		case htmltree.TagTr:
			rows++
			width = 0
		case htmltree.TagTh:
			heads++
			cells++
			width++
			most = max(most, width)
		case htmltree.TagTd:
			cells++
			width++
			most = max(most, width)
		}
	}
	if rows < 2 || most < 2 || cells < 4 || rows*most > 20*cells+1000 {
		return false
	}
	// cells of several lines are a layout
	return int(t.End-t.Start) <= 3*cells || heads > 0 && int(t.End-t.Start) <= 12*cells
}

// table writes a table whose blocks are [from, to).
func (w *Markdown) table(x int32, from, to int) {
	o := w.Outline
	nodes := o.Doc.Nodes
	t := nodes[o.Boxes[x].Node]
	start := o.Boxes[x].Node
	columns := 0
	for i := start + 1; i < t.End; i++ {
		if nodes[i].Tag == htmltree.TagTr {
			k := 0
			for c := i + 1; c < nodes[i].End; c = nodes[c].End {
				if t := nodes[c].Tag; t == htmltree.TagTd || t == htmltree.TagTh {
					k += w.span(c)
				}
			}
			columns = max(columns, min(k, 64))
		}
	}
	w.inTable = true
	next := from
	row := 0
	for i := start + 1; i < t.End; i++ {
		if nodes[i].Tag != htmltree.TagTr {
			continue
		}
		end := nodes[i].End
		// a row without chosen blocks is left out
		any := false
		for k := next; k < to && o.Lines[k].First < end; k++ {
			any = any || w.Chosen[k]
		}
		if !any {
			for next < to && o.Lines[next].First < end {
				next++
			}
			continue
		}
		if row > 0 {
			w.Dst = append(w.Dst, '\n')
			w.Dst = append(w.Dst, w.prefix...)
		}
		w.Dst = append(w.Dst, '|')
		k := 0
		for c := i + 1; c < end; c = nodes[c].End {
			if t := nodes[c].Tag; t != htmltree.TagTd && t != htmltree.TagTh {
				continue
			}
			w.Dst = append(w.Dst, ' ')
			at := len(w.Dst)
			for next < to && o.Lines[next].First < nodes[c].End {
				if w.Chosen[next] && o.Lines[next].First > c {
					if len(w.Dst) > at {
						w.Dst = append(w.Dst, "<br>"...)
					}
					if o.Lines[next].Kind == outline.KindListing {
						w.cellListing(&o.Lines[next])
					} else {
						w.line(&o.Lines[next])
					}
				}
				next++
			}
			if len(w.Dst) > at {
				w.Dst = append(w.Dst, ' ')
			}
			w.Dst = append(w.Dst, '|')
			k++
			for s := w.span(c); s > 1 && k < columns; s-- {
				w.Dst = append(w.Dst, " |"...)
				k++
			}
		}
		for ; k < columns; k++ {
			w.Dst = append(w.Dst, " |"...)
		}
		if row == 0 {
			w.Dst = append(w.Dst, '\n')
			w.Dst = append(w.Dst, w.prefix...)
			w.Dst = append(w.Dst, '|')
			for range columns {
				w.Dst = append(w.Dst, "---|"...)
			}
		}
		row++
	}
	w.inTable = false
}

// cellListing writes a listing in a cell, line by line.
func (w *Markdown) cellListing(b *outline.Line) {
	text := w.Outline.AppendListing(nil, b)
	for k, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if k > 0 {
			w.Dst = append(w.Dst, "<br>"...)
		}
		mark := "`"
		if bytes.IndexByte(line, '`') >= 0 {
			mark = "`` "
		}
		w.Dst = append(w.Dst, mark...)
		for _, c := range line {
			if c == '|' {
				w.Dst = append(w.Dst, '\\')
			}
			w.Dst = append(w.Dst, c)
		}
		if len(mark) > 1 {
			w.Dst = append(w.Dst, ' ')
			mark = "``"
		}
		w.Dst = append(w.Dst, mark...)
	}
}

func (w *Markdown) span(c int32) int {
	v := w.Outline.Doc.Attr(&w.Outline.Doc.Nodes[c], htmltree.KeyColspan)
	n := 0
	for _, x := range v {
		if x < '0' || x > '9' || n > 64 {
			break
		}
		n = n*10 + int(x-'0')
	}
	return max(1, min(n, 64))
}
