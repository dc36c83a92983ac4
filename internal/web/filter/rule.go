package filter

import (
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// Stages of a Rule (docs/spec/crawling.md 5.5).
const (
	StageLinks           = 0 // URLs collected from a page
	StageRaw             = 1 // content and headers as fetched
	StagePrepared        = 2 // content before it is parsed
	StageParsed          = 3 // content after it is parsed
	StageProcessed       = 4
	StageAll             = 5 // every stage that checks a URL
	StageProtocol        = 6 // protocols of links
	StageBeforeProcessor = 7
	StageRedirect        = 8 // targets of redirects; rules of StageLinks apply too
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

// Rule is one stored filter of a site. The zero value excludes everything, but is disabled.
type Rule struct {
	// Pattern is, by OpCode, a regular expression to search for, a whole number or an SQL
	// expression. CR LF separates alternatives. It may contain the macros %MAX_DEPTH%,
	// %@CUR_YEAR_FULL%, %@CUR_YEAR_SHORT%, %@CUR_MONTH%, %@CUR_DAY% and %@YEAR(+n)%,
	// %@DAY(+n)% etc.
	Pattern string

	// Subject is the left side. "", RAW_CONTENT, HEADERS_ALL and LAST_MODIFIED mean the
	// value under test; any other text is a literal.
	Subject string

	OpCode int
	Stage  int
	Action int // above 0 include, below 0 exclude, 0 see Type
	Type   int // 0 exclude, else include
	Mode   int // 0 for URLs, 1 for media
	State  int // 0 disabled
	Group  int // 0 no group
}

// Env holds what rules use in addition to the value under test.
type Env struct {
	Now   time.Time // for date macros, converted to UTC
	Depth int       // of the current page, for %MAX_DEPTH%
	Mode  int       // only rules of this Mode apply

	// SQL evaluates the expression of an OpSQL rule, with date macros replaced. An error
	// means no match. If SQL is nil, such rules do not apply.
	SQL func(expression string) (bool, error)
}

// isLiteral reports whether the left side is Subject itself.
func (r *Rule) isLiteral() bool {
	switch r.Subject {
	case "", RawContent, HeadersAll, LastModified:
		return false
	}
	return true
}

// compareNumbers reports `left op right` for whole numbers, false for other texts.
func compareNumbers(op int, left, right string) bool {
	l, errLeft := strconv.ParseInt(strings.TrimSpace(left), 10, 64)
	r, errRight := strconv.ParseInt(strings.TrimSpace(right), 10, 64)
	if errLeft != nil || errRight != nil {
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

// Rules returns the filters of a site as rules.
func Rules(filters []wire.SiteFilter) []Rule {
	list := make([]Rule, 0, len(filters))
	for _, f := range filters {
		list = append(list, Rule{
			Pattern: f.Pattern, Subject: f.Subject, OpCode: int(f.OpCode), Stage: int(f.Stage),
			Action: int(f.Action), Type: int(f.Type), Mode: int(f.Mode), State: int(f.State), Group: int(f.GroupID),
		})
	}
	return list
}
