package hce

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table prints rows in columns. Numbers are set right if their column's name starts with a blank.
type table struct {
	head []string
	rows [][]string
}

func (t *table) addRow(cells ...string) { t.rows = append(t.rows, cells) }

// longestURL bounds the length of a URL in messages.
const longestURL = 200

// longestCell bounds the width of all columns but the last one.
const longestCell = 60

func (t *table) printTable(w io.Writer) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cleanLine(cell)))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			cell = cleanLine(cell)
			pad := strings.Repeat(" ", max(0, min(widths[i], longestCell)-utf8.RuneCountInString(cell)))
			switch {
			case strings.HasPrefix(t.head[i], " "):
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

// cleanLine makes text of a site safe for a terminal: one line without control characters.
func cleanLine(text string) string {
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

// cutText shortens text to most characters.
func cutText(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-1)]) + "…"
}

// countNoun formats a number with its noun.
func countNoun(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
