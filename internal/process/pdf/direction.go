package pdf

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// cellsFromRight returns the cells of a row with letters from right to left. Their place decides
// about their order: some programs draw them from the left, others from the right. fromRight says that
// most letters are from right to left; then the first cell is the right one.
func cellsFromRight(glyphs []glyph, base glyph, fromRight bool) []cell {
	sorted := attachMarks(glyphs)
	slices.SortStableFunc(sorted, func(a, b glyph) int { return cmp.Compare(a.x0+a.x1, b.x0+b.x1) })
	w := rowWriter{base: base, turns: true}
	for _, g := range sorted {
		g.text = toDrawingOrder(g.text)
		w.addGlyph(g)
	}
	cells := w.finishRow()
	for i, c := range cells {
		cells[i].text = toReadingOrder(c.text, fromRight)
	}
	if fromRight {
		slices.Reverse(cells)
	}
	return cells
}

// attachMarks adds each combining character to the letter above or below which it is drawn.
func attachMarks(glyphs []glyph) []glyph {
	out := make([]glyph, 0, len(glyphs))
	for _, g := range glyphs {
		mark := []rune(g.text)
		if n := len(out); n > 0 && len(mark) == 1 && unicode.Is(unicode.Mn, mark[0]) && out[n-1].x0 <= (g.x0+g.x1)/2 && (g.x0+g.x1)/2 <= out[n-1].x1 {
			out[n-1].text += g.text
			continue
		}
		out = append(out, g)
	}
	return out
}

// toDrawingOrder returns the text of one glyph, such as a ligature, in the order of drawing.
func toDrawingOrder(text string) string {
	if r := []rune(text); len(r) > 1 && hasRightToLeft(text) {
		slices.Reverse(r)
		return string(r)
	}
	return text
}

// toReadingOrder returns a text in its order of reading. text is in the order of drawing, from left to right.
// In a row from right to left, words of other scripts and numbers are read from left to right.
func toReadingOrder(text string, fromRight bool) string {
	r := []rune(text)
	if fromRight {
		slices.Reverse(r)
		turnBack(r)
		mirrorBrackets(r)
		return endSentence(string(r))
	}
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
		turnBack(r[i : end+1])
		mirrorBrackets(r[i : end+1])
		i = end
	}
	return string(r)
}

// endSentence moves the mark at the end of a sentence there from its start, where a paragraph of another
// direction has it.
func endSentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	if strings.ContainsRune(".!?:;,،؟", first) && !unicode.IsPunct(last) && !strings.HasPrefix(text[n:], string(first)) {
		return text[n:] + string(first)
	}
	return text
}

// turnBack reverses the parts of r that are read from left to right: words of other scripts with what is
// between them, and numbers.
func turnBack(r []rune) {
	for i := 0; i < len(r); i++ {
		if !fromLeft(r[i]) {
			continue
		}
		end, letters := i, false
		for k := i; k < len(r) && !rightToLeft(r[k]); k++ {
			letters = letters || unicode.IsLetter(r[k])
			if fromLeft(r[k]) && (letters || k <= end+1 || k == end+2 && joinsNumber(r[k-1])) {
				end = k
			}
		}
		for end+1 < len(r) && (r[end+1] == '%' || r[end+1] == '°') {
			end++
		}
		slices.Reverse(r[i : end+1])
		i = end
	}
}

// fromLeft reports whether r is a digit, or a letter that is read from left to right.
func fromLeft(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && !rightToLeft(r) || strings.ContainsRune(supStart+supEnd+subStart+subEnd, r)
}

// joinsNumber reports whether r may be between the digits of a number (Unicode Annex 9, ES and CS).
func joinsNumber(r rune) bool { return strings.ContainsRune(".,:/+-", r) }

// mirrorBrackets exchanges brackets if the first of them would be a closing one.
func mirrorBrackets(r []rune) {
	const pairs = "()[]{}<>«»"
	for _, c := range r {
		i := strings.IndexRune(pairs, c)
		if i < 0 {
			continue
		}
		if closing := strings.ContainsRune(")]}>»", c); !closing {
			return
		}
		break
	}
	all := []rune(pairs)
	for i, c := range r {
		if k := slices.Index(all, c); k >= 0 {
			r[i] = all[k^1]
		}
	}
}

func hasRightToLeft(text string) bool { return strings.IndexFunc(text, rightToLeft) >= 0 }

func hasRightToLeftGlyph(glyphs []glyph) bool {
	return slices.ContainsFunc(glyphs, func(g glyph) bool { return hasRightToLeft(g.text) })
}

// directionOf returns 1 for a letter that is read from left to right, -1 for one from right to left, 0
// for another text.
func directionOf(text string) int {
	for _, r := range text {
		switch {
		case rightToLeft(r):
			return -1
		case unicode.IsLetter(r):
			return 1
		}
	}
	return 0
}

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
