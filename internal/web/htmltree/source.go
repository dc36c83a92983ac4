package htmltree

import "bytes"

// source is the page of a Doc as it is read.
type source struct {
	Doc
	pos   int
	zeros bool           // the page has NUL
	noEnd [TagCount]bool // no end tag of these elements follows
}

// rawEnd finds the end tag of an element whose content is no mark-up: end is where its content ends, next is behind
// the end tag.
func (s *source) rawEnd(tag Tag, pos int) (end, next int, found bool) {
	src := s.src
	if s.noEnd[tag] {
		return len(src), len(src), false
	}
	const (
		plain = iota
		escaped
		double // in a script in a comment in a script
	)
	state := plain
	dash := 0 // where the -- of the comment may begin
	for i := pos; ; {
		j := bytes.IndexByte(src[i:], '<')
		if j < 0 || i+j+1 >= len(src) {
			break
		}
		if state != plain {
			if k := commentEnd(src, dash, i+j); k >= 0 {
				state = plain
			}
			dash = max(dash, i+j)
		}
		i += j
		if src[i+1] == '/' {
			if b := sameName(src, i+2, tag); b > 0 {
				if state == double {
					state = escaped
					i = b
					continue
				}
				next := len(src)
				for p := b; ; {
					name, _, _, n, _ := readAttribute(src, p)
					if n < 0 {
						break
					}
					if p = n; name == nil {
						next = p
						break
					}
				}
				return i, next, true
			}
		} else if tag == TagScript {
			if state == plain && HasPrefix(src[i:], "<!--") {
				state = escaped
				dash = i + 2
			} else if state == escaped && sameName(src, i+1, TagScript) > 0 {
				state = double
			}
		}
		i++
	}
	if tag != TagScript {
		s.noEnd[tag] = true
	}
	return len(src), len(src), false
}

// commentEnd finds --> in src[from:to].
func commentEnd(src []byte, from, to int) int {
	if from >= to {
		return -1
	}
	return bytes.Index(src[from:to], []byte("-->"))
}

// sameName returns the end of the name at pos if it is this one; 0 otherwise.
func sameName(src []byte, pos int, tag Tag) int {
	b := pos
	for b < len(src) && !nameEnd[src[b]] && b-pos < 12 {
		b++
	}
	if b < len(src) && nameEnd[src[b]] && lookupTag(src[pos:b]) == tag {
		return b
	}
	return 0
}

// textNode makes a text of src[from:to]. A NUL is left out, or replaced.
func (s *source) textNode(from, to int, raw, replace bool) Node {
	text := s.src[from:to]
	n := Node{Tag: TagText, A: int32(from), B: int32(to)}
	if s.zeros && bytes.IndexByte(text, 0) >= 0 {
		with := []byte(nil)
		if replace {
			with = []byte("\uFFFD")
		}
		text = bytes.ReplaceAll(text, []byte{0}, with)
		if raw || bytes.IndexByte(text, '&') < 0 {
			n.A = int32(len(s.dec))
			s.dec = append(s.dec, text...)
			n.B = int32(len(s.dec))
			n.Flags = flagDecoded
			return n
		}
	}
	if !raw && bytes.IndexByte(text, '&') >= 0 {
		n.A = int32(len(s.dec))
		s.dec = AppendDecoded(s.dec, text, false)
		n.B = int32(len(s.dec))
		n.Flags = flagDecoded
	}
	return n
}

// skipLineFeed leaves out a line feed at the begin of a listing.
func (s *source) skipLineFeed() {
	for _, x := range lineFeeds {
		if HasPrefix(s.src[s.pos:], x) {
			s.pos += len(x)
			return
		}
	}
}

var lineFeeds = [...]string{"\n", "&#10;", "&#x0a;", "&#xa;", "&#x0A;", "&#xA;"}
