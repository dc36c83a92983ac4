package pyregexp

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"
)

const (
	// matchLimit is how long one match of a backtracking expression may take.
	matchLimit = 50 * time.Millisecond

	// searchLimit is how long the search for all matches in one value may take.
	searchLimit = time.Second

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

func compileBacktracking(text, flags string) (r *Regexp, err error) {
	defer func() {
		if recover() != nil { // a fault of the engine is one of the expression here
			r, err = nil, errors.New("expression that cannot be compiled")
		}
	}()
	text, names, count := numbered(text)
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

// groupName is the head of a named group or of a reference to one.
var groupName = regexp.MustCompile(`^\(\?P(?:<(\w+)>|=(\w+)\))`)

// numbered turns the named groups of a Python expression into plain ones, which
// number alike in both engines: the backtracking one would number the named
// groups last.
func numbered(text string) (plain string, names map[string]int, count int) {
	var b strings.Builder
	names = map[string]int{}
	inClass := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i++
			continue
		case c == '[' && !inClass:
			inClass = true
			for i+1 < len(text) && (text[i+1] == ']' && text[i] != ']' || text[i+1] == '^' && text[i] == '[') {
				b.WriteByte(text[i])
				i++
			}
		case c == ']':
			inClass = false
		case c == '(' && !inClass && !strings.HasPrefix(text[i:], "(?"):
			count++
		case c == '(' && !inClass:
			m := groupName.FindStringSubmatch(text[i:])
			switch {
			case m == nil:
			case m[1] != "":
				count++
				names[m[1]] = count
				b.WriteByte('(')
				i += len(m[0]) - 1
				continue
			case names[m[2]] != 0:
				b.WriteString(`\k<` + strconv.Itoa(names[m[2]]) + `>`)
				i += len(m[0]) - 1
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), names, count
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

func (b *backtracking) start(value string) bool {
	if b.tired.Load() >= maxTired {
		return false
	}
	m, err := b.re.FindStringMatch(value)
	if err != nil {
		b.tired.Add(1)
	}
	return err == nil && m != nil && m.Index == 0
}

func (b *backtracking) each(value string, found func(places []int) bool) bool {
	if b.tired.Load() >= maxTired {
		return false
	}
	until := time.Now().Add(searchLimit)
	at := offsets(value)
	var places []int
	m, err := b.re.FindStringMatch(value)
	for ; m != nil && err == nil; m, err = b.re.FindNextMatch(m) {
		if time.Now().After(until) {
			err = errors.New("time is over")
			break
		}
		places = places[:0]
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				places = append(places, -1, -1)
				continue
			}
			begin, end := g.Index, g.Index+g.Length
			if at != nil {
				begin, end = at[begin], at[end]
			}
			places = append(places, begin, end)
		}
		if !found(places) {
			return false
		}
	}
	if err != nil {
		b.tired.Add(1)
	}
	return err == nil
}

// offsets gives for each rune of value the byte where it begins, and the length
// at the end; nil when runes and bytes are the same.
func offsets(value string) []int {
	if ascii(value) {
		return nil
	}
	at := make([]int, 0, len(value)+1)
	for i := range value {
		at = append(at, i)
	}
	return append(at, len(value))
}
