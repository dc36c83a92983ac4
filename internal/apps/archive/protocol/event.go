package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxEvent bounds an event, in bytes.
const MaxEvent = 1 << 20

// MaxChanges is the number of commits in one event at most. They fit into MaxEvent: a commit tag has
// less than 400 bytes.
const MaxChanges = 500

// Event is a server-sent event. Source: HTML standard 9.2.
type Event struct {
	Kind Kind
	ID   int64  // the number of the last commit that the client has with this event
	Data []byte // JSON in one line
}

// Alive is a comment, which tells the client that the connection works.
var Alive = []byte(": alive\n\n")

// Text returns the event as the stream has it. Data must be one line.
func (e Event) Text() []byte {
	return fmt.Appendf(nil, "event: %s\nid: %d\ndata: %s\n\n", e.Kind, e.ID, e.Data)
}

// EventReader reads a stream of events.
type EventReader struct{ lines *bufio.Scanner }

// NewEventReader returns a reader of the events in r.
func NewEventReader(r io.Reader) *EventReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), MaxEvent)
	return &EventReader{lines}
}

// Next returns the next event. An event without fields is a sign of life and has the Kind "". A stream
// that ends gives io.ErrUnexpectedEOF: it has no end of its own.
func (r *EventReader) Next() (Event, error) {
	var e Event
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if len(line) == 0 {
			return e, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Kind = Kind(value)
		case "id":
			number, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return e, fmt.Errorf("read event: id %.100q is no number", value)
			}
			e.ID = number
		case "data":
			if len(e.Data)+len(value) > MaxEvent {
				return e, errors.New("read event: it is too long")
			}
			e.Data = append(e.Data, value...)
		}
	}
	if err := r.lines.Err(); err != nil {
		return e, fmt.Errorf("read event: %w", err)
	}
	return e, io.ErrUnexpectedEOF
}
