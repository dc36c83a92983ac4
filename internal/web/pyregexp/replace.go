package pyregexp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Template is a replacement in the syntax of Python's re.sub: \1 and \g<1> is a group by
// number, \g<name> by name, \g<0> the whole match, \n etc. a control character, \\ a
// backslash. $ is literal.
type Template struct{ parts []part }

// part is a text or a group.
type part struct {
	text  string
	group int // -1 for a text
}

// Template parses a replacement for the matches of r. An unknown group is an error.
func (r *Regexp) Template(text string) (Template, error) {
	if len(text) > MaxText {
		return Template{}, fmt.Errorf("replacement of %d bytes; the limit is %d", len(text), MaxText)
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
		p, rest, err := r.parseEscape(text[i+1:])
		if err != nil {
			return Template{}, err
		}
		t.parts = append(t.parts, p)
		text = rest
	}
	return t, nil
}

// controls are the characters that a backslash and a letter mean.
var controls = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'f': "\f", 'v': "\v", 'a': "\a", 'b': "\b", '\\': `\`}

// parseEscape parses the text after a backslash.
func (r *Regexp) parseEscape(text string) (p part, rest string, err error) {
	c := text[0]
	switch {
	case c == '0':
		n := 1 // up to three octal digits
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
		group, err := r.groupIndex(text[:n])
		return part{group: group}, text[n:], err
	case strings.HasPrefix(text, "g<"):
		end := strings.IndexByte(text, '>')
		if end < 0 {
			return p, "", errors.New(`replacement with "\g<" but no ">"`)
		}
		group, err := r.groupIndex(text[2:end])
		return part{group: group}, text[end+1:], err
	}
	if s, ok := controls[c]; ok {
		return part{s, -1}, text[1:], nil
	}
	return part{`\` + text[:1], -1}, text[1:], nil
}

// groupIndex returns the index of a group by number or name.
func (r *Regexp) groupIndex(name string) (int, error) {
	if n, ok := r.names[name]; ok {
		return n, nil
	}
	if n, err := strconv.Atoi(name); err == nil && 0 <= n && n <= r.count {
		return n, nil
	}
	return 0, fmt.Errorf("replacement with the group %.40q, which the expression does not have", name)
}

// Replace returns value with each match replaced, like re.sub. If the result would exceed
// limit bytes or the search times out, it returns value and false.
func (r *Regexp) Replace(value string, t Template, limit int) (string, bool) {
	var b strings.Builder
	end, fits := 0, true
	whole := r.forEachMatch(value, func(spans []int) bool {
		b.WriteString(value[end:spans[0]])
		for _, p := range t.parts {
			switch {
			case p.group < 0:
				b.WriteString(p.text)
			case spans[2*p.group] >= 0:
				b.WriteString(value[spans[2*p.group]:spans[2*p.group+1]])
			}
			if b.Len() > limit {
				fits = false
				return false
			}
		}
		end = spans[1]
		return true
	})
	if !whole || !fits || b.Len()+len(value)-end > limit {
		return value, false
	}
	return b.String() + value[end:], true
}

// FindAll returns the groups of all matches in value, in order and without empty ones, or
// the matches themselves if the expression has no groups. It returns at most limit texts,
// and false if there are more or the search times out.
func (r *Regexp) FindAll(value string, limit int) (texts []string, whole bool) {
	fits := true
	whole = r.forEachMatch(value, func(spans []int) bool {
		if r.count > 0 {
			spans = spans[2:]
		}
		for i := 0; i+1 < len(spans) && fits; i += 2 {
			if spans[i] < 0 || spans[i] == spans[i+1] {
				continue
			}
			if fits = len(texts) < limit; fits {
				texts = append(texts, value[spans[i]:spans[i+1]])
			}
		}
		return fits
	})
	return texts, whole && fits
}
