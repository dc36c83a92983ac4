package wire

import (
	"encoding/json"
	"fmt"
	"regexp"

	"hce/dc/internal/wire/lenient"
)

// Classes of events. Each class has its own event types (docs/spec/DECISIONS.md 1.1).
const (
	ClassClient   = "client"
	ClassAdmin    = "admin"
	ClassInternal = "internal"
)

// Event types of class admin (docs/spec/daemon.md 1.3): request and answer.
const (
	AdminStat       = 1024
	AdminGet        = 1025
	AdminSet        = 1026
	AdminState      = 1027
	AdminSuspend    = 31
	AdminStatAns    = 120
	AdminGetAns     = 121
	AdminSetAns     = 122
	AdminStateAns   = 123
	AdminSuspendAns = 125
)

// AdminCluster is an operator's command to the manager Cluster (cluster.Command), and AdminClusterAns its answer.
const (
	AdminCluster    = 1030
	AdminClusterAns = 126
)

// Event types of class internal: between the managers of one daemon.
const (
	InternalReady    = 1 // a manager to AdminInterfaceServer: it has started
	InternalTaskDone = 2 // a worker to its manager: the task has ended
	InternalWork     = 4 // a manager to another: check for new work
	InternalHold     = 5 // NodeAgent to a manager: start no new work, or go on; a Hold
)

// Hold is the object of InternalHold. The answer is a GeneralResponse.
type Hold struct {
	Held bool `json:"held"`
}

// Event is one message: one JSON frame after any routing frames. Values of Cookie return
// unchanged with the answer.
type Event struct {
	Class  string                     `json:"class"`
	UID    string                     `json:"uid"` // 128 random bits, hexadecimal
	Type   int                        `json:"eventType"`
	Object json.RawMessage            `json:"eventObj"`
	Cookie map[string]json.RawMessage `json:"cookie"`
}

var namePattern = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// part is a part of the frame that is read: it is not copied, as it may have megabytes.
type part []byte

func (p *part) UnmarshalJSON(raw []byte) error {
	*p = raw
	return nil
}

// ParseEvent reads one frame. Object is a part of it, so the frame must not change. It refuses invalid JSON, an unknown class and an invalid
// uid; then the caller must not act on the event.
func ParseEvent(frame []byte) (Event, error) {
	var e Event
	read := struct {
		*Event
		Object part `json:"eventObj"`
	}{Event: &e}
	err := json.Unmarshal(frame, &read)
	e.Object = json.RawMessage(read.Object)
	if err != nil {
		return e, fmt.Errorf("not an event: %w", err)
	}
	switch e.Class {
	case ClassClient, ClassAdmin, ClassInternal:
	default:
		return e, fmt.Errorf("not an event: class %q is unknown", lenient.ClipText([]byte(e.Class)))
	}
	if !namePattern.MatchString(e.UID) {
		return e, fmt.Errorf("not an event: uid %q must be 1 to 64 letters, digits, - or _", lenient.ClipText([]byte(e.UID)))
	}
	return e, nil
}

// Frame returns the event as one frame. It copies Object, which must be valid JSON,
// without parsing it.
func (e Event) Frame() ([]byte, error) {
	object, cookie := e.Object, []byte("{}")
	if len(object) == 0 {
		object = json.RawMessage("null")
	}
	head, err := json.Marshal(struct {
		Class string `json:"class"`
		UID   string `json:"uid"`
		Type  int    `json:"eventType"`
	}{e.Class, e.UID, e.Type})
	if err == nil && len(e.Cookie) > 0 {
		cookie, err = json.Marshal(e.Cookie)
	}
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.UID, err)
	}
	frame := make([]byte, 0, len(head)+len(object)+len(cookie)+32)
	frame = append(frame, head[:len(head)-1]...)
	frame = append(frame, `,"eventObj":`...)
	frame = append(frame, object...)
	frame = append(frame, `,"cookie":`...)
	frame = append(frame, cookie...)
	return append(frame, '}'), nil
}

// Answer returns the answer to e, with the same class, uid and cookie.
func (e Event) Answer(eventType int, object any) (Event, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return Event{}, fmt.Errorf("encode the answer to event %s: %w", e.UID, err)
	}
	return Event{Class: e.Class, UID: e.UID, Type: eventType, Object: raw, Cookie: e.Cookie}, nil
}

// AdminFields is the object of STAT, GET and SET and of their answers: values of one
// manager by name (docs/spec/daemon.md 4.2). The value of an unknown name is null.
type AdminFields struct {
	ClassName string         `json:"className"`
	Fields    map[string]any `json:"fields"`
	// Errors has the reason for each value that SET refused.
	Errors map[string]string `json:"errors,omitempty"`
}

// AdminCommand is the object of STATE and of its answer. CommandShutdown asks a manager
// to stop; the answer is CommandShutdown, or CommandError with a message.
type AdminCommand struct {
	ClassName string `json:"className"`
	Command   int    `json:"command"`
	Message   string `json:"errorMessage,omitempty"`
}

// Commands of AdminCommand.
const (
	CommandReady    = 1
	CommandShutdown = 2
	CommandError    = 7
)
