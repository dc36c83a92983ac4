package pdf

import (
	"bytes"
	"math"
	"strconv"
)

// kind is the kind of a token.
type kind int

const (
	ended kind = iota
	number
	text // a string
	name
	operator
	opened // [ or <<
	closed // ] or >>
)

// token is one token of a content stream (ISO 32000-1 7.2, 7.3).
type token struct {
	kind  kind
	value float64 // of a number
	text  string  // of the others; "[" for both brackets
}

// lexer reads the tokens of a content stream or of a map of characters. It never fails: it skips
// what it does not know.
type lexer struct {
	text []byte
	at   int
}

const (
	spaces     = "\x00\t\n\f\r "
	delimiters = "()<>[]{}/%"
)

func isSpace(c byte) bool     { return c <= ' ' && bytes.IndexByte([]byte(spaces), c) >= 0 }
func isDelimiter(c byte) bool { return bytes.IndexByte([]byte(delimiters), c) >= 0 }

// nextToken returns the next token.
func (l *lexer) nextToken() token {
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case isSpace(c):
			l.at++
		case c == '%':
			l.skipComment()
		case c == '(':
			return token{kind: text, text: l.readLiteral()}
		case c == '/':
			l.at++
			return token{kind: name, text: nameOf(l.readWord())}
		case c == '<':
			if l.at++; l.at < len(l.text) && l.text[l.at] == '<' {
				l.at++
				return token{kind: opened, text: "<"}
			}
			return token{kind: text, text: l.readHex()}
		case c == '>', c == ']', c == '}':
			l.at++
			if c == '>' && l.at < len(l.text) && l.text[l.at] == '>' {
				l.at++
			}
			return token{kind: closed}
		case c == '[', c == '{':
			l.at++
			return token{kind: opened, text: "["}
		case c == ')':
			l.at++
		default:
			return plainToken(l.readWord())
		}
	}
	return token{}
}

func (l *lexer) skipComment() {
	if n := bytes.IndexAny(l.text[l.at:], "\r\n"); n >= 0 {
		l.at += n
	} else {
		l.at = len(l.text)
	}
}

// readWord reads up to a space or a delimiter.
func (l *lexer) readWord() string {
	start := l.at
	for l.at < len(l.text) && !isSpace(l.text[l.at]) && !isDelimiter(l.text[l.at]) {
		l.at++
	}
	return string(l.text[start:l.at])
}

// plainToken returns a number or an operator.
func plainToken(word string) token {
	if c := word[0]; c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9' {
		if v, err := strconv.ParseFloat(word, 64); err == nil && math.Abs(v) < 1e12 {
			return token{kind: number, value: v}
		}
		return token{kind: number}
	}
	return token{kind: operator, text: word}
}

// nameOf decodes the escapes of a name: "A#42" is "AB".
func nameOf(word string) string {
	if bytes.IndexByte([]byte(word), '#') < 0 {
		return word
	}
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if v, err := strconv.ParseUint(word[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, word[i])
	}
	return string(out)
}

// readLiteral reads a string in parentheses (ISO 32000-1 7.3.4.2).
func (l *lexer) readLiteral() string {
	var out []byte
	depth := 0
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; c {
		case '(':
			if depth++; depth > 1 {
				out = append(out, c)
			}
		case ')':
			if depth--; depth == 0 {
				l.at++
				return string(out)
			}
			out = append(out, c)
		case '\\':
			out = l.readEscape(out)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// readEscape reads the character behind a backslash, and leaves l on its last byte.
func (l *lexer) readEscape(out []byte) []byte {
	if l.at++; l.at >= len(l.text) {
		return out
	}
	switch c := l.text[l.at]; {
	case c == 'n':
		return append(out, '\n')
	case c == 'r':
		return append(out, '\r')
	case c == 't':
		return append(out, '\t')
	case c == 'b':
		return append(out, '\b')
	case c == 'f':
		return append(out, '\f')
	case c == '\n':
		return out
	case c == '\r':
		if l.at+1 < len(l.text) && l.text[l.at+1] == '\n' {
			l.at++
		}
		return out
	case '0' <= c && c <= '7':
		v := int(c - '0')
		for n := 0; n < 2 && l.at+1 < len(l.text) && '0' <= l.text[l.at+1] && l.text[l.at+1] <= '7'; n++ {
			l.at++
			v = v*8 + int(l.text[l.at]-'0')
		}
		return append(out, byte(v))
	default:
		return append(out, c)
	}
}

// readHex reads a string of hexadecimal digits up to ">".
func (l *lexer) readHex() string {
	var out []byte
	half, some := byte(0), false
	for ; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		if c == '>' {
			l.at++
			break
		}
		v, ok := hexDigit(c)
		if !ok {
			continue
		}
		if some {
			out = append(out, half<<4|v)
		}
		half, some = v, !some
	}
	if some {
		out = append(out, half<<4)
	}
	return string(out)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// skipImage skips the data of an inline image, from ID to EI.
func (l *lexer) skipImage() {
	for {
		n := bytes.Index(l.text[l.at:], []byte("EI"))
		if n < 0 {
			l.at = len(l.text)
			return
		}
		l.at += n + 2
		before := l.at < 3 || isSpace(l.text[l.at-3])
		if before && (l.at >= len(l.text) || isSpace(l.text[l.at])) {
			return
		}
	}
}
