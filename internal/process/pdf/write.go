package pdf

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hce/dc/internal/process/markup"
)

// writeTo writes the paragraphs to a page.
func (p *paragraphs) writeTo(page *markup.Page) {
	words := p.findWords()
	body, headings := p.letterSizes()
	inList := false
	for _, b := range p.blocks {
		text, bullet := b.blockText(words)
		if bullet != inList {
			page.Raw(map[bool]string{true: "<ul>\n", false: "</ul>\n"}[bullet])
			inList = bullet
		}
		switch {
		case b.table != nil:
			writeTable(page, b.table, words)
		case text == "":
		case b.code:
			page.Raw("<pre>" + markup.Preformatted(text) + "</pre>\n")
		case bullet:
			writeBlock(page, "li", text)
		case isHeading(b, body, text):
			writeBlock(page, fmt.Sprintf("h%d", min(slices.Index(headings, roundSize(b.size))+1, 6)), text)
		default:
			writeBlock(page, "p", text)
		}
	}
	if inList {
		page.Raw("</ul>\n")
	}
}

func writeBlock(page *markup.Page, tag, text string) {
	page.Raw("<" + tag + ">" + levelMarks.Replace(markup.Text(text)) + "</" + tag + ">\n")
}

// writeTable writes a table. Its first row is its head.
func writeTable(page *markup.Page, rows [][]string, words words) {
	var b strings.Builder
	b.WriteString("<table>\n")
	for i, row := range rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		b.WriteString("<tr>")
		for _, text := range row {
			text = words.joinLines(strings.Split(text, "\n"))
			b.WriteString("<" + tag + ">" + levelMarks.Replace(markup.Text(text)) + "</" + tag + ">")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	page.Raw(b.String())
}

// bulletMark matches the mark of a list without numbers.
var bulletMark = regexp.MustCompile(`^\s*[•◦▪▫‣●○■□➢✓∙⁃]\s*`)

// blockText returns the text of a block, and whether it is an item of a list without numbers.
func (b *block) blockText(words words) (text string, bullet bool) {
	if b.code {
		return b.codeText(), false
	}
	text = words.joinLines(b.lines)
	if n := len(bulletMark.FindString(text)); n > 0 && n < len(text) {
		return text[n:], true
	}
	if leaders.MatchString(text) {
		text = leaders.ReplaceAllString(text, " $1")
	}
	return strings.Join(strings.Fields(text), " "), false
}

// codeText returns lines with their indentation.
func (b *block) codeText() string {
	var out strings.Builder
	for i, line := range b.lines {
		if b.width > 0 && line != "" {
			out.WriteString(strings.Repeat(" ", int(min((b.first[i]-b.left)/b.width+0.5, 200))))
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return strings.TrimRight(out.String(), "\n")
}

func isHeading(b *block, body float64, text string) bool {
	return b.size > 1.15*body && len(text) < maxHeading && strings.IndexFunc(text, unicode.IsLetter) >= 0
}

func roundSize(size float64) int { return int(math.Round(size * 2)) }

// letterSizes returns the size of most letters, and those of headings, the largest first.
func (p *paragraphs) letterSizes() (body float64, headings []int) {
	letters := map[int]int{}
	most := 0
	for _, b := range p.blocks {
		key := roundSize(b.size)
		for _, line := range b.lines {
			letters[key] += len(line)
		}
		for _, row := range b.table {
			letters[key] += len(strings.Join(row, ""))
		}
		if letters[key] > letters[most] {
			most = key
		}
	}
	body = float64(most) / 2
	for _, b := range p.blocks {
		if b.table == nil && !b.code && isHeading(b, body, strings.Join(b.lines, " ")) {
			headings = append(headings, roundSize(b.size))
		}
	}
	slices.Sort(headings)
	slices.Reverse(headings)
	return body, slices.Compact(headings)
}
