package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of one text. They protect the parser, the walk over its tree, and SQLite's
// own limits (expression depth 1000, 32766 variables) from hostile texts.
const (
	maxText     = 64 << 10  // bytes, before and after macros
	maxTokens   = 12000     // words, numbers, strings and operators
	maxDepth    = 64        // nested parentheses, operators, calls, sub-selects
	maxNodes    = 6000      // nodes of the tree, items of IN included
	maxLogic    = 400       // operands of all AND and OR of a text together
	maxArgs     = 100       // arguments of one call, WHENs of one CASE
	maxSortKeys = 32        // items of one ORDER BY or GROUP BY
	maxOutput   = 128 << 10 // bytes of one result
	maxBound    = 8000      // bound values of one result
	maxPattern  = 50000     // bytes of a LIKE pattern, SQLite's limit
)

// expandMacros replaces each %NAME% by the value of the macro. It does not expand values
// again. Unknown names stay unchanged because LIKE patterns and date formats use the
// same sign.
func expandMacros(text string, macros map[string]string) (string, error) {
	if len(text) > maxText {
		return "", &Error{Part: "text", Reason: fmt.Sprintf("is longer than %d bytes", maxText)}
	}
	if len(macros) == 0 || !strings.Contains(text, "%") {
		return text, nil
	}
	pairs := make([]string, 0, 2*len(macros))
	names := make([]string, 0, len(macros))
	for name := range macros {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		pairs = append(pairs, "%"+strings.Trim(name, "%")+"%", macros[name])
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	if len(text) > maxText {
		return "", &Error{Part: "text with its macros", Reason: fmt.Sprintf("is longer than %d bytes", maxText)}
	}
	return text, nil
}

// guardText checks a text before the parser. It refuses parts that the parser skips or
// accepts (comments, further statements, variables, parameters) and costly texts
// (depth, number of tokens). After guard the text closes no parenthesis that it did
// not open.
func guardText(text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return &Error{Part: "text", Reason: "is not UTF-8 without NUL"}
	}
	depth, tokens := 0, 0
	for i := 0; i < len(text); tokens++ {
		c := text[i]
		rest := text[i:]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f':
			tokens--
			i++
			continue
		case c == '\'' || c == '"' || c == '`':
			n := quotedLength(rest)
			if n < 0 {
				return &Error{Part: "text", Reason: "has a " + string(c) + " that is not closed"}
			}
			i += n
			continue
		case isWordByte(c):
			for i < len(text) && isWordByte(text[i]) {
				i++
			}
			continue
		case c == '(':
			if depth++; depth > maxDepth {
				return &Error{Part: "text", Reason: fmt.Sprintf("has more than %d nested parentheses", maxDepth)}
			}
		case c == ')':
			if depth--; depth < 0 {
				return &Error{Part: "text", Reason: "closes a parenthesis that it did not open"}
			}
		case c == ';':
			return newRefusal("statement separator ;")
		case c == '#', strings.HasPrefix(rest, "/*"), strings.HasPrefix(rest, "*/"), dashComment(rest):
			return newRefusal("comment")
		case c == '?':
			return newRefusal("parameter ?")
		case c == '@':
			return newRefusal("variable " + firstWord(rest))
		case strings.HasPrefix(rest, ":="):
			return newRefusal("assignment :=")
		}
		i++
	}
	if depth != 0 {
		return &Error{Part: "text", Reason: "has a parenthesis that is not closed"}
	}
	if tokens > maxTokens {
		return &Error{Part: "text", Reason: fmt.Sprintf("has more than %d tokens", maxTokens)}
	}
	return nil
}

// dashComment reports whether s starts a comment: two dashes, then white space, a
// control character or the end. "1--1" is arithmetic.
func dashComment(s string) bool {
	return strings.HasPrefix(s, "--") && (len(s) == 2 || s[2] <= ' ' || s[2] >= 0x7f)
}

// quotedLength returns the length of the quoted text at the start of s, quotes included, or
// -1 if it does not end. A doubled quote belongs to the text. So does a character after
// a backslash, except between back-ticks.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] != '`':
			i++
		case s[i] == s[0]:
			if i+1 < len(s) && s[i+1] == s[0] {
				i++
				continue
			}
			return i + 1
		}
	}
	return -1
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// firstWord returns the first word of s, at most 24 bytes, for an error message.
func firstWord(s string) string {
	end := strings.IndexAny(s, " \t\r\n()'\"`,;")
	if end < 0 {
		end = len(s)
	}
	for end > 24 {
		end--
	}
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

var macroName = regexp.MustCompile(`%@?[A-Za-z_][A-Za-z0-9_]*%`)

// unknownMacro returns the first %NAME% outside of quotes, or "".
func unknownMacro(text string) string {
	var bare strings.Builder
	for i := 0; i < len(text); {
		if c := text[i]; c == '\'' || c == '"' || c == '`' {
			if n := quotedLength(text[i:]); n > 0 {
				bare.WriteByte(' ')
				i += n
				continue
			}
		}
		bare.WriteByte(text[i])
		i++
	}
	return macroName.FindString(bare.String())
}
