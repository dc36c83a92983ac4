package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/wire"
)

// Service answers operations: a daemon, or the stores of a data folder.
type Service interface {
	// Ask runs an operation and decodes the object of its answer into answer, a pointer or nil.
	// The error is ErrUnreachable, a *Refusal, or an answer that does not decode.
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
	if response.ErrorCode != wire.ResponseOK || len(response.ItemsList) == 0 {
		return &Refusal{op, response.ErrorCode, response.ErrorMessage}
	}
	for _, item := range response.ItemsList { // in a cluster, each node without an answer is a further item
		if fmt.Sprint(item.ErrorCode) != "0" {
			return &Refusal{op, wire.ItemFailed, item.ErrorMessage}
		}
	}
	return Decode(op, response.ItemsList[0].ItemObject, answer)
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
