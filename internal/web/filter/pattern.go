package filter

import (
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
	if !macro.MatchString(text) {
		re, err := pyregexp.Compile(text)
		return pattern{ready: re}, err
	}
	_, err := pyregexp.Compile(expandMacros(text, &Env{}, true))
	return pattern{text: text, latest: new(atomic.Pointer[expansion])}, err
}

func (p pattern) matchesValue(value string, env *Env) bool {
	if p.ready != nil {
		return p.ready.MatchString(value)
	}
	text := expandMacros(p.text, env, true)
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

// macro finds the macros of a pattern: %MAX_DEPTH%, the current date, and UTC plus some
// hours (docs/spec/crawling.md 5.1 and 5.5).
var macro = regexp.MustCompile(`%(?:MAX_DEPTH|@CUR_(?:YEAR_FULL|YEAR_SHORT|MONTH|DAY)|@(?:DATE|YEAR|SHORTYEAR|MONTH|DAY|HOUR|MINUTE|SECOND)\([+-]?\d{0,2}\))%`)

// layouts holds the time layouts of the date macros.
var layouts = map[string]string{
	"CUR_YEAR_FULL": "2006", "CUR_YEAR_SHORT": "06", "CUR_MONTH": "01", "CUR_DAY": "02",
	"DATE": "2006-01-02", "YEAR": "2006", "SHORTYEAR": "06", "MONTH": "01", "DAY": "02",
	"HOUR": "15", "MINUTE": "04", "SECOND": "05",
}

// expandMacros replaces the macros of text. quote escapes the values for a regular expression.
func expandMacros(text string, env *Env, quote bool) string {
	return macro.ReplaceAllStringFunc(text, func(m string) string {
		value := macroValue(strings.Trim(m, "%"), env)
		if quote {
			return regexp.QuoteMeta(value)
		}
		return value
	})
}

func macroValue(name string, env *Env) string {
	if name == "MAX_DEPTH" {
		return strconv.Itoa(env.Depth)
	}
	name, argument, _ := strings.Cut(strings.TrimPrefix(name, "@"), "(")
	hours, _ := strconv.Atoi(strings.TrimSuffix(argument, ")"))
	return env.Now.UTC().Add(time.Duration(hours) * time.Hour).Format(layouts[name])
}
