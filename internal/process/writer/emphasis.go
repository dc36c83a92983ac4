package writer

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// closing is the end of an emphasis that is written once the next character is known: behind punctuation it ends
// nothing if a letter follows.
type closing struct {
	at   int // of the opening mark
	mark string
}

var marksOf = [...]string{spanEm: "*", spanStrong: "**", spanDel: "~~", spanSup: "<sup>", spanSub: "<sub>", spanLink: "["}

func (m *markdown) openSpan(s *span, next []byte) {
	switch s.kind {
	case spanEm, spanStrong, spanDel:
		m.openEmphasis(s, next)
	case spanCode:
		m.openCode(s)
	default:
		if s.kind == spanLink && m.lastRune() == '!' {
			m.dst = append(m.dst[:len(m.dst)-1], `\!`...) // not an image
		}
		m.resolvePending('[')
		s.mark = marksOf[s.kind]
		m.dst = append(m.dst, s.mark...)
	}
}

// openEmphasis writes the opening mark of an emphasis where Markdown reads it as one.
func (m *markdown) openEmphasis(s *span, next []byte) {
	if len(m.pending) > 0 {
		return
	}
	last := m.lastRune()
	if m.label && (s.kind == spanStrong || len(m.dst) == m.lineAt+2) {
		return
	}
	first, _ := utf8.DecodeRune(next)
	switch {
	case m.closed, s.kind == spanDel && last == '~':
		return
	case m.opened:
	case isSpace(last):
	case isPunctuation(last):
		if last == '*' || last == '~' || m.emphases > 0 && isPunctuation(first) {
			return // it could end the emphasis around it
		}
	case isPunctuation(first) || m.emphases > 0:
		return
	}
	s.at, s.mark = len(m.dst), marksOf[s.kind]
	m.dst = append(m.dst, s.mark...)
	m.emphases++
	m.del = m.del || s.kind == spanDel
	m.opened = true
}

// openCode writes the opening mark of code, or continues the code right before it.
func (m *markdown) openCode(s *span) {
	m.code = true
	m.resolvePending('`')
	if m.lastRune() == '`' && m.closed {
		if s.ticks+m.lastTicks == 0 {
			m.dst = m.dst[:len(m.dst)-1] // one code
			return
		}
		m.dst = append(m.dst, "<!-- -->"...) // keeps the marks apart
	}
	m.closed, m.opened, m.lastTicks = false, false, s.ticks
	m.writeTicks(s.ticks + 1)
	if s.ticks > 0 {
		m.dst = append(m.dst, ' ')
	}
}

func (m *markdown) closeSpan(s *span) {
	switch s.kind {
	case spanEm, spanStrong, spanDel:
		m.closeEmphasis(s)
	case spanCode:
		m.code = false
		if s.ticks > 0 {
			m.dst = append(m.dst, ' ')
		}
		m.writeTicks(s.ticks + 1)
		m.closed, m.opened = true, false
	case spanLink:
		m.resolvePending(']')
		m.dst = append(m.dst, "]("...)
		from := len(m.dst)
		m.dst = m.base.appendLink(m.dst, s.href)
		if m.inTable {
			m.dst = append(m.dst[:from], bytes.ReplaceAll(m.dst[from:], []byte("|"), []byte("%7C"))...)
		}
		m.dst = append(m.dst, ')')
		m.closed, m.opened = false, false
	default:
		m.resolvePending('<')
		m.dst = append(append(m.dst, "</"...), s.mark[1:]...)
		m.closed, m.opened = false, false
	}
}

func (m *markdown) closeEmphasis(s *span) {
	m.del = m.del && s.kind != spanDel
	if s.mark == "" {
		return
	}
	m.emphases--
	last := m.lastRune()
	if last == '~' && s.kind == spanDel { // it would be part of the mark
		m.removeMark(s.at, len(s.mark))
		return
	}
	if len(m.pending) > 0 || isPunctuation(last) && !(m.closed && last == '*' && s.kind != spanDel) {
		m.pending = append(m.pending, closing{s.at, s.mark})
		return
	}
	m.dst = append(m.dst, s.mark...)
	m.closed, m.opened = true, false
}

// resolvePending writes the pending closing marks if next, which follows, lets them end an emphasis. Otherwise it removes their
// opening marks.
func (m *markdown) resolvePending(next rune) {
	if len(m.pending) == 0 {
		return
	}
	ends := isSpace(next) || isPunctuation(next)
	for _, c := range m.pending {
		if ends {
			m.dst = append(m.dst, c.mark...)
		} else {
			m.removeMark(c.at, len(c.mark))
		}
	}
	m.pending = m.pending[:0]
	m.closed, m.opened = ends, false
}

// removeMark removes an opening mark. What it kept apart stays apart: ! and [ would be an image, two marks of code one.
func (m *markdown) removeMark(at, size int) {
	between := ""
	if at > m.lineAt && at+size < len(m.dst) {
		switch string([]byte{m.dst[at-1], m.dst[at+size]}) {
		case "![":
			at, size, between = at-1, size+1, `\!`
		case "``":
			between = "<!-- -->"
		}
	}
	m.dst = slices.Replace(m.dst, at, at+size, []byte(between)...)
	for k := range m.pending {
		if c := &m.pending[k]; c.at > at {
			c.at += len(between) - size
		}
	}
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
