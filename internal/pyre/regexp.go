package pyre

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Regexp is a compiled expression. It is safe for use by many goroutines.
type Regexp struct{ matcher }

// matcher is an expression in one of the two engines.
type matcher interface{ MatchString(string) bool }

// Compile compiles an expression, multi-line and Unicode. What runs in linear
// time is preferred; look-around and back-references run in a backtracking
// engine with a time limit.
func Compile(text string) (*Regexp, error) {
	text = globalFlags(text)
	if linear, ok := translate(text); ok {
		if re, err := regexp.Compile("(?m)" + linear); err == nil {
			return &Regexp{re}, nil
		}
	}
	re, err := compileBacktracking(text)
	if err != nil {
		return nil, err
	}
	return &Regexp{re}, nil
}

// leadingFlags are the flags that Python wants at the start of an expression.
var leadingFlags = regexp.MustCompile(`^\(\?([aiLmsux]+)\)`)

// globalFlags drops the flags that say what holds anyway.
func globalFlags(text string) string {
	m := leadingFlags.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	rest := text[len(m[0]):]
	flags := strings.Map(func(r rune) rune {
		if strings.ContainsRune("aLmu", r) {
			return -1
		}
		return r
	}, m[1])
	if flags == "" {
		return rest
	}
	return "(?" + flags + ")" + rest
}

// classes are the classes of Python that are Unicode there and ASCII in package
// regexp, as the inside of a bracket.
var classes = map[byte]string{
	'w': `\p{L}\p{M}\p{N}_`,
	'd': `\p{Nd}`,
	's': `\s\v\x1c-\x1f\x{85}\p{Z}`,
}

// translate rewrites a Python expression for package regexp. It reports false for
// what cannot be said there.
func translate(text string) (string, bool) {
	if !strings.ContainsAny(text, `\{`) {
		return text, true
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '{' && !inClass && strings.HasPrefix(text[i:], "{,") {
			b.WriteString("{0")
			continue
		}
		if c == '[' && !inClass {
			inClass = true
			b.WriteByte(c)
			for _, first := range [...]string{"^", "]"} { // a leading bracket is a letter
				if strings.HasPrefix(text[i+1:], first) {
					b.WriteString(first)
					i++
				}
			}
			continue
		}
		if c == ']' {
			inClass = false
		}
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		i++
		e := text[i]
		set, known := classes[e|0x20]
		switch {
		case known && inClass && e >= 'a':
			b.WriteString(set)
		case known && inClass:
			return "", false // the complement of a set within a set
		case known && e >= 'a':
			b.WriteString("[" + set + "]")
		case known:
			b.WriteString("[^" + set + "]")
		case e == 'Z':
			b.WriteString(`\z`)
		case (e == 'b' || e == 'B') && !ascii(text):
			return "", false // boundaries of ASCII words only
		case e == 'b' && inClass:
			b.WriteString(`\x08`)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
	return b.String(), true
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
