package pdf

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// turned returns a text with its letters from right to left in the opposite order: from the
// order in which a line draws them, from left to right, to that of reading, and back.
func turned(text string) string {
	r := []rune(text)
	for i := 0; i < len(r); i++ {
		if !rightToLeft(r[i]) {
			continue
		}
		end := i // the last such letter before one of another script
		for k := i; k < len(r) && (rightToLeft(r[k]) || !unicode.IsLetter(r[k])); k++ {
			if rightToLeft(r[k]) {
				end = k
			}
		}
		slices.Reverse(r[i : end+1])
		turnNumbers(r[i : end+1])
		i = end
	}
	return string(r)
}

// turnNumbers reverses the numbers in r: they are written from left to right.
func turnNumbers(r []rune) {
	for i := 0; i < len(r); i++ {
		end := i
		for end < len(r) && unicode.IsDigit(r[end]) {
			end++
		}
		slices.Reverse(r[i:end])
		i = max(i, end)
	}
}

// drawn returns the text of a glyph in the order of drawing. A ligature has several letters.
func drawn(text string) string {
	if len(text) > 2 && hasRightToLeft(text) {
		return turned(text)
	}
	return text
}

func hasRightToLeft(text string) bool { return strings.IndexFunc(text, rightToLeft) >= 0 }

// rightToLeft reports whether r is a letter of Hebrew, Arabic, Syriac or Thaana.
func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08FF && !unicode.IsDigit(r) || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC
}

// textOf returns the text of a text string in a content stream.
func textOf(s string) string {
	text, err := types.HexLiteralToString(types.NewHexLiteral([]byte(s)))
	if err != nil {
		return ""
	}
	return text
}
