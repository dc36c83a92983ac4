// Package service is what programs ask for sites and pages: a daemon, or the stores of a data folder.
//
//	var site wire.Site
//	err := s.Ask(ctx, wire.SiteStatus, map[string]any{"id": id, "deleteTaskId": nil}, &site)
package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/wire"
)

// Service answers operations: a daemon, or the stores of a data folder.
type Service interface {
	// Ask runs an operation and decodes the object of its answer into answer, a pointer or nil.
	// The error is ErrUnreachable, a *Refusal, an *Incomplete with a decoded answer, or an answer that
	// does not decode.
	Ask(ctx context.Context, op wire.Op, request, answer any) error
	// String names the service in messages: "the daemon at 127.0.0.1:5504".
	String() string
}

// ErrUnreachable means that the service gave no answer or cannot be reached.
var ErrUnreachable = errors.New("no answer")

// Refusal is an operation that the service refused, or in which it failed.
type Refusal struct {
	Op      wire.Op
	Code    int
	Message string
}

// Error names the operation and the message of the service.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Op, r.Message) }

// Incomplete is an answer of a cluster in which the parts of some nodes are missing. A change is done
// by the other nodes, and Missing says what becomes of it.
type Incomplete struct {
	Op      wire.Op
	Missing []string // why, one line for each failure, with the names of the nodes
}

// Later reports whether the nodes that are away make the change when they are back.
func (i *Incomplete) Later() bool { return i.Op.Journaled() }

// Error names the operation and the nodes.
func (i *Incomplete) Error() string {
	return fmt.Sprintf("%s: %s", i.Op, strings.Join(i.Missing, "\n"))
}

// Decode reads the object of an answer. A GeneralResponse with a code other than 0 is a *Refusal.
// Operations without a decoded answer use it as a check.
func Decode(op wire.Op, object json.RawMessage, answer any) error {
	var general struct {
		ErrorCode    any    `json:"errorCode"`
		ErrorMessage string `json:"errorMessage"`
		Statuses     *[]any `json:"statuses"`
	}
	if isObject(object) && json.Unmarshal(object, &general) == nil && general.Statuses != nil {
		if code, ok := general.ErrorCode.(float64); ok && code != wire.CodeOK {
			return &Refusal{op, int(code), general.ErrorMessage}
		}
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(object, answer); err != nil {
		return fmt.Errorf("read the answer to %s: %w", op, err)
	}
	return nil
}

// isObject reports whether raw is a JSON object. Lists, which may be large, are not read twice.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// EncodePair checks a request and returns the line ["NAME",object] for the stores. The error is a *Refusal for a request that
// cannot be one of op.
func EncodePair(op wire.Op, request any) (json.RawMessage, error) {
	object, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", op, err)
	}
	if err := Check(op, object, nil); err != nil {
		return nil, &Refusal{Op: op, Code: wire.CodeFailed, Message: err.Error()}
	}
	line, err := json.Marshal(wire.Call{Op: op, ByName: true, Object: object})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", op, err)
	}
	return line, nil
}

// ReadPair decodes the object of the line ["NAME",object] into answer, a pointer or nil. The error may be a *Refusal.
func ReadPair(op wire.Op, line []byte, answer any) error {
	line = bytes.TrimSpace(line)
	object, good := bytes.CutPrefix(line, []byte(`["`+op.String()+`",`))
	if !good || !bytes.HasSuffix(object, []byte("]")) {
		return fmt.Errorf("read the answer to %s: it is no pair: %.200s", op, line)
	}
	object = object[:len(object)-1]
	var refused wire.Refusal
	if bytes.HasPrefix(object, []byte("{")) && json.Unmarshal(object, &refused) == nil && refused.Refused {
		return &Refusal{Op: op, Code: refused.ErrorCode, Message: refused.ErrorMessage}
	}
	return Decode(op, object, answer)
}
