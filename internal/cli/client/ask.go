package client

import (
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

// String names the daemon in messages.
func (s Server) String() string { return fmt.Sprintf("the daemon at %s:%d", s.Host, s.Port) }

// Ask sends an operation to the daemon. Answers of several nodes are merged.
func (s Server) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	object, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode %s: %w", op, err)
	}
	out := Call{Op: op, Object: object, Server: s}.Do(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	raw, ok := out.JSON.(json.RawMessage)
	if !ok {
		failure, _ := out.JSON.(map[string]any)
		return fmt.Errorf("%s: %w: %v", op, ErrUnreachable, failure["error_message"])
	}
	var response wire.ClientResponse
	if err := json.Unmarshal(raw, &response); err != nil {
		return fmt.Errorf("read the answer to %s: %w", op, err)
	}
	switch {
	case response.ErrorCode == wire.ResponseNoAnswer, response.ErrorCode == wire.ResponseNoNodes:
		return fmt.Errorf("%s: %w: %s", op, ErrUnreachable, response.ErrorMessage)
	case response.ErrorCode != wire.ResponseOK || len(response.ItemsList) == 0:
		return &Refusal{op, response.ErrorCode, response.ErrorMessage}
	}
	return readItems(op, response.ItemsList, answer)
}

// readItems decodes the first item. In a cluster each node without an answer is a further item.
func readItems(op wire.Op, items []wire.ClientResponseItem, answer any) error {
	var missing []string
	for _, item := range items {
		if item.Failed() {
			missing = append(missing, item.ErrorMessage)
		}
	}
	if items[0].Failed() {
		return &Refusal{op, wire.ItemFailed, missing[0]}
	}
	if err := Decode(op, items[0].ItemObject, answer); err != nil || missing == nil {
		return err
	}
	return &Incomplete{op, missing}
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
