package datetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxText   = 512 // bytes of a text that are read
	maxTokens = 160
)

type kind uint8

const (
	number kind = iota
	word        // letters of one script class, in lower case and without accents
	symbol
)

type token struct {
	kind  kind
	text  string
	value int  // of a number of at most 9 digits; else -1
	upper bool // a word without lower-case letters
	east  bool // a word of Han, Kana or Hangul letters
	space bool // white space precedes the token
	used  bool // the token is part of what was found
}

// countDigits returns the number of digits of a number, and 0 for other tokens.
func (t token) countDigits() int {
	if t.kind != number {
		return 0
	}
	return len(t.text)
}

func (t token) isSymbol(text string) bool { return t.kind == symbol && t.text == text }

// foldText replaces full-width and other compatibility forms, and removes accents.
func foldText(text string) string {
	if isASCII(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.Is(unicode.Pd, r) || r == '−' || r == '〜' || r == '～':
			return '-'
		}
		return r
	}, norm.NFKD.String(text))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isEast(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// splitTokens returns the tokens of a text, at most maxTokens of its first maxText bytes.
func splitTokens(text string) []token {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	text = foldText(text)
	tokens := make([]token, 0, 24)
	space := false
	for text != "" && len(tokens) < maxTokens {
		r, size := utf8.DecodeRuneInString(text)
		if unicode.IsSpace(r) || r == utf8.RuneError {
			space, text = true, text[size:]
			continue
		}
		t := token{kind: symbol, text: text[:size], value: -1, space: space}
		switch {
		case r >= '0' && r <= '9':
			t.setNumber(text)
		case unicode.IsLetter(r):
			t.setWord(text, isEast(r))
			size = len(t.text)
			t.upper = strings.ToUpper(t.text) == t.text
			t.text = strings.ToLower(t.text)
		}
		if t.kind == number {
			size = len(t.text)
		}
		tokens, text, space = append(tokens, t), text[size:], false
	}
	return tokens
}

func (t *token) setNumber(text string) {
	t.kind = number
	t.text = text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	if len(t.text) <= 9 {
		t.value, _ = strconv.Atoi(t.text)
	}
}

func (t *token) setWord(text string, east bool) {
	t.kind, t.east = word, east
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) || isEast(r) != east })
	if end < 0 {
		end = len(text)
	}
	t.text = text[:end]
}
