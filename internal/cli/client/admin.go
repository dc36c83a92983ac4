package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// adminTimeout is the code of a class without an answer in its pair; it is no exit status.
const adminTimeout = 1

// isUnreachable reports whether no request can reach the daemon.
func isUnreachable(err error) bool {
	return errors.Is(err, errAway) || errors.Is(err, errKeys) || errors.Is(err, errAddress)
}

// adminExit is the exit status of dc-admin after an error of the connection or of a manager.
func adminExit(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return command.ExitDone
	case ctx.Err() != nil:
		return command.ExitInterrupted
	case isUnreachable(err):
		return command.ExitFailed
	}
	return command.ExitErrors
}

// Command is one command of dc-admin for its classes.
type Command struct {
	Name    string // STAT, GET, SET, STOP, SUSPEND or RESUME; see Drain for DRAIN
	Fields  map[string]any
	Classes []string // in the order of the answers; SUSPEND and RESUME take empty as all
	Server  Server
}

// Fields parses the option --fields of a command: names for STAT and GET, name:value pairs
// or a JSON object for SET. Values may contain colons; \, is a comma.
func Fields(command, text string) (map[string]any, error) {
	fields := map[string]any{}
	text = strings.TrimSpace(text)
	if command == "SET" && strings.HasPrefix(text, "{") {
		if err := decodeJSON([]byte(text), &fields); err != nil {
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

var adminTypes = map[string]int{"STAT": wire.AdminStat, "GET": wire.AdminGet, "SET": wire.AdminSet, "STOP": wire.AdminState}

// Commands that send one request for all their classes.
const (
	suspend = "SUSPEND"
	resume  = "RESUME"
)

// Commands is the list of all commands, in the order of the help.
const Commands = "STAT, GET, SET, STOP, SUSPEND, RESUME, DRAIN"

// notServed explains the commands of the original that are not supported.
var notServed = map[string]string{
	"SYSTEM":     "SYSTEM is not served: the daemon frees its memory by itself",
	"SQL_CUSTOM": "SQL_CUSTOM is not served here; dc-client --command SQL_CUSTOM asks the data nodes",
}

// Do sends the command to one class after the other and returns the list of pairs that
// dc-admin prints: [object, 0], or [empty object, 1] for a class that did not answer
// (docs/spec/daemon.md 4.3).
func (c Command) Do(ctx context.Context) Outcome {
	if why, ok := notServed[c.Name]; ok {
		return AdminFailure(command.ExitErrors, why)
	}
	eventType, ok := adminTypes[c.Name]
	whole := c.Name == suspend || c.Name == resume
	if !ok && !whole {
		return AdminFailure(command.ExitErrors, fmt.Sprintf("--cmd %q is unknown%s; it is one of %s", c.Name, config.Suggestion(config.Nearest(c.Name, strings.Split(Commands, ", "))), Commands))
	}
	b, err := bus.New()
	if err != nil {
		return AdminFailure(command.ExitFailed, err.Error())
	}
	defer b.Term(0)
	if whole {
		answer, code, err := c.Server.setSuspended(ctx, b, c.suspendType(), c.Classes)
		return Outcome{Exit: adminExit(ctx, err), JSON: []any{[]any{answer, code}}}
	}
	var gone error // of the connection: the other classes are not asked
	exit := command.ExitDone
	pairs := []any{}
	for _, class := range c.Classes {
		object, err := c.askClass(ctx, b, eventType, class, gone)
		if ctx.Err() != nil || isUnreachable(err) {
			gone = err
		}
		code := 0
		if err != nil {
			code = adminTimeout
		}
		if err == nil && isRefusal(object) {
			err = errRefused
		}
		exit = max(exit, adminExit(ctx, err))
		pairs = append(pairs, []any{object, code})
	}
	return Outcome{JSON: pairs, Exit: exit}
}

var errRefused = errors.New("a manager refused")

// askClass asks one class, unless the connection is lost. The error means that it did not answer.
func (c Command) askClass(ctx context.Context, b *bus.Bus, eventType int, class string, gone error) (object any, err error) {
	var request any = wire.AdminFields{ClassName: class, Fields: c.Fields}
	var empty any = wire.AdminFields{ClassName: class, Fields: map[string]any{}}
	if eventType == wire.AdminState {
		request = wire.AdminCommand{ClassName: class, Command: wire.CommandShutdown}
		empty = wire.AdminCommand{ClassName: class}
	}
	var answer wire.Event
	if err = gone; err == nil {
		answer, err = c.Server.sendAndWait(ctx, b, adminEvent(eventType, request))
	}
	if err != nil {
		return withError(empty, c.Server.explainExchange(err)), err
	}
	return answer.Object, nil
}

// adminEvent is a request to the admin port.
func adminEvent(eventType int, object any) wire.Event {
	raw, _ := json.Marshal(object) // values of JSON: cannot fail
	return wire.Event{Class: wire.ClassAdmin, UID: bus.NewUID(), Type: eventType, Object: raw}
}

// suspendType returns 0 to suspend and 1 to resume. SUSPEND with fields resumes unless the
// fields contain "1" (docs/spec/daemon.md 4.2).
func (c Command) suspendType() int {
	_, one := c.Fields["1"]
	if c.Name == resume || len(c.Fields) > 0 && !one {
		return 1
	}
	return 0
}

// setSuspended suspends (kind 0) or resumes (kind 1) the managers of classes, or all managers if
// classes is empty. object and code are a pair of the output. The error means that a
// manager did not change its state.
func (s Server) setSuspended(ctx context.Context, b *bus.Bus, kind int, classes []string) (object any, code int, err error) {
	answer, err := s.sendAndWait(ctx, b, adminEvent(wire.AdminSuspend, struct {
		SuspendType int      `json:"suspendType"`
		Classes     []string `json:"classes,omitempty"`
	}{kind, classes}))
	if err != nil {
		return withError(wire.GeneralResponse{}, s.explainExchange(err)), adminTimeout, err
	}
	var response wire.GeneralResponse
	if answer.Type != wire.AdminSuspendAns || json.Unmarshal(answer.Object, &response) != nil || response.ErrorCode != 0 {
		return answer.Object, 0, fmt.Errorf("not every manager obeyed: %s", answer.Object)
	}
	return answer.Object, 0, nil
}

// isRefusal reports whether a manager's answer is a refusal.
func isRefusal(object any) bool {
	raw, ok := object.(json.RawMessage)
	if !ok {
		return false
	}
	var o struct {
		Command int               `json:"command"`
		Errors  map[string]string `json:"errors"`
	}
	return json.Unmarshal(raw, &o) != nil || o.Command == wire.CommandError || len(o.Errors) > 0
}

// AdminFailure is the output of a usage or configuration error: one empty object with the
// error, in a list without a code.
func AdminFailure(exit int, message string) Outcome {
	m := withError(wire.AdminFields{Fields: map[string]any{}}, message)
	m["errorCode"] = exit
	return Outcome{Exit: exit, JSON: []any{[]any{m}}}
}

// withError returns the members of object with the error added.
func withError(object any, message string) map[string]any {
	raw, err := json.Marshal(object)
	m := map[string]any{}
	if err == nil {
		_ = json.Unmarshal(raw, &m) // valid: it was just encoded
	}
	m["errorCode"], m["errorMessage"] = 1, message
	return m
}
