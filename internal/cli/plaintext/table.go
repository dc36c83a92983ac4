package plaintext

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table prints rows in columns. Numbers are set right if their column's name starts with a blank.
type Table struct {
	Head []string
	rows [][]string
}

// AddRow adds a row, with a cell for each column.
func (t *Table) AddRow(cells ...string) { t.rows = append(t.rows, cells) }

// LongestURL bounds the length of a URL in messages.
const LongestURL = 200

// longestCell bounds the width of all columns but the last one.
const longestCell = 60

// Print writes the table, as wide as its cells.
func (t *Table) Print(w io.Writer) {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(Clean(cell)))
		}
	}
	for _, row := range append([][]string{t.Head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			cell = Clean(cell)
			pad := strings.Repeat(" ", max(0, min(widths[i], longestCell)-utf8.RuneCountInString(cell)))
			switch {
			case strings.HasPrefix(t.Head[i], " "):
				line.WriteString(pad + cell)
			case i == len(row)-1:
				line.WriteString(cell)
			default:
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// Clean makes text of a site safe for a terminal: one line without control characters.
func Clean(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return -1
		}
		return c
	}, text))
}

// CleanLines makes text safe for a terminal, and keeps its line breaks and tabs.
func CleanLines(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsGraphic(c) {
			return c
		}
		return unicode.ReplacementChar
	}, text)
}

// Cut shortens text to most characters.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-1)]) + "…"
}

// Count formats a number with its noun.
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
