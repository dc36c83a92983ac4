package sites

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// ErrRefused means that db-task refuses a request for ever: it is invalid. What names an object that is
// not known is not: the object may still come.
var ErrRefused = errors.New("invalid request")

// Answer returns the object of db-task's answer to op, for managers that run db-task themselves.
// The error says that the task failed, refused the request (ErrRefused), or answered something else.
func Answer(op wire.Op, results []executor.Result) (json.RawMessage, error) {
	if len(results) != 1 {
		return nil, fmt.Errorf("%s has %d results, want 1", op, len(results))
	}
	i := itemFromResult(op, results[0])
	if i.ErrorCode != wire.ResponseOK {
		var refusal wire.Refusal
		if object, err := answerObject(op, results[0].Stdout); err == nil && json.Unmarshal(object, &refusal) == nil && refusal.Refused && refusal.ErrorCode != wire.CodeNotFound {
			return nil, fmt.Errorf("%w: %s: %s", ErrRefused, op, refusal.ErrorMessage)
		}
		return nil, fmt.Errorf("%s: %s", op, i.ErrorMessage)
	}
	var g struct {
		ErrorCode    int    `json:"errorCode"`
		ErrorMessage string `json:"errorMessage"`
	}
	if json.Unmarshal(i.ItemObject, &g) == nil && g.ErrorCode != wire.CodeOK {
		return nil, fmt.Errorf("%s: error %d: %s", op, g.ErrorCode, g.ErrorMessage)
	}
	return i.ItemObject, nil
}

// MadeWork reports whether a task of db-task succeeded and may have created work for the crawler.
// It is false for a task of another program.
func MadeWork(t executor.Task, r executor.Result) bool {
	var call wire.Call
	if len(t.Stages) != 1 || r.State != executor.Finished || json.Unmarshal(t.Stdin, &call) != nil {
		return false
	}
	return mayCreateWork(call.Op, true, wire.ClientResponse{ItemsList: []wire.ClientResponseItem{itemFromResult(call.Op, r)}})
}
