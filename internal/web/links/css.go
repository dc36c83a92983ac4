package links

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// CSS returns at most maxLinks links of a style sheet (0 = all): the URLs of url() and
// @import. text is UTF-8; invalid sheets are tokenised as in CSS Syntax. The links are
// relative to the URL of the sheet. Time is linear in the text.
func CSS(text []byte, maxLinks int) Page {
	s := scanner{max: maxLinks, seen: make(map[string]bool)}
	s.addStyleLinks(text)
	return s.page
}

// addStyleLinks adds the links of a style sheet, a style element or a style attribute.
func (s *scanner) addStyleLinks(text []byte) {
	input := parse.NewInputBytes(text)
	defer input.Restore() // the lexer overwrites the byte after text
	lexer := css.NewLexer(input)
	importing := false
	for {
		kind, token := lexer.Next()
		switch kind {
		case css.ErrorToken:
			return
		case css.AtKeywordToken:
			importing = strings.EqualFold(string(token), "@import")
			continue
		case css.WhitespaceToken, css.CommentToken:
			continue
		case css.URLToken:
			s.styleLink(unquoteCSS(strings.TrimSuffix(string(token[len("url("):]), ")")))
		case css.StringToken:
			if importing {
				s.styleLink(unquoteCSS(string(token)))
			}
		}
		importing = false
	}
}

func (s *scanner) styleLink(text string) {
	s.addAll(text, rule{attr: "style"}, "style", "")
}

// unquoteCSS removes quotes and escapes from a CSS text.
func unquoteCSS(text string) string {
	text = strings.TrimSpace(text)
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		text = text[1 : len(text)-1]
	}
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		n := 0
		for n < 6 && i+1+n < len(text) && isHex(text[i+1+n]) {
			n++
		}
		switch {
		case n > 0:
			code, _ := strconv.ParseInt(text[i+1:i+1+n], 16, 32)
			b.WriteRune(rune(code))
			i += n
			if i+1 < len(text) && text[i+1] == ' ' {
				i++
			}
		case i+1 < len(text):
			i++
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
