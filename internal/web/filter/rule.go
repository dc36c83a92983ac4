package filter

import (
	"strconv"
	"strings"
	"time"
)

// Stages of a Rule (docs/spec/crawling.md 5.5).
const (
	StageLinks           = 0 // URLs collected from a page
	StageRaw             = 1 // content and headers as fetched
	StagePrepared        = 2 // content before it is parsed
	StageParsed          = 3 // content after it is parsed
	StageProcessed       = 4
	StageAll             = 5 // every stage that judges a URL
	StageProtocol        = 6 // protocols of links
	StageBeforeProcessor = 7
	StageRedirect        = 8 // targets of redirects; rules of StageLinks apply as well
)

// Operations of a Rule.
const (
	OpRegexp = iota
	OpEqual
	OpNotEqual
	OpLessEqual
	OpGreaterEqual
	OpLess
	OpGreater
	OpSQL
)

// Rule is one filter of a site as it is stored. The zero value excludes
// everything, but is off.
type Rule struct {
	// Pattern is a regular expression that is searched for, a whole number or an
	// SQL expression, after OpCode. Several alternatives are separated by CR LF.
	// It may hold the macros %MAX_DEPTH%, %@CUR_YEAR_FULL%, %@CUR_YEAR_SHORT%,
	// %@CUR_MONTH%, %@CUR_DAY% and %@YEAR(+n)% with its like.
	Pattern string

	// Subject is the left side. Empty, RAW_CONTENT, HEADERS_ALL and
	// LAST_MODIFIED stand for the value under test, all else for itself.
	Subject string

	OpCode int
	Stage  int
	Action int // above 0 include, below 0 exclude, 0 ask Type
	Type   int // 0 exclude, else include
	Mode   int // 0 for URLs, 1 for media
	State  int // 0 off
	Group  int // 0 stands alone
}

// Env is what a rule may ask beside the value under test.
type Env struct {
	Now   time.Time // for the macros of dates, used in UTC
	Depth int       // of the page under way, for %MAX_DEPTH%
	Mode  int       // the rules of this Mode are asked

	// SQL evaluates the expression of an OpSQL rule, its date macros replaced.
	// Without it such rules are passed over as if they were off. An error counts
	// as no match.
	SQL func(expression string) (bool, error)
}

// includes reports the effect of the rule when it matches. Documents of both
// kinds work: those that use Action and those that use Type (docs/spec/crawling.md 7.1 #12).
func (r *Rule) includes() bool {
	if r.Action != 0 {
		return r.Action > 0
	}
	return r.Type != 0
}

// literal reports whether the left side is Subject itself.
func (r *Rule) literal() bool {
	switch r.Subject {
	case "", RawContent, HeadersAll, LastModified:
		return false
	}
	return true
}

// compare reports `left op right` of whole numbers. What is no number compares
// with nothing.
func compare(op int, left, right string) bool {
	l, err := strconv.ParseInt(strings.TrimSpace(left), 10, 64)
	if err != nil {
		return false
	}
	r, err := strconv.ParseInt(strings.TrimSpace(right), 10, 64)
	if err != nil {
		return false
	}
	switch op {
	case OpEqual:
		return l == r
	case OpNotEqual:
		return l != r
	case OpLessEqual:
		return l <= r
	case OpGreaterEqual:
		return l >= r
	case OpLess:
		return l < r
	default:
		return l > r
	}
}
