package writer

import (
	"bytes"
	"unicode/utf8"

	"hce/dc/internal/process/outline"
)

// writeWord writes a word, with its marks of Markdown escaped.
func (m *markdown) writeWord(s []byte, next byte, spaced bool) {
	if m.code {
		if spaced {
			m.dst = append(m.dst, ' ')
		}
		if m.inTable {
			m.dst = appendBars(m.dst, s)
		} else {
			m.dst = append(m.dst, s...)
		}
		return
	}
	if spaced {
		m.resolvePending(' ')
		m.dst = append(m.dst, ' ')
	} else if len(m.pending) > 0 {
		first, _ := utf8.DecodeRune(s)
		m.resolvePending(first)
	}
	m.closed, m.opened = false, false
	if m.heading && len(bytes.Trim(s, "#")) == 0 {
		m.dst = append(m.dst, '\\') // it would close the heading
	}
	from := 0
	for i, c := range s {
		if c < 0x80 && special[c] && m.needsEscape(s, i, next) {
			m.dst = append(append(m.dst, s[from:i]...), '\\')
			from = i
		}
	}
	m.dst = append(m.dst, s[from:]...)
}

var special = func() (t [128]bool) {
	for _, c := range "\\`*_[]<|&~" {
		t[c] = true
	}
	return t
}()

// needsEscape reports whether the special character s[i] would be a mark. next is the byte behind s, 0: not known.
func (m *markdown) needsEscape(s []byte, i int, next byte) bool {
	if s[i] == '&' {
		return isReference(s[i+1:], next)
	}
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch s[i] {
	case '_':
		return !isInWord(s, i)
	case '<':
		return next == 0 || next == '/' || next == '!' || next == '?' || isWord(next) && !outline.IsDigit(next)
	case '|':
		return m.inTable
	case '~':
		return i > 0 || m.del || next == '~' || next == 0 || !isSpace(m.lastRune()) // ~100 is no mark
	}
	return true
}

// isInWord reports whether letters or digits are on both sides of s[i].
func isInWord(s []byte, i int) bool {
	before, _ := utf8.DecodeLastRune(s[:i])
	after, _ := utf8.DecodeRune(s[i+1:])
	return i > 0 && i+1 < len(s) && !isPunctuation(before) && !isPunctuation(after)
}

// isReference reports whether s, which follows a &, may be read as the name of a character. next is the byte behind it,
// 0: not known.
func isReference(s []byte, next byte) bool {
	for i, c := range s {
		if c == ';' {
			return i > 0
		}
		if c != '#' && !isWord(c) {
			return false
		}
	}
	return next == 0
}

// appendBars appends code with escaped bars, as tables want them.
func appendBars(dst, s []byte) []byte {
	for _, c := range s {
		if c == '|' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}

// writeMark writes a mark of the text next to a word.
func (m *markdown) writeMark(s string) {
	if s == "" {
		return
	}
	if m.code {
		m.dst = append(m.dst, s...)
		return
	}
	first, _ := utf8.DecodeRuneInString(s)
	m.resolvePending(first)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', ']', '_', '|':
			m.dst = append(m.dst, '\\')
		}
		m.dst = append(m.dst, s[i])
	}
	m.closed, m.opened = false, false
}

// writeFormula writes TeX between dollars. Markdown does not escape in them; marks of HTML and tables are written as TeX.
func (m *markdown) writeFormula(tex []byte, display, spaced bool) {
	if spaced {
		m.resolvePending(' ')
		m.dst = append(m.dst, ' ')
	}
	m.resolvePending('$')
	m.closed, m.opened = false, false
	dollars := "$"
	if display {
		dollars = "$$"
	}
	m.dst = append(m.dst, dollars...)
	for i, c := range tex {
		switch {
		case c == '<' && i+1 < len(tex) && tex[i+1] != ' ':
			m.dst = append(m.dst, `\lt `...)
			continue
		case c == '|' && m.inTable, c == '$' && (i == 0 || tex[i-1] != '\\'):
			m.dst = append(m.dst, '\\')
		}
		m.dst = append(m.dst, c)
	}
	m.dst = append(m.dst, dollars...)
}

// escapeStart escapes the beginning of a line if it would begin another block. at is where the line begins.
func escapeStart(dst []byte, at int) []byte {
	line := dst[at:]
	if len(line) == 0 {
		return dst
	}
	switch c := line[0]; {
	case c == '#':
		if n := len(line) - len(bytes.TrimLeft(line, "#")); n <= 6 && endsAt(line, n) {
			return insertBackslash(dst, at)
		}
	case c == '>':
		return insertBackslash(dst, at)
	case c == '+' && endsAt(line, 1), c == '=' && len(bytes.Trim(line, "= ")) == 0:
		return insertBackslash(dst, at)
	case c == '-' && (endsAt(line, 1) || len(bytes.Trim(line, "- :|")) == 0), (c == ':' || c == '|') && len(bytes.Trim(line, "- :|")) == 0:
		return insertBackslash(dst, at)
	case c == '~' && bytes.HasPrefix(line, []byte("~~~")):
		return insertBackslash(dst, at)
	case outline.IsDigit(c):
		n := 0
		for n < len(line) && n < 10 && outline.IsDigit(line[n]) {
			n++
		}
		if n < 10 && n < len(line) && (line[n] == '.' || line[n] == ')') && endsAt(line, n+1) {
			return insertBackslash(dst, at+n)
		}
	}
	return dst
}

// endsAt reports whether a line ends at n, or has a blank there.
func endsAt(line []byte, n int) bool { return n >= len(line) || line[n] == ' ' }

func insertBackslash(dst []byte, at int) []byte {
	dst = append(dst, 0)
	copy(dst[at+1:], dst[at:])
	dst[at] = '\\'
	return dst
}
