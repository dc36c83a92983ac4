package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// script says how the words of a run of letters are found.
type script uint8

const (
	spaced  script = iota + 1 // words have blanks between them
	hangul                    // so do Korean words, which carry particles
	ideal                     // Chinese and Japanese: no blanks; each character counts
	cluster                   // Thai, Lao, Khmer, Burmese: no blanks; a character has marks
)

// part is a run of letters, digits and their marks, in one script.
type part struct {
	start, end int    // bytes of the scanned text
	text       string // NFKC, lower case, without invisible characters
	script     script
	joint      rune // the joiner, such as - or ', that alone is between it and the part before; 0: none
}

// scanParts calls yield for each part of a text, in order.
func scanParts(text string, yield func(part)) {
	last, joint := -1, rune(0) // the end of the part before, or -1
	for at := 0; at < len(text); {
		c, size := decodeRune(text[at:])
		s := scriptOfRune(c)
		if s == 0 {
			switch {
			case last >= 0 && joint == 0 && isJoiner(c):
				joint = c
			case !isInvisible(c):
				last, joint = -1, 0
			}
			at += size
			continue
		}
		start := at
		at = endOfRun(text, at+size, s)
		p := part{start, at, lowerWord(text[start:at]), s, joint}
		if p.text == "c" || p.text == "f" { // the languages of these names
			p.text, at = extendWithSigns(p.text, text, at)
			p.end = at
		}
		yield(p)
		last, joint = at, 0
	}
}

// extendWithSigns adds the signs that make another word of a letter: c++ c# f#.
func extendWithSigns(word, text string, at int) (string, int) {
	for _, signs := range []string{"++", "#"} {
		if strings.HasPrefix(text[at:], signs) {
			return word + signs, at + len(signs)
		}
	}
	return word, at
}

// endOfRun returns where the run of one script ends.
func endOfRun(text string, at int, s script) int {
	for at < len(text) {
		c, size := decodeRune(text[at:])
		if !unicode.IsMark(c) && !isInvisible(c) && scriptOfRune(c) != s {
			return at
		}
		at += size
	}
	return at
}

func decodeRune(text string) (rune, int) {
	if text[0] < utf8.RuneSelf {
		return rune(text[0]), 1
	}
	return utf8.DecodeRuneInString(text)
}

// scriptOfRune returns 0 for a rune that is no part of a word.
func scriptOfRune(c rune) script {
	switch {
	case c < utf8.RuneSelf:
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			return spaced
		}
		return 0
	case c == 0x2bc, !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c):
		return 0
	case c < 0xe00:
		return spaced
	case c < 0xf00, c >= 0x1000 && c < 0x10a0, c >= 0x1780 && c < 0x1800:
		return cluster
	case unicode.Is(unicode.Hangul, c):
		return hangul
	case c >= 0x2e80 && c < 0xa4d0, c >= 0xf900 && c < 0xfb00, c >= 0xff66 && c < 0xffa0, c >= 0x20000 && c < 0x40000:
		return ideal
	}
	return spaced
}

// isJoiner reports whether a rune between two parts makes one word of them, such as in e-mail, don't,
// pg_stat_activity, example.org.
func isJoiner(c rune) bool {
	switch c {
	case '-', '_', '.', '\u2010', '\u2011', '\u00b7':
		return true
	}
	return isApostrophe(c)
}

func isApostrophe(c rune) bool {
	switch c {
	case '\'', '\u2018', '\u2019', '\u02bc', '`', '\u00b4', '\uff07':
		return true
	}
	return false
}

// isInvisible reports whether a rune inside a word changes nothing for readers: soft hyphens, blanks of
// no width, joiners, marks of direction, variants of glyphs.
func isInvisible(c rune) bool {
	switch {
	case c < 0xad:
		return false
	case c == 0xad, c == 0x34f, c == 0x180e, c == 0xfeff:
		return true
	}
	return c >= 0x200b && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x2060 && c <= 0x2069 || c >= 0xfe00 && c <= 0xfe0f
}

// lowerWord returns the form in which words are compared exactly.
func lowerWord(word string) string {
	ascii, upper := true, false
	for i := 0; i < len(word) && ascii; i++ {
		ascii, upper = word[i] < utf8.RuneSelf, upper || word[i] >= 'A' && word[i] <= 'Z'
	}
	switch {
	case ascii && !upper:
		return word
	case ascii:
		return strings.ToLower(word)
	}
	word = strings.Map(func(c rune) rune {
		if isInvisible(c) {
			return -1
		}
		return c
	}, word)
	return strings.ReplaceAll(strings.ToLower(norm.NFKC.String(word)), "ς", "σ")
}

// letters are those that no mark makes of others.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ħ", "h", "ı", "i", "ŋ", "n",
	"ё", "е", "ى", "ي", "ة", "ه", "ٱ", "ا", "ـ", "")

// written are letters that people without them write as two.
var written = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "å", "aa", "ø", "oe", "æ", "ae", "œ", "oe")

// foldAccents returns an exact form without accents. Marks stay where they are letters: in й, in Japanese, in
// the scripts of India and of South-East Asia.
func foldAccents(word string) string {
	ascii := true
	for i := 0; i < len(word) && ascii; i++ {
		ascii = word[i] < utf8.RuneSelf
	}
	if ascii {
		return word
	}
	var b strings.Builder
	keep := false
	for _, c := range letters.Replace(word) {
		switch {
		case unicode.In(c, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
			keep = false
			for _, d := range norm.NFD.String(string(c)) {
				if !unicode.IsMark(d) {
					b.WriteRune(d)
				}
			}
		case unicode.IsMark(c) && !keep:
		default:
			b.WriteRune(c)
			keep = c >= utf8.RuneSelf && !unicode.Is(unicode.Cyrillic, c)
		}
	}
	return b.String()
}
