package pyregexp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Template is what a match is replaced by, in the words of Python's re.sub: \1
// and \g<1> for a group by number, \g<name> by name, \g<0> for the match, \n and
// its like for control characters, \\ for a backslash. A $ stands for itself.
type Template struct{ parts []part }

// part is a text, or the text of a group.
type part struct {
	text  string
	group int // -1 for a text
}

// Template reads a replacement for the matches of r. A group that r does not
// have is an error.
func (r *Regexp) Template(text string) (Template, error) {
	if len(text) > MaxText {
		return Template{}, fmt.Errorf("replacement of %d bytes, where %d are the limit", len(text), MaxText)
	}
	var t Template
	for text != "" {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			t.parts = append(t.parts, part{text, -1})
			break
		}
		if i > 0 {
			t.parts = append(t.parts, part{text[:i], -1})
		}
		p, rest, err := r.escape(text[i+1:])
		if err != nil {
			return Template{}, err
		}
		t.parts = append(t.parts, p)
		text = rest
	}
	return t, nil
}

// controls are the characters that a backslash and a letter stand for.
var controls = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'f': "\f", 'v': "\v", 'a': "\a", 'b': "\b", '\\': `\`}

// escape reads what stands behind a backslash.
func (r *Regexp) escape(text string) (p part, rest string, err error) {
	c := text[0]
	switch {
	case c == '0':
		n := 1 // an octal number of up to three digits
		for n < len(text) && n < 3 && '0' <= text[n] && text[n] <= '7' {
			n++
		}
		code, err := strconv.ParseUint(text[:n], 8, 8)
		return part{string(rune(code)), -1}, text[n:], err
	case '1' <= c && c <= '9':
		n := 1
		if len(text) > 1 && '0' <= text[1] && text[1] <= '9' {
			n = 2
		}
		group, err := r.group(text[:n])
		return part{group: group}, text[n:], err
	case strings.HasPrefix(text, "g<"):
		end := strings.IndexByte(text, '>')
		if end < 0 {
			return p, "", errors.New(`replacement with "\g<" and no ">"`)
		}
		group, err := r.group(text[2:end])
		return part{group: group}, text[end+1:], err
	}
	if s, ok := controls[c]; ok {
		return part{s, -1}, text[1:], nil
	}
	return part{`\` + text[:1], -1}, text[1:], nil
}

// group is the number of a group by number or name.
func (r *Regexp) group(name string) (int, error) {
	if n, ok := r.names[name]; ok {
		return n, nil
	}
	if n, err := strconv.Atoi(name); err == nil && 0 <= n && n <= r.count {
		return n, nil
	}
	return 0, fmt.Errorf("replacement that names the group %.40q, which the expression does not have", name)
}

// Replace returns value with each match replaced, as by re.sub. When that would
// make it longer than limit bytes, or the search takes too long, it returns value
// as it is and false.
func (r *Regexp) Replace(value string, t Template, limit int) (string, bool) {
	var b strings.Builder
	end, changed, fits := 0, false, true
	whole := r.each(value, func(places []int) bool {
		changed = true
		b.WriteString(value[end:places[0]])
		for _, p := range t.parts {
			switch {
			case p.group < 0:
				b.WriteString(p.text)
			case places[2*p.group] >= 0:
				b.WriteString(value[places[2*p.group]:places[2*p.group+1]])
			}
			if b.Len() > limit {
				fits = false
				return false
			}
		}
		end = places[1]
		return true
	})
	if !whole || !fits || b.Len()+len(value)-end > limit {
		return value, false
	}
	if !changed {
		return value, true
	}
	return b.String() + value[end:], true
}
