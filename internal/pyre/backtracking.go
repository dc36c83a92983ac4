package pyre

import (
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"
)

const (
	// matchLimit is how long one match of a backtracking expression may take.
	matchLimit = 50 * time.Millisecond

	// maxTired is after how many matches cut off an expression is no longer
	// tried: a hostile page could bring thousands of URLs made for it.
	maxTired = 20
)

// backtracking is an expression with look-around or back-references. One that
// takes too long does not match.
type backtracking struct {
	re    *regexp2.Regexp
	tired atomic.Int32
}

// namedReference is how Python refers back to a named group.
var namedReference = regexp.MustCompile(`\(\?P=(\w+)\)`)

func compileBacktracking(text string) (*backtracking, error) {
	text = namedReference.ReplaceAllString(strings.ReplaceAll(text, "(?P<", "(?<"), `\k<$1>`)
	re, err := regexp2.Compile(text, regexp2.Multiline)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchLimit
	return &backtracking{re: re}, nil
}

// MatchString reports whether value holds a match.
func (b *backtracking) MatchString(value string) bool {
	if b.tired.Load() >= maxTired {
		return false
	}
	ok, err := b.re.MatchString(value)
	if err != nil {
		b.tired.Add(1)
		return false
	}
	return ok
}
