package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Call is one operation that is sent to the daemon.
type Call struct {
	Op     wire.Op
	Object json.RawMessage
	Merge  *bool // merge the answers of several nodes; nil: the service decides
	Server Server
}

// Do sends the operation and returns the daemon's answer, or a failure.
func (c Call) Do(ctx context.Context) Outcome {
	if err := service.Check(c.Op, c.Object, nil); err != nil {
		return RefusedRequest.Outcome(fmt.Sprintf("%s: %v", c.Op, err))
	}
	b, err := bus.New()
	if err != nil {
		return Unexpected.Outcome(err.Error())
	}
	defer b.Term(0)
	e := wire.Event{Class: wire.ClassClient, UID: bus.NewUID(), Type: int(c.Op), Object: c.Object}
	if c.Merge != nil {
		e.Cookie = map[string]json.RawMessage{"MERGE_RESULTS": json.RawMessage("0")}
		if *c.Merge {
			e.Cookie["MERGE_RESULTS"] = json.RawMessage("1")
		}
	}
	answer, err := c.Server.sendAndWait(ctx, b, e)
	switch {
	case ctx.Err() != nil:
		return Interrupted.Outcome("interrupted; the daemon may still do the work")
	case errors.Is(err, errTimeout), errors.Is(err, errAway), errors.Is(err, errKeys):
		return NoAnswer.Outcome(c.Server.explainExchange(err))
	case errors.Is(err, errAddress):
		return Unexpected.Outcome(err.Error())
	case err != nil:
		return Transport.Outcome(err.Error())
	}
	var shape struct {
		ItemsList *[]json.RawMessage `json:"itemsList"`
	}
	if answer.Type != e.Type+wire.ResponseOffset || json.Unmarshal(answer.Object, &shape) != nil || shape.ItemsList == nil {
		return NoAnswer.Outcome(fmt.Sprintf("the answer to %s is no ClientResponse; is %s:%d the client port of a dc-daemon?", c.Op, c.Server.Host, c.Server.Port))
	}
	return Outcome{JSON: answer.Object}
}
