package client

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

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
		return fmt.Errorf("%s: %w: %v", op, service.ErrUnreachable, failure["error_message"])
	}
	return readResponse(op, raw, answer)
}

// readResponse decodes the answer of the daemon to op.
func readResponse(op wire.Op, raw json.RawMessage, answer any) error {
	var response wire.ClientResponse
	if err := json.Unmarshal(raw, &response); err != nil {
		return fmt.Errorf("read the answer to %s: %w", op, err)
	}
	switch {
	case response.ErrorCode == wire.ResponseNoAnswer, response.ErrorCode == wire.ResponseNoNodes:
		return fmt.Errorf("%s: %w: %s", op, service.ErrUnreachable, response.ErrorMessage)
	case response.ErrorCode != wire.ResponseOK || len(response.ItemsList) == 0:
		return &service.Refusal{Op: op, Code: response.ErrorCode, Message: response.ErrorMessage}
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
		return &service.Refusal{Op: op, Code: wire.ItemFailed, Message: missing[0]}
	}
	if err := service.Decode(op, items[0].ItemObject, answer); err != nil || missing == nil {
		return err
	}
	return &service.Incomplete{Op: op, Missing: missing}
}
