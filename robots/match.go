package robots

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Rules and paths are compared as texts of octets with escapes decoded, so that "%62"
// equals "b". Each octet is one rune. Two escapes differ from the characters that they
// encode, and have runes above all octets.
const (
	escapedSlash    = 0x100 + iota // %2F in a path
	escapedQuestion                // %3F in a path
)

// pathOctets returns the octets of a path with its query.
func pathOctets(path string) string {
	var b strings.Builder
	b.Grow(len(path))
	query := false
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '?' {
			query = true
		}
		var octet []byte
		if c == '%' {
			octet, _ = hex.DecodeString(path[i+1 : min(i+3, len(path))])
		}
		if len(octet) == 0 {
			b.WriteRune(rune(c))
			continue
		}
		r := rune(octet[0])
		i += 2
		switch {
		case r == '/' && !query:
			r = escapedSlash
		case r == '?' && !query:
			r = escapedQuestion
		}
		b.WriteRune(r)
	}
	return b.String()
}

// rule is one Allow or Disallow line.
type rule struct {
	allow bool
	// parts are the texts between the "*" of the rule, in octets. The first begins the
	// path, and the others follow in order. If end is set, the last one ends the path.
	parts []string
	end   bool
	size  int    // specificity: octets of the pattern, with "*" and "$"
	line  string // for error messages
}

// maxLine bounds the rule text in messages, in bytes.
const maxLine = 200

func newRule(number int, allow bool, pattern string) *rule {
	key, shown := "Disallow", pattern
	if allow {
		key = "Allow"
	}
	if len(shown) > maxLine {
		shown = shown[:maxLine] + "..."
	}
	r := &rule{allow: allow, line: fmt.Sprintf("line %d: %s: %s", number, key, strings.ToValidUTF8(shown, "?"))}
	if pattern, r.end = strings.CutSuffix(pattern, "$"); r.end {
		r.size++
	}
	query := false
	for i, part := range strings.Split(pattern, "*") {
		if i > 0 {
			r.size++
			if part == "" && i > 1 && r.parts[len(r.parts)-1] == "" {
				continue // "**" equals "*"
			}
		}
		// A part after a "?" belongs to the query.
		if query {
			part = strings.TrimPrefix(pathOctets("?"+part), "?")
		} else {
			query = strings.Contains(part, "?")
			part = pathOctets(part)
		}
		r.size += utf8.RuneCountInString(part)
		r.parts = append(r.parts, part)
	}
	return r
}

// matchesPath reports whether the rule applies to a path. It searches each part once, leftmost,
// after the previous one; this finds a match without backtracking. Source: RFC 9309 2.2.3.
func (r *rule) matchesPath(path string) bool {
	first, rest := r.parts[0], r.parts[1:]
	if !strings.HasPrefix(path, first) {
		return false
	}
	path = path[len(first):]
	if len(rest) == 0 {
		return !r.end || path == ""
	}
	for _, part := range rest[:len(rest)-1] {
		i := strings.Index(path, part)
		if i < 0 {
			return false
		}
		path = path[i+len(part):]
	}
	last := rest[len(rest)-1]
	if r.end {
		return strings.HasSuffix(path, last)
	}
	return strings.Contains(path, last)
}

// decisiveRule returns the most specific matching rule, or nil. Of equal rules, allow wins.
func (g *group) decisiveRule(path string) *rule {
	var best *rule
	for _, b := range g.blocks {
		for _, r := range b.rules {
			if best != nil && (r.size < best.size || r.size == best.size && (best.allow || !r.allow)) {
				continue
			}
			if r.matchesPath(path) {
				best = r
			}
		}
	}
	return best
}
