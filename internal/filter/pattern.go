package filter

import (
	"regexp"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// matcher is a regular expression that is searched for.
type matcher interface{ MatchString(string) bool }

// pattern is one alternative of a rule.
type pattern struct {
	ready  matcher // nil when the text has macros
	text   string
	latest *atomic.Pointer[expansion]
}

// expansion is a pattern with macros, compiled for the values of the moment:
// dates stay the same for many thousands of URLs.
type expansion struct {
	text string
	re   matcher
}

// newPattern compiles text. With macros it is compiled once as a trial.
func newPattern(text string) (pattern, error) {
	if !hasMacros(text) {
		re, err := compileRegexp(text)
		return pattern{ready: re}, err
	}
	_, err := compileRegexp(expand(text, &Env{}, true))
	return pattern{text: text, latest: new(atomic.Pointer[expansion])}, err
}

// match searches for the pattern in value.
func (p pattern) match(value string, env *Env) bool {
	if p.ready != nil {
		return p.ready.MatchString(value)
	}
	text := expand(p.text, env, true)
	last := p.latest.Load()
	if last == nil || last.text != text {
		re, err := compileRegexp(text)
		if err != nil {
			return false
		}
		last = &expansion{text, re}
		p.latest.Store(last)
	}
	return last.re.MatchString(value)
}

// compileRegexp compiles an expression of the Python dialect, multi-line and
// Unicode. What runs in linear time is preferred; look-around and
// back-references run in a backtracking engine with a time limit.
func compileRegexp(text string) (matcher, error) {
	text = globalFlags(text)
	if linear, ok := translate(text); ok {
		if re, err := regexp.Compile("(?m)" + linear); err == nil {
			return re, nil
		}
	}
	return compileBacktracking(text)
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
