package warc

import (
	"bytes"
	"strings"
)

// Message is the head of an HTTP message in a block: the start line and the fields.
type Message struct {
	Start  string // such as "HTTP/1.1 200 OK"
	Fields Fields
}

// ParseMessage reads the head of an HTTP message as it was recorded, also a broken one: it ignores
// lines without a colon and joins folded ones. body is the rest of block. It is nil if the head has
// no end; then all of block is head.
func ParseMessage(block []byte) (m Message, body []byte) {
	for first := true; len(block) > 0; first = false {
		line, rest, _ := bytes.Cut(block, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		block = rest
		switch {
		case first && isStart(line):
			m.Start = string(line)
		case len(line) == 0:
			return m, block
		default:
			m.addLine(string(line))
		}
	}
	return m, nil
}

// isStart reports whether the first line of a head is a start line: a blank comes before a colon.
func isStart(line []byte) bool {
	at := bytes.IndexAny(line, " :")
	return len(line) > 0 && (at < 0 || line[at] == ' ')
}

// addLine adds a line of a head.
func (m *Message) addLine(line string) {
	if n := len(m.Fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		m.Fields[n-1].Value += " " + strings.TrimSpace(line)
		return
	}
	if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "" {
		m.Fields = append(m.Fields, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
}

// Append appends the head with its empty line.
func (m Message) Append(to []byte) []byte {
	if m.Start != "" {
		to = append(append(to, m.Start...), lineEnd...)
	}
	for _, f := range m.Fields {
		to = AppendField(to, f.Name, f.Value)
	}
	return append(to, lineEnd...)
}
