package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
)

// Exit codes of dc-admin (daemon 4.3).
const (
	AdminOK      = 0
	AdminFailed  = 1 // a class did not answer or refused, or the command is unknown
	AdminWrong   = 2 // ini, fields or classes are missing or malformed
	adminTimeout = 1 // of a pair, not of the program
)

// Command is one command of dc-admin for one or more classes.
type Command struct {
	Name    string // STAT, GET, SET, STOP, SUSPEND
	Fields  map[string]any
	Classes []string // in the order of their answers
	Server  Server
}

// Fields reads the --fields of a command: names for STAT and GET, name:value for
// SET, or a JSON object for SET whose values hold commas. A value may hold
// colons; \, stands for a comma.
func Fields(command, text string) (map[string]any, error) {
	fields := map[string]any{}
	text = strings.TrimSpace(text)
	if command == "SET" && strings.HasPrefix(text, "{") {
		if err := decode([]byte(text), &fields); err != nil {
			return nil, fmt.Errorf("--fields is not a JSON object: %w", err)
		}
		return fields, nil
	}
	const comma = "\x00"
	for _, part := range strings.Split(strings.ReplaceAll(text, `\,`, comma), ",") {
		part = strings.TrimSpace(strings.ReplaceAll(part, comma, ","))
		if part == "" {
			continue
		}
		name, value, hasValue := strings.Cut(part, ":")
		name = strings.TrimSpace(name)
		switch {
		case command == "SET" && (!hasValue || name == ""):
			return nil, fmt.Errorf("--fields: %q is not name:value", part)
		case command == "SET":
			fields[name] = value
		case command == "STAT":
			fields[name] = nil
		default:
			fields[part] = ""
		}
	}
	return fields, nil
}

var adminTypes = map[string]int{"STAT": dc.AdminStat, "GET": dc.AdminGet, "SET": dc.AdminSet, "STOP": dc.AdminState}

// suspend is the one command that is for the whole daemon.
const suspend = "SUSPEND"

// Do asks one class after the other and gives the list of pairs that dc-admin
// prints: [object, 0], or [empty object, 1] for a class that did not answer
// (daemon 4.3).
func (c Command) Do(ctx context.Context) Outcome {
	eventType, ok := adminTypes[c.Name]
	if !ok && c.Name != suspend {
		return AdminFailure(AdminFailed, fmt.Sprintf("command %q is unknown; it is one of STAT, GET, SET, STOP, SUSPEND", c.Name))
	}
	b, err := bus.New()
	if err != nil {
		return AdminFailure(AdminFailed, err.Error())
	}
	defer b.Term(0)
	if c.Name == suspend {
		return c.suspend(ctx, b)
	}
	exit := AdminOK
	pairs := []any{}
	for _, class := range c.Classes {
		object, code := c.one(ctx, b, eventType, class)
		if code != 0 || refused(object) {
			exit = AdminFailed
		}
		pairs = append(pairs, []any{object, code})
	}
	return Outcome{JSON: pairs, Exit: exit}
}

func (c Command) one(ctx context.Context, b *bus.Bus, eventType int, class string) (object any, code int) {
	var request any = dc.AdminFields{ClassName: class, Fields: c.Fields}
	var empty any = dc.AdminFields{ClassName: class, Fields: map[string]any{}}
	if eventType == dc.AdminState {
		request = dc.AdminCommand{ClassName: class, Command: dc.CommandShutdown}
		empty = dc.AdminCommand{ClassName: class}
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return empty, adminTimeout
	}
	answer, err := c.Server.ask(ctx, b, dc.Event{Class: dc.ClassAdmin, UID: bus.NewUID(), Type: eventType, Object: raw})
	if err != nil {
		return withError(empty, c.reason(err)), adminTimeout
	}
	return answer.Object, 0
}

// suspend asks the daemon to suspend all its managers, with the field "1", or to
// let them run, with any other. Without fields nothing is asked (daemon 4.2).
func (c Command) suspend(ctx context.Context, b *bus.Bus) Outcome {
	if len(c.Fields) == 0 {
		return Outcome{JSON: []any{}}
	}
	kind := 1
	if _, ok := c.Fields["1"]; ok {
		kind = 0
	}
	empty := dc.GeneralResponse{}
	raw, err := json.Marshal(map[string]int{"suspendType": kind})
	if err != nil {
		return AdminFailure(AdminFailed, err.Error())
	}
	answer, err := c.Server.ask(ctx, b, dc.Event{Class: dc.ClassAdmin, UID: bus.NewUID(), Type: dc.AdminSuspend, Object: raw})
	if err != nil {
		return Outcome{Exit: AdminFailed, JSON: []any{[]any{withError(empty, c.reason(err)), adminTimeout}}}
	}
	exit := AdminOK
	if json.Unmarshal(answer.Object, &empty) != nil || empty.ErrorCode != 0 || answer.Type != dc.AdminSuspendAns {
		exit = AdminFailed
	}
	return Outcome{Exit: exit, JSON: []any{[]any{answer.Object, 0}}}
}

func (c Command) reason(err error) string {
	if errors.Is(err, errTimeout) {
		return fmt.Sprintf("within %d ms %s", c.Server.Timeout.Milliseconds(), c.Server.noAnswer())
	}
	return err.Error()
}

// refused reports whether a manager's answer says that it did not do it.
func refused(object any) bool {
	raw, ok := object.(json.RawMessage)
	if !ok {
		return false
	}
	var o struct {
		Command int               `json:"command"`
		Errors  map[string]string `json:"errors"`
	}
	return json.Unmarshal(raw, &o) != nil || o.Command == dc.CommandError || len(o.Errors) > 0
}

// AdminFailure is the output of a usage or configuration error: one empty object
// with the error and without a code beside it.
func AdminFailure(exit int, message string) Outcome {
	m := withError(dc.AdminFields{Fields: map[string]any{}}, message)
	m["errorCode"] = exit
	return Outcome{Exit: exit, JSON: []any{[]any{m}}}
}

func withError(object any, message string) map[string]any {
	raw, err := json.Marshal(object)
	m := map[string]any{}
	if err == nil {
		_ = json.Unmarshal(raw, &m) // our own object
	}
	m["errorCode"], m["errorMessage"] = 1, message
	return m
}
