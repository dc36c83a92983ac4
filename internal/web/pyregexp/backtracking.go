package pyregexp

import (
	"errors"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"
)

const (
	// matchLimit bounds the time of one match.
	matchLimit = 50 * time.Millisecond

	// searchLimit bounds the time of a search for all matches in one value.
	searchLimit = time.Second

	// maxTimeouts is how many timeouts disable an expression: a hostile page could contain
	// thousands of URLs made for it.
	maxTimeouts = 20
)

// backtracking is an expression with look-around or back-references. A match that times out
// counts as no match.
type backtracking struct {
	re       *regexp2.Regexp
	timeouts atomic.Int32
}

func compileBacktracking(text, flags string) (r *Regexp, err error) {
	defer func() {
		if recover() != nil { // a panic means an invalid expression
			r, err = nil, errors.New("invalid expression")
		}
	}()
	text, names, count := numberGroups(text)
	if flags != "" {
		text = "(?" + flags + ")" + text
	}
	re, err := regexp2.Compile(text, regexp2.Multiline)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchLimit
	return &Regexp{&backtracking{re: re}, names, count}, nil
}

// groupPart is a part of an expression that matters for its groups: an escape, a class, a
// named group, a reference to one, or another parenthesis.
var groupPart = regexp.MustCompile(`(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\(\?P<(\w+)>|\(\?P=(\w+)\)|\(\??`)

// numberGroups replaces the named groups of a Python expression by plain ones: the backtracking
// engine would number the named groups last.
func numberGroups(text string) (plain string, names map[string]int, count int) {
	names = map[string]int{}
	plain = groupPart.ReplaceAllStringFunc(text, func(part string) string {
		m := groupPart.FindStringSubmatch(part)
		switch {
		case part == "(":
			count++
		case m[1] != "":
			count++
			names[m[1]] = count
			return "("
		case names[m[2]] != 0:
			return `\k<` + strconv.Itoa(names[m[2]]) + `>`
		}
		return part
	})
	return plain, names, count
}

// MatchString reports whether value contains a match.
func (b *backtracking) MatchString(value string) bool {
	if b.timeouts.Load() >= maxTimeouts {
		return false
	}
	ok, err := b.re.MatchString(value)
	if err != nil {
		b.timeouts.Add(1)
		return false
	}
	return ok
}

func (b *backtracking) matchesStart(value string) bool {
	if b.timeouts.Load() >= maxTimeouts {
		return false
	}
	m, err := b.re.FindStringMatch(value)
	if err != nil {
		b.timeouts.Add(1)
	}
	return err == nil && m != nil && m.Index == 0
}

func (b *backtracking) forEachMatch(value string, found func(spans []int) bool) bool {
	if b.timeouts.Load() >= maxTimeouts {
		return false
	}
	deadline := time.Now().Add(searchLimit)
	at := runeOffsets(value)
	var spans []int
	m, err := b.re.FindStringMatch(value)
	for ; m != nil && err == nil; m, err = b.re.FindNextMatch(m) {
		if time.Now().After(deadline) {
			err = errors.New("search timed out")
			break
		}
		spans = spans[:0]
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				spans = append(spans, -1, -1)
				continue
			}
			begin, end := g.Index, g.Index+g.Length
			if at != nil {
				begin, end = at[begin], at[end]
			}
			spans = append(spans, begin, end)
		}
		if !found(spans) {
			return false
		}
	}
	if err != nil {
		b.timeouts.Add(1)
	}
	return err == nil
}

// runeOffsets maps each rune index of value to its byte offset, with the length at the end. It
// is nil for ASCII, where both are equal.
func runeOffsets(value string) []int {
	if isASCIIText(value) {
		return nil
	}
	at := make([]int, 0, len(value)+1)
	for i := range value {
		at = append(at, i)
	}
	return append(at, len(value))
}
