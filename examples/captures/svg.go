package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/testkit/pseudoterminal"
)

// Sizes in pixels.
const (
	cellWidth, lineHeight = 8.4, 18
	margin, fontSize      = 12, 14
)

// colours of the numbers of pseudoterminal.Cell, readable on the dark background.
var colours = [...]string{"#d6d6d6", "#ff7b72", "#56d364", "#e3b341"}

// replacement is a text that is drawn instead of what a pattern matches.
type replacement struct {
	pattern *regexp.Regexp
	text    string
}

// replaceIn replaces in a line. The new text has the colour of the old one, and the rest of the line follows it.
func (r replacement) replaceIn(cells []pseudoterminal.Cell) (line []pseudoterminal.Cell) {
	old, from := cellText(cells), 0
	for _, at := range r.pattern.FindAllStringIndex(old, -1) {
		start, end := utf8.RuneCountInString(old[:at[0]]), utf8.RuneCountInString(old[:at[1]])
		line = append(line, cells[from:start]...)
		for _, letter := range r.text {
			cell := cells[start]
			cell.Rune = letter
			line = append(line, cell)
		}
		from = end
	}
	return append(line, cells[from:]...)
}

// drawSVG draws a screen.
func drawSVG(screen pseudoterminal.Screen, replacements []replacement) string {
	rows := screen.Cells
	for len(rows) > 0 && strings.TrimSpace(cellText(rows[len(rows)-1])) == "" {
		rows = rows[:len(rows)-1]
	}
	width, height := 2*margin+cellWidth*float64(len(screen.Cells[0])), 2*margin+lineHeight*len(rows)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d">`+"\n",
		width, height, width, height, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="#1b1f24"/>`+"\n")
	for i, cells := range rows {
		y := margin + lineHeight*i + fontSize
		for _, r := range replacements {
			cells = r.replaceIn(cells)
		}
		for _, s := range splitSpans(cells) {
			s.drawSpan(&b, y)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func cellText(cells []pseudoterminal.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(c.Rune)
	}
	return b.String()
}

// span is a part of a line in one colour.
type span struct {
	column int
	text   string
	colour int
	bold   bool
}

// splitSpans splits a line where its look changes, and at gaps of two blanks.
func splitSpans(cells []pseudoterminal.Cell) (list []span) {
	for i, c := range cells {
		last := len(list) - 1
		if last < 0 || list[last].colour != c.Colour || list[last].bold != c.Bold || strings.HasSuffix(list[last].text, "  ") && c.Rune != ' ' {
			list = append(list, span{column: i, colour: c.Colour, bold: c.Bold})
			last++
		}
		list[last].text += string(c.Rune)
	}
	return list
}

// drawSpan writes a span without its outer blanks. Its length is fixed, so that columns stay in line in every font.
func (s span) drawSpan(b *strings.Builder, y int) {
	shown := strings.TrimLeft(s.text, " ")
	s.column += len([]rune(s.text)) - len([]rune(shown))
	shown = strings.TrimRight(shown, " ")
	if shown == "" {
		return
	}
	weight := ""
	if s.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" fill="%s"%s textLength="%.1f" xml:space="preserve">%s</text>`+"\n",
		margin+cellWidth*float64(s.column), y, colours[s.colour], weight, cellWidth*float64(len([]rune(shown))), html.EscapeString(shown))
}
