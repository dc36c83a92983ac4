package langmodel

import "unicode/utf8"

const longestWord = 24 // letters of a word that are examined

// Words reads the words of a text. Its zero value with a text is ready for use:
//
//	w := Words{Text: text}
//	for w.Next() { … w.Letters(), w.Script … }
//
// A run of characters that looks like code or an address has no words: "libc6",
// "http://a.example", "--force", "file.txt", "user_name". Not for concurrent use.
type Words struct {
	Text   string
	Script Script // of the word

	at, end int // end: of the run of Latin letters and signs that was examined
	n       int
	word    [longestWord]rune
}

// Letters returns the word in lower case. It is valid until Next is called again.
func (w *Words) Letters() []rune { return w.word[:w.n] }

// Next reads the next word and reports whether there is one.
func (w *Words) Next() bool {
	w.n = 0
	for w.at < len(w.Text) {
		if w.at >= w.end && w.skipCode() {
			if w.n > 0 {
				return true
			}
			continue
		}
		c, size := w.decodeRune(w.at)
		s := scriptOf(c)
		switch {
		case w.n == 0 && s == None, w.n == 0 && c >= 0x300 && c <= 0x36F:
			w.at += size
			continue
		case w.n == 0:
			w.Script = s
		case c == 0xAD || c == 0x200C || c == 0x200D || c == 0x640: // invisible or decoration
			w.at += size
			continue
		case isApostrophe(c) && w.letterFollows(w.at+size):
			c, s = '\'', w.Script
		}
		if s != w.Script {
			return true
		}
		if w.n == longestWord {
			if s == Han {
				return true
			}
			w.at += size
			continue
		}
		w.word[w.n] = lowerRune(c)
		w.n++
		w.at += size
	}
	return w.n > 0
}

func (w *Words) decodeRune(at int) (rune, int) {
	if c := w.Text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(w.Text[at:])
}

func (w *Words) letterFollows(at int) bool {
	if at >= len(w.Text) {
		return false
	}
	c, _ := w.decodeRune(at)
	return scriptOf(c) == w.Script && (w.Script == Latin || w.Script == Cyrillic)
}

func isApostrophe(c rune) bool {
	return c == '\'' || c == 0x2019 || c == 0x2018 || c == 0x2BB || c == 0x2BC
}

// skipCode skips the run of Latin letters and signs at w.at if it looks like code.
func (w *Words) skipCode() bool {
	start, at := w.at, w.at
	for at < len(w.Text) {
		c, size := w.decodeRune(at)
		if c <= ' ' || c >= 0x250 && scriptOf(c) != Latin && !isApostrophe(c) {
			break
		}
		at += size
	}
	w.end = max(at, start+1)
	if at > start && looksLikeCode(w.Text[start:at]) {
		w.at = at
		return true
	}
	return false
}

// Kinds of ASCII characters in a run.
const (
	trimmed = 1 << iota // says nothing at the ends of a run
	always              // makes a run code
	inside              // makes a run code between other characters
	digit
	letter
)

var kinds = func() (k [128]uint8) {
	for c := range k {
		switch {
		case c >= '0' && c <= '9':
			k[c] = digit
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			k[c] = letter
		}
	}
	for _, c := range "()[]\"'`.,:;!?*_" {
		k[c] |= trimmed
	}
	for _, c := range "\\@=<>{}$~|^+%#/_" {
		k[c] |= always
	}
	for _, c := range ".:([" {
		k[c] |= inside
	}
	return k
}()

func looksLikeCode(run string) bool {
	from, to := 0, len(run)
	for from < to && run[from] < 128 && kinds[run[from]]&trimmed != 0 {
		from++
	}
	for to > from && run[to-1] < 128 && kinds[run[to-1]]&trimmed != 0 {
		to--
	}
	if to-from > 1 && run[from] == '-' {
		return true
	}
	seen := uint8(0)
	for i := from; i < to; i++ {
		c := run[i]
		if c >= 128 {
			seen |= letter
			continue
		}
		if kinds[c]&always != 0 || kinds[c]&inside != 0 && run[i+1] < 128 && kinds[run[i+1]]&(letter|digit) != 0 && (c != '.' || !isUpper(run[i+1])) {
			return true
		}
		seen |= kinds[c]
	}
	return seen&letter != 0 && seen&digit != 0
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
