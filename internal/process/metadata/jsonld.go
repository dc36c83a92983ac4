package metadata

import (
	"bytes"
	"encoding/json"

	"hce/dc/internal/web/htmltree"
)

// maxDepth is how deep objects and lists of JSON-LD are read. What is deeper is skipped.
const maxDepth = 40

// readData reads the values of interest out of JSON-LD in one pass, without building anything. Of broken
// JSON it reads what it can: commas too many, comments, control characters in texts, quotes without escapes,
// several values, and what is around them.
func (h *Head) readData(script []byte) {
	s := scanner{script: script, head: h}
	for s.skipTo('{', '[') {
		if bytes.HasPrefix(script[s.at:], []byte("[CDATA[")) {
			s.at += len("[CDATA[")
			continue
		}
		s.readValue(nil, nil, 0)
	}
}

// scanner reads a script. at never goes back.
type scanner struct {
	script []byte
	at     int
	head   *Head
}

// skipTo goes to the next of two bytes, and reports whether there is one.
func (s *scanner) skipTo(a, b byte) bool {
	for ; s.at < len(s.script); s.at++ {
		if c := s.script[s.at]; c == a || c == b {
			return true
		}
	}
	return false
}

// nextByte goes to the next byte that is no white space and no comment, and returns it; 0 at the end.
func (s *scanner) nextByte() byte {
	for s.at < len(s.script) {
		c := s.script[s.at]
		switch {
		case c <= ' ':
			s.at++
		case c == '/' && bytes.HasPrefix(s.script[s.at:], []byte("/*")):
			s.skipBehind("*/")
		case c == '/' && bytes.HasPrefix(s.script[s.at:], []byte("//")):
			s.skipBehind("\n")
		default:
			return c
		}
	}
	return 0
}

// skipBehind goes behind the end of a comment.
func (s *scanner) skipBehind(end string) {
	s.at += 2
	if i := bytes.Index(s.script[s.at:], []byte(end)); i >= 0 {
		s.at += i + len(end)
	} else {
		s.at = len(s.script)
	}
}

// readString reads a string, without its quotes and undecoded. It returns nil for a string without an end.
func (s *scanner) readString() []byte {
	s.at++
	from := s.at
	for s.at < len(s.script) {
		switch s.script[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.script[from : s.at-1]
		}
		s.at++
	}
	s.at = len(s.script)
	return nil
}

// readValue reads a value: the member key of an object, or of the list that this member is. An object is
// nested in parent; nil: in none.
func (s *scanner) readValue(key []byte, parent *object, depth int) {
	switch c := s.nextByte(); {
	case c == 0:
	case (c == '{' || c == '[') && depth >= maxDepth:
		s.skipNested()
	case c == '{':
		s.readObject(key, parent, depth)
	case c == '[':
		s.readList(key, parent, depth)
	case c == '"':
		if v := s.readString(); parent != nil {
			parent.setText(key, v)
		}
	default:
		for s.at < len(s.script) && bytes.IndexByte([]byte(",}]\""), s.script[s.at]) < 0 {
			s.at++
		}
	}
}

func (s *scanner) readObject(key []byte, parent *object, depth int) {
	s.at++
	o := object{role: roleOf(key, parent)}
	for {
		c := s.nextByte()
		if c == '}' || c == 0 {
			s.at = min(s.at+1, len(s.script))
			s.head.endObject(&o, key, parent)
			return
		}
		if c != '"' {
			s.at++ // a comma, or what is left of a broken value
			continue
		}
		name := s.readString()
		if s.nextByte() == ':' {
			s.at++
			s.readValue(name, &o, depth+1)
		}
	}
}

func (s *scanner) readList(key []byte, parent *object, depth int) {
	s.at++
	for {
		switch c := s.nextByte(); c {
		case ']', 0:
			s.at = min(s.at+1, len(s.script))
			return
		case '}':
			return // the end of the object around a list without an end
		case ',':
			s.at++
		default:
			from := s.at
			s.readValue(key, parent, depth+1)
			if s.at == from {
				s.at++
			}
		}
	}
}

// skipNested goes behind an object or a list.
func (s *scanner) skipNested() {
	open := 0
	for s.at < len(s.script) {
		switch s.script[s.at] {
		case '"':
			s.readString()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		s.at++
		if open == 0 {
			return
		}
	}
}

// TextOfJSON decodes a text of JSON, which may have references of HTML too. An escape that JSON does not
// know means its character, as in JavaScript.
func TextOfJSON(v []byte) string {
	if bytes.IndexByte(v, '\\') >= 0 {
		v = unescapeJSON(v)
	}
	if bytes.IndexByte(v, '&') >= 0 {
		v = htmltree.AppendDecoded(nil, v, false)
	}
	return string(v)
}

// unescapeJSON decodes the escapes of a text of JSON.
func unescapeJSON(v []byte) []byte {
	quoted := append(make([]byte, 0, len(v)+2), '"')
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c < ' ':
			quoted = append(quoted, ' ')
		case c == '\\' && i+1 < len(v):
			i++
			if bytes.IndexByte([]byte(`"\/bfnrtu`), v[i]) >= 0 {
				quoted = append(quoted, '\\')
			}
			quoted = append(quoted, max(v[i], ' '))
		default:
			quoted = append(quoted, c)
		}
	}
	var s string
	if json.Unmarshal(append(quoted, '"'), &s) != nil {
		return v
	}
	return []byte(s)
}
