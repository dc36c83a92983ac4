package pyregexp

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxText is the longest expression that is compiled, in bytes.
const MaxText = 64 << 10

// maxPlaces bounds the groups of all matches that are in memory at once.
const maxPlaces = 4 << 20

// Regexp is a compiled expression. It is safe for use by many goroutines.
type Regexp struct {
	engine
	names map[string]int // of the groups
	count int            // of the groups, the whole match left out
}

// engine is an expression in one of the two engines.
type engine interface {
	// MatchString reports whether value holds a match.
	MatchString(value string) bool

	// start reports whether a match begins where value does.
	start(value string) bool

	// each calls found with the places of each match in value, in the manner of
	// regexp.FindAllStringSubmatchIndex, until it returns false. It reports
	// whether the whole value was searched.
	each(value string, found func(places []int) bool) bool
}

// Compile compiles an expression, multi-line and Unicode. What runs in linear
// time is preferred; look-around and back-references run in a backtracking
// engine with a time limit. An expression of more than MaxText bytes is an error.
func Compile(text string) (*Regexp, error) { return compile(text, "") }

// CompileFold is Compile for an expression that ignores case.
func CompileFold(text string) (*Regexp, error) { return compile(text, "i") }

func compile(text, flags string) (*Regexp, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("expression of %d bytes, where %d are the limit", len(text), MaxText)
	}
	own, text := globalFlags(text)
	flags += own
	if linear, ok := translate(text); ok && !strings.Contains(flags, "x") {
		if re, err := Linear("(?m" + flags + ")" + linear); err == nil {
			return &Regexp{linearEngine{re}, groupNames(re.SubexpNames()), re.NumSubexp()}, nil
		}
	}
	return compileBacktracking(text, flags)
}

// MatchStart reports whether a match begins where value does, as by re.match.
func (r *Regexp) MatchStart(value string) bool { return r.start(value) }

// groupNames turns the names of groups by number, as package regexp has them,
// round.
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

func (e linearEngine) start(value string) bool {
	at := e.FindStringIndex(value)
	return at != nil && at[0] == 0
}

func (e linearEngine) each(value string, found func(places []int) bool) bool {
	most := maxPlaces / (e.NumSubexp() + 1)
	all := e.FindAllStringSubmatchIndex(value, most)
	for _, places := range all {
		if !found(places) {
			return false
		}
	}
	return len(all) < most
}

// leadingFlags are the flags that Python wants at the start of an expression.
var leadingFlags = regexp.MustCompile(`^\(\?([aiLmsux]+)\)`)

// globalFlags takes the flags off the start of an expression, without those
// that say what holds anyway.
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
