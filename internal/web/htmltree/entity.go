package htmltree

import (
	"bytes"
	"html"
	"unicode/utf8"
)

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// appendDecoded appends s with its character references decoded.
func AppendDecoded(dst, s []byte, attr bool) []byte {
	for {
		i := bytes.IndexByte(s, '&')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		// The common ones; all others by the library.
		switch {
		case HasPrefix(s, "&amp;"):
			dst, s = append(dst, '&'), s[5:]
		case HasPrefix(s, "&lt;"):
			dst, s = append(dst, '<'), s[4:]
		case HasPrefix(s, "&gt;"):
			dst, s = append(dst, '>'), s[4:]
		case HasPrefix(s, "&quot;"):
			dst, s = append(dst, '"'), s[6:]
		case HasPrefix(s, "&nbsp;"):
			dst, s = append(dst, 0xC2, 0xA0), s[6:]
		case HasPrefix(s, "&#"):
			j, v := 2, rune(0)
			if len(s) > 3 && s[2]|0x20 == 'x' && hexValue(s[3]) >= 0 {
				for j = 3; j < len(s); j++ {
					h := hexValue(s[j])
					if h < 0 {
						break
					}
					v = min(v<<4|rune(h), utf8.MaxRune+1)
				}
			} else {
				for ; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
					v = min(v*10+rune(s[j]-'0'), utf8.MaxRune+1)
				}
				if j == 2 {
					dst, s = append(dst, s[:2]...), s[2:]
					continue
				}
			}
			if j < len(s) && s[j] == ';' {
				j++
			}
			switch {
			case v >= 0x80 && v < 0xA0:
				dst = utf8.AppendRune(dst, windows1252[v-0x80])
			case v == 0 || v > utf8.MaxRune || v >= 0xD800 && v < 0xE000:
				dst = append(dst, "\uFFFD"...)
			default:
				dst = utf8.AppendRune(dst, v)
			}
			s = s[j:]
		default:
			j := 1
			for j < len(s) && j < 34 && (s[j] >= '0' && s[j] <= '9' || isLetter(s[j])) {
				j++
			}
			closed := j < len(s) && s[j] == ';'
			if closed {
				j++
			}
			if attr && (!closed && j < len(s) && s[j] == '=' || j == 1) {
				dst, s = append(dst, s[:j]...), s[j:] // such as &copy= in an address
				continue
			}
			name := string(s[:j])
			text := html.UnescapeString(name)
			switch name { // the two that the library leaves out: they are longer than their names
			case "&nGt;":
				text = "\u226B\u20D2"
			case "&nLt;":
				text = "\u226A\u20D2"
			}
			if attr && j > 1 && len(text) > 0 && text[len(text)-1] == s[j-1] && html.UnescapeString(name[:j-1])+name[j-1:] == text {
				text = name // only its beginning is a name, such as &notit
			}
			dst, s = append(dst, text...), s[j:]
		}
	}
}

var windows1252 = [32]rune{0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func HasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }
