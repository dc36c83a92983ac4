package filter

import (
	"sync/atomic"

	"hce/dc/internal/web/pyregexp"
)

// pattern is one alternative of a rule.
type pattern struct {
	ready  *pyregexp.Regexp // nil if the text has macros
	text   string
	latest *atomic.Pointer[expansion]
}

// expansion is a pattern with macros, compiled for the latest values: a date stays the same
// for many thousands of URLs.
type expansion struct {
	text string
	re   *pyregexp.Regexp
}

// newPattern compiles text. A text with macros is compiled as a check only.
func newPattern(text string) (pattern, error) {
	if !hasMacros(text) {
		re, err := pyregexp.Compile(text)
		return pattern{ready: re}, err
	}
	_, err := pyregexp.Compile(expand(text, &Env{}, true))
	return pattern{text: text, latest: new(atomic.Pointer[expansion])}, err
}

func (p pattern) match(value string, env *Env) bool {
	if p.ready != nil {
		return p.ready.MatchString(value)
	}
	text := expand(p.text, env, true)
	last := p.latest.Load()
	if last == nil || last.text != text {
		re, err := pyregexp.Compile(text)
		if err != nil {
			return false
		}
		last = &expansion{text, re}
		p.latest.Store(last)
	}
	return last.re.MatchString(value)
}
