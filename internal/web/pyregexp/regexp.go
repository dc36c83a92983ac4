package pyregexp

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxText bounds an expression, in bytes.
const MaxText = 64 << 10

// maxSpans bounds the group offsets of all matches that are in memory at once.
const maxSpans = 4 << 20

// Regexp is a compiled expression. Safe for concurrent use.
type Regexp struct {
	engine
	names map[string]int // of the groups
	count int            // of the groups, without the whole match
}

// engine is an expression in one of the two engines.
type engine interface {
	// MatchString reports whether value contains a match.
	MatchString(value string) bool

	// matchesStart reports whether a match begins at the start of value.
	matchesStart(value string) bool

	// forEachMatch calls found with the group offsets of each match in value, as in
	// regexp.FindAllStringSubmatchIndex, until it returns false. It reports whether the
	// whole value was searched.
	forEachMatch(value string, found func(spans []int) bool) bool
}

// Compile compiles an expression, multi-line and Unicode, of at most MaxText bytes.
// Look-around and back-references run in a backtracking engine with a time limit, all else
// in linear time.
func Compile(text string) (*Regexp, error) { return compileExpression(text, "") }

// CompileFold is Compile, ignoring case.
func CompileFold(text string) (*Regexp, error) { return compileExpression(text, "i") }

func compileExpression(text, flags string) (*Regexp, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("expression of %d bytes; the limit is %d", len(text), MaxText)
	}
	own, text := globalFlags(text)
	flags += own
	if linear, ok := translateToLinear(text); ok && !strings.Contains(flags, "x") {
		if re, err := compileLinear("(?m" + flags + ")" + linear); err == nil {
			return &Regexp{linearEngine{re}, groupNames(re.SubexpNames()), re.NumSubexp()}, nil
		}
	}
	return compileBacktracking(text, flags)
}

// MatchStart reports whether a match begins at the start of value, like re.match.
func (r *Regexp) MatchStart(value string) bool { return r.matchesStart(value) }

// groupNames inverts the list of group names of package regexp.
func groupNames(byNumber []string) map[string]int {
	names := map[string]int{}
	for i, name := range byNumber {
		if name != "" {
			names[name] = i
		}
	}
	return names
}

// linearEngine is an expression of package regexp.
type linearEngine struct{ *regexp.Regexp }

func (e linearEngine) matchesStart(value string) bool {
	at := e.FindStringIndex(value)
	return at != nil && at[0] == 0
}

func (e linearEngine) forEachMatch(value string, found func(spans []int) bool) bool {
	most := maxSpans / (e.NumSubexp() + 1)
	all := e.FindAllStringSubmatchIndex(value, most)
	for _, spans := range all {
		if !found(spans) {
			return false
		}
	}
	return len(all) < most
}

// leadingFlags are Python's global flags at the start of an expression.
var leadingFlags = regexp.MustCompile(`^\(\?([aiLmsux]+)\)`)

// globalFlags removes the flags from the start of an expression. It drops those that are
// always on.
func globalFlags(text string) (flags, rest string) {
	m := leadingFlags.FindStringSubmatch(text)
	if m == nil {
		return "", text
	}
	flags = strings.Map(func(r rune) rune {
		if strings.ContainsRune("aLmu", r) {
			return -1
		}
		return r
	}, m[1])
	return flags, text[len(m[0]):]
}

// classes are the classes that are Unicode in Python and ASCII in package regexp, in
// bracket syntax.
var classes = map[byte]string{
	'w': `\p{L}\p{M}\p{N}_`,
	'd': `\p{Nd}`,
	's': `\s\v\x1c-\x1f\x{85}\p{Z}`,
}

var (
	// escapes matches escapes; syntaxPart also matches a whole class and "{,".
	escapes    = regexp.MustCompile(`(?s)\\.`)
	syntaxPart = regexp.MustCompile(`(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{,`)
)

// translateToLinear rewrites a Python expression for package regexp. It returns false if that is
// impossible.
func translateToLinear(text string) (linear string, ok bool) {
	isASCII := isASCIIText(text)
	ok = true
	escape := func(part string, inClass bool) string {
		set, known := classes[part[1]|0x20]
		negated := part[1] < 'a'
		switch {
		case known && inClass && negated:
			ok = false
		case known && inClass:
			return set
		case known && negated:
			return "[^" + set + "]"
		case known:
			return "[" + set + "]"
		case part == `\Z`:
			return `\z`
		case !isASCII && (part == `\b` || part == `\B`):
			ok = false // package regexp knows only ASCII word boundaries
		case part == `\b` && inClass:
			return `\x08`
		}
		return part
	}
	linear = syntaxPart.ReplaceAllStringFunc(text, func(part string) string {
		switch part[0] {
		case '{':
			return "{0,"
		case '[':
			return escapes.ReplaceAllStringFunc(part, func(e string) string { return escape(e, true) })
		}
		return escape(part, false)
	})
	return linear, ok
}

func isASCIIText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}
