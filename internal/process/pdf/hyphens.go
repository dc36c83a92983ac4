package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// words are words of a document: those that would come out of a cut word, with or without its hyphen.
type words map[string]bool

// findWords returns the words at cut lines that are also elsewhere in the document.
func (p *paragraphs) findWords() words {
	found := words{}
	for _, b := range p.blocks {
		for i := 1; i < len(b.lines) && !b.code; i++ {
			if before, after, ok := cutWord(b.lines[i-1], b.lines[i]); ok {
				found[strings.ToLower(before+after)] = false
				found[strings.ToLower(before+"-"+after)] = false
			}
		}
	}
	if len(found) == 0 {
		return found
	}
	for _, b := range p.blocks {
		for _, line := range b.lines {
			for word := range strings.FieldsSeq(line) {
				word = strings.ToLower(strings.TrimFunc(word, isNoLetter))
				if _, ok := found[word]; ok {
					found[word] = true
				}
			}
		}
	}
	return found
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

// cutWord returns the parts of the word at the end of a line with a hyphen.
func cutWord(line, next string) (before, after string, ok bool) {
	line = strings.TrimRight(line, " ")
	r, n := utf8.DecodeLastRuneInString(line)
	if r != '-' && r != '\u00AD' && r != '\u2010' {
		return "", "", false
	}
	line = line[:len(line)-n]
	before = line[strings.LastIndexByte(line, ' ')+1:]
	after, _, _ = strings.Cut(strings.TrimLeft(next, " "), " ")
	after = strings.TrimRightFunc(after, func(r rune) bool { return !isWordRune(r) })
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return before, after, isWordRune(last) && isWordRune(first)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// joinLines joins the lines of a paragraph. A hyphen at the end of a line goes where it cuts a word. It stays in
// ranges of numbers, in compounds with capitals, and in addresses.
func (w words) joinLines(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		line = strings.Trim(line, " ")
		if i+1 == len(lines) {
			b.WriteString(line)
			break
		}
		next := strings.TrimLeft(lines[i+1], " ")
		switch before, after, ok := cutWord(line, next); {
		case ok && w.isCut(before, after, strings.HasSuffix(line, "\u00AD")):
			_, n := utf8.DecodeLastRuneInString(line)
			b.WriteString(line[:len(line)-n])
		case ok && !isConjunction(after), endsInRange(line, next):
			b.WriteString(line)
		default:
			b.WriteString(line + " ")
		}
	}
	return b.String()
}

// isCut reports whether a hyphen was put where a line ends. Other places of the document tell, or else the
// letters: a word in lower case without another mark in it was cut.
func (w words) isCut(before, after string, soft bool) bool {
	switch {
	case soft || w[strings.ToLower(before+after)]:
		return true
	case w[strings.ToLower(before+"-"+after)], isConjunction(after):
		return false
	}
	word := strings.TrimLeftFunc(before, isNoLetter)
	last, _ := utf8.DecodeLastRuneInString(word)
	first, _ := utf8.DecodeRuneInString(after)
	return unicode.IsLower(last) && unicode.IsLower(first) && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' })
}

// isConjunction reports whether a word follows the first part of "pre- and post-war".
func isConjunction(word string) bool {
	switch word {
	case "and", "or", "und", "oder", "bzw":
		return true
	}
	return false
}

// endsInRange reports whether a line ends within a range of numbers such as 2020–2024.
func endsInRange(line, next string) bool {
	rest, ok := strings.CutSuffix(line, "–")
	before, _ := utf8.DecodeLastRuneInString(rest)
	after, _ := utf8.DecodeRuneInString(next)
	return ok && unicode.IsDigit(before) && unicode.IsDigit(after)
}
