package bus

import (
	"strconv"

	"hce/dc/internal/wire"
)

// maxField limits the text of a field that peek keeps: no class, uid or number is longer.
const maxField = 64

// peek finds class, uid and eventType of an event in parts of its frame, without the object.
// It serves requests that are refused before they are read. It accepts more than JSON.
type peek struct {
	event wire.Event // the fields so far
	typed bool       // eventType was seen

	depth           int
	quoted, escaped bool
	value           bool // after the colon of the outermost object
	key, token      []byte
}

// readPart reads the next part of the frame.
func (p *peek) readPart(part []byte) {
	for _, c := range part {
		switch {
		case p.escaped:
			p.escaped = false
			p.keepByte(c)
		case p.quoted && c == '\\':
			p.escaped = true
		case p.quoted && c == '"':
			p.quoted = false
			if p.depth == 1 && !p.value {
				p.key, p.token = append(p.key[:0], p.token...), p.token[:0]
			}
		case p.quoted:
			p.keepByte(c)
		case c == '"':
			p.quoted = true
			p.token = p.token[:0]
		case c == '{', c == '[':
			p.depth++
		case c == ':' && p.depth == 1:
			p.value, p.token = true, p.token[:0]
		case c == ',' && p.depth == 1, (c == '}' || c == ']') && p.depth == 1:
			p.storeField()
			p.value, p.token = false, p.token[:0]
			if c != ',' {
				p.depth--
			}
		case c == '}', c == ']':
			p.depth--
		case c > ' ':
			p.keepByte(c)
		}
	}
}

func (p *peek) keepByte(c byte) {
	if p.depth == 1 && len(p.token) <= maxField {
		p.token = append(p.token, c)
	}
}

// storeField stores the value that has just ended.
func (p *peek) storeField() {
	switch string(p.key) {
	case "class":
		p.event.Class = string(p.token)
	case "uid":
		p.event.UID = string(p.token)
	case "eventType":
		if n, err := strconv.Atoi(string(p.token)); err == nil {
			p.event.Type, p.typed = n, true
		}
	}
}

// canAnswer reports whether a refusal can be answered.
func (p *peek) canAnswer() bool { return p.typed && p.event.Class != "" && usableUID(p.event.UID) }
