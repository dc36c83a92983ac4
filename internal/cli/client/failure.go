package client

import (
	"encoding/json"

	"hce/dc/internal/cli/command"
)

// Outcome is the output and the exit status of dc-client or dc-admin.
type Outcome struct {
	JSON any
	Exit int
	// Status is the exit status of dc-client --strict; see package command. dc-admin does not use it.
	Status int
}

// Fault is a kind of failure of dc-client, with its numbers.
type Fault struct {
	code   int // error_code of the answer (docs/spec/objects.md 6.3)
	exit   int // exit status
	status int // exit status and error_code with --strict
}

// Faults of dc-client.
var (
	WrongArguments = Fault{2, 2, command.ExitRefused}
	WrongConfig    = Fault{5, 1, command.ExitRefused}
	RefusedRequest = Fault{1, 1, command.ExitRefused}
	NoAnswer       = Fault{1, 1, command.ExitFailed}
	Transport      = Fault{3, 3, command.ExitFailed}
	WrongPort      = Fault{5, 5, command.ExitRefused}
	Unexpected     = Fault{5, 5, command.ExitFailed} // also: a wrong address
	Interrupted    = Fault{4, command.ExitInterrupted, command.ExitInterrupted}
)

// Outcome returns an empty response with an error of the client (docs/spec/objects.md 3.1), in the members of a
// service's error, too: no failure has errorCode 0.
func (f Fault) Outcome(message string) Outcome {
	return Outcome{Exit: f.exit, Status: f.status, JSON: map[string]any{
		"errorCode": f.code, "errorMessage": message, "itemsList": []any{}, "error_code": f.code, "error_message": message,
	}}
}

// Strict returns the outcome of --strict: the exit status is Status, and the error_code of a failure
// is the same number.
func (o Outcome) Strict() Outcome {
	if failure, ok := o.JSON.(map[string]any); ok {
		failure["error_code"] = o.Status
		if code, ok := failure["errorCode"].(int); ok && code != 0 {
			failure["errorCode"] = o.Status
		}
	}
	o.Exit = o.Status
	return o
}

// With returns an answer of the service with the error that --strict found in it.
func (o Outcome) With(status int, message string) Outcome {
	answer := map[string]any{}
	if raw, ok := o.JSON.(json.RawMessage); ok {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(raw, &fields) // Do has read it
		for name, value := range fields {
			answer[name] = value
		}
	}
	answer["error_message"] = message
	return Outcome{JSON: answer, Exit: status, Status: status}
}
