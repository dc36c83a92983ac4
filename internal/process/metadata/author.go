package metadata

import (
	"strings"

	"hce/dc/internal/process/author"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// Bounds of the search for an author.
const (
	linesBefore = 4   // lines before the title in which a page says who wrote it, and when
	linesBehind = 12  // lines behind it
	maxCredit   = 100 // bytes of such a line
	manyBylines = 3   // a page with so many is of many authors, such as a forum
)

// linesNearTitle returns the lines around the title: from to to-1.
func linesNearTitle(o *outline.Outline) (from, to int32) {
	return max(0, o.Title-linesBefore), min(int32(len(o.Lines)), max(o.Title, 0)+linesBehind+1)
}

// Author returns the plausible names of the authors of a page, separated by "; ": those in JSON-LD, else in meta
// elements, else in elements near the title that are named so, else in a line near the title such as "By Ann Bell".
// Only the last two depend on the outline.
func (h *Head) Author(o *outline.Outline) string {
	var texts []string
	for _, a := range h.LDAuthors {
		if name := TextOfJSON(a.Name); !a.Organization || !h.site.matchesName(name) {
			texts = append(texts, name)
		}
	}
	if names := author.Names(texts); names != "" {
		return names
	}
	texts = texts[:0]
	for _, v := range h.Authors {
		texts = append(texts, string(v))
	}
	if names := author.Names(texts); names != "" {
		return names
	}
	lines, many := bylineTexts(o)
	if many {
		return ""
	}
	if names := author.Names(lines); names != "" {
		return names
	}
	if name := creditNear(o); name != "" {
		return name
	}
	return datelineName(o)
}

// datelineName returns the name in a line right behind the title: next to a date, or in an element named after the word that
// announces an author.
func datelineName(o *outline.Outline) string {
	const lines = 4
	if o.Title < 0 {
		return ""
	}
	for i := o.Title + 1; i <= o.Title+lines && int(i) < len(o.Lines); i++ {
		b := &o.Lines[i]
		if b.Size > maxCredit || b.Kind == outline.KindHeading || isApart(o, b) {
			continue
		}
		text := string(o.AppendText(nil, b))
		announced := isByline(o.Doc, &o.Doc.Nodes[o.Boxes[b.Box].Node])
		if !announced && !hasYear(text) {
			continue
		}
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",|·•–—/", r) }) {
			if name := author.FullName(part); name != "" {
				return name
			}
		}
	}
	return ""
}

// hasYear reports whether a text has a year of this or the last century.
func hasYear(text string) bool {
	for i := 0; i+4 <= len(text); i++ {
		if y := text[i : i+2]; (y == "19" || y == "20") && outline.IsDigit(text[i+2]) && outline.IsDigit(text[i+3]) &&
			(i == 0 || !outline.IsDigit(text[i-1])) && (i+4 == len(text) || !outline.IsDigit(text[i+4])) {
			return true
		}
	}
	return false
}

// isApart reports whether a line is outside the text of the page, and the title is not.
func isApart(o *outline.Outline, b *outline.Line) bool {
	return isOutside(o, b) && (o.Title < 0 || !isOutside(o, &o.Lines[o.Title]))
}

// creditNear returns the author in a line near the title that announces one, or in the line behind it.
func creditNear(o *outline.Outline) string {
	from, to := linesNearTitle(o)
	announced := false
	for i := from; i < to; i++ {
		b := &o.Lines[i]
		if b.Size < 2 || b.Size > maxCredit || i == o.Title || isApart(o, b) {
			announced = false
			continue
		}
		text := string(o.AppendText(nil, b))
		if announced {
			if name := author.Name(text); name != "" {
				return name
			}
		}
		if announced = author.IsCredit(text); announced {
			continue
		}
		if name := author.Credited(text); strings.Contains(name, " ") || name != "" && b.Chars < b.Size {
			return name
		}
	}
	return ""
}

// bylineTexts returns the lines near the title in elements that name an author. many says that elements all over the page do.
func bylineTexts(o *outline.Outline) (lines []string, many bool) {
	from, to := linesNearTitle(o)
	count, end := 0, int32(0)
	for _, i := range o.Names {
		n := &o.Doc.Nodes[i]
		if i < end || !isByline(o.Doc, n) || len(o.Lines) > 0 && n.End <= o.Lines[from].First {
			continue
		}
		end = n.End
		if line := firstLine(o, i); line != "" {
			if count++; count >= manyBylines {
				return nil, true
			}
			if to == 0 || i <= o.Lines[to-1].Last {
				lines = append(lines, line)
			}
		}
	}
	return lines, false
}

// firstLine returns the first line of text in an element, or "" if it is longer than maxCredit.
func firstLine(o *outline.Outline, i int32) string {
	var text []byte
	for k, end := i+1, o.Doc.Nodes[i].End; k < end && len(text) <= maxCredit; k++ {
		switch c := &o.Doc.Nodes[k]; {
		case c.Tag == htmltree.TagText:
			text, _ = outline.AppendWords(text, o.Doc.Text(c), len(text) > 0, 0)
		case c.Tag.IsSilent():
			k = c.End - 1
		case len(text) > 0 && !c.Tag.IsInline():
			end = k
		}
	}
	if len(text) > maxCredit {
		return ""
	}
	return string(text)
}

// bylineWords are words of classes and ids of elements that name an author.
var bylineWords = wordSet("author authors byline writer reporter autor auteur autore autora verfasser firma signature firmante yazar skribent fn by von")

// aboutAuthors follow "author" in the class of a text about an author.
var aboutAuthors = wordSet("bio box description about card info image avatar link links social")

// maxByline is the longest class or id that is read.
const maxByline = 200

// isByline reports whether an element names an author.
func isByline(d *htmltree.Doc, n *htmltree.Node) bool {
	for i := n.A; i < n.B; i++ {
		a := &d.Attrs[i]
		switch v := d.Value(a); a.Key {
		case htmltree.KeyRel, htmltree.KeyItemprop:
			if string(v) == "author" {
				return true
			}
		case htmltree.KeyClass, htmltree.KeyID:
			if len(v) <= maxByline && namesByline(string(v)) {
				return true
			}
		}
	}
	return false
}

// namesByline reports whether a class or id says that an element names an author.
func namesByline(value string) bool {
	for name := range strings.FieldsSeq(value) {
		parts := classWords(name)
		for i, word := range parts {
			if bylineWords[word] && (i == 0 || parts[i-1] != "about") && (i+1 == len(parts) || !aboutAuthors[parts[i+1]]) {
				return true
			}
		}
	}
	return false
}

// classWords returns the words of a class: of entryAuthor and entry-author two.
func classWords(name string) []string {
	var apart strings.Builder
	lower := false
	for _, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && lower || !isWordRune(r) {
			apart.WriteByte(' ')
		}
		lower = !upper
		if isWordRune(r) {
			apart.WriteRune(r)
		}
	}
	return strings.Fields(strings.ToLower(apart.String()))
}
