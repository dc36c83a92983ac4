package sites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// killGrace is how much longer than its limit a run may take before the worker stops waiting.
// The executor needs it to end the processes.
const killGrace = 10 * time.Second

// answerShown is how many bytes of an invalid answer are shown.
const answerShown = 300

// runner runs db-task on the data nodes for one request. It belongs to a worker's goroutine.
type runner struct {
	executor executor.Executor
	program  executor.Stage
	kind     string // task type
	target   executor.Target
	limit    time.Duration
	nodes    int  // that share a site's limits
	journal  bool // nodes that are away run changes later
}

// runOnNodes returns the result of each node. It ends at most killGrace after the limit.
func (r runner) runOnNodes(ctx context.Context, stdin []byte) ([]executor.Result, error) {
	return r.runTask(ctx, stdin, false)
}

func (r runner) runTask(ctx context.Context, stdin []byte, journal bool) ([]executor.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit+killGrace)
	defer cancel()
	target := r.target
	if journal {
		target = executor.Target{All: true} // the journal is one for all nodes
	}
	return r.executor.Run(ctx, executor.Task{
		ID:        bus.NewUID(),
		Type:      r.kind,
		Stages:    []executor.Stage{r.program},
		Stdin:     stdin,
		Target:    target,
		TimeLimit: r.limit,
		Journal:   journal,
	})
}

// runCall returns one item per node: its object with errorCode 0, errorCode 1 for an invalid answer,
// 2 for a failed node or program (docs/spec/objects.md 3.2). The response has errorCode 2
// without nodes, or if no node of a cluster answered, and errorCode 1 if no node answered in time
// (docs/spec/objects.md 3.1).
func (r runner) runCall(ctx context.Context, call wire.Call) wire.ClientResponse {
	object, err := divideRequest(call.Op, call.Object, r.nodes)
	if err != nil {
		return wire.ErrorItem(fmt.Sprintf("cannot divide the request among %d nodes: %v", r.nodes, err))
	}
	call.Object = object
	stdin, err := json.Marshal(call)
	if err != nil {
		return wire.ErrorItem(fmt.Sprintf("the request is not JSON: %v", err))
	}
	results, err := r.runTask(ctx, stdin, r.journal && call.Op.Journaled())
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return r.noAnswer()
	case errors.Is(err, executor.ErrNode), err == nil && len(results) == 0:
		return wire.ClientResponse{ErrorCode: wire.ResponseNoNodes, ErrorMessage: "empty list of nodes"}
	case err != nil:
		return wire.ErrorItem(fmt.Sprintf("the executor did not run the request: %v", err))
	}
	response := wire.ClientResponse{}
	timedOut, missing := 0, []string{}
	for _, result := range results {
		if result.State == executor.TimedOut {
			timedOut++
		}
		one := itemFromResult(call.Op, result)
		if r.journal && (result.State == executor.Lost || result.State == executor.TimedOut) {
			one.ErrorMessage = r.explainSilence(call.Op, result, len(results))
			missing = append(missing, one.ErrorMessage)
		}
		response.ItemsList = append(response.ItemsList, one)
	}
	switch {
	case timedOut == len(results) && !r.journal:
		return r.noAnswer()
	case len(missing) == len(results):
		response.ErrorCode, response.ErrorMessage = wire.ResponseNoNodes, strings.Join(missing, "; ")
	}
	return response
}

func (r runner) noAnswer() wire.ClientResponse {
	return wire.ClientResponse{
		ErrorCode:    wire.ResponseNoAnswer,
		ErrorMessage: fmt.Sprintf("no answer within %d ms", r.limit.Milliseconds()),
	}
}

// itemFromResult converts the result of one node.
func itemFromResult(op wire.Op, r executor.Result) wire.ClientResponseItem {
	i := wire.ClientResponseItem{
		ErrorCode: 0, Host: r.Node, Node: r.Node, Port: 0, ID: 0,
		Time:       max(0, r.Ended.Sub(r.Started).Milliseconds()),
		ItemObject: json.RawMessage("null"),
	}
	if r.State != executor.Finished {
		i.ErrorCode = wire.ItemFailed
		i.ErrorMessage = r.Failure()
		return i
	}
	object, err := answerObject(op, r.Stdout)
	if err != nil {
		i.ErrorCode, i.ErrorMessage = wire.ItemUnreadable, err.Error()
		return i
	}
	var refusal wire.Refusal
	if json.Unmarshal(object, &refusal) == nil && refusal.Refused {
		i.ErrorCode, i.ErrorMessage = wire.ItemFailed, refusal.ErrorMessage
		return i
	}
	i.ItemObject = object
	return i
}

// answerObject returns the object of db-task's answer [operation+100, object].
func answerObject(op wire.Op, stdout []byte) (json.RawMessage, error) {
	var pair []json.RawMessage
	var code int
	if json.Unmarshal(stdout, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &code) != nil || code != int(op)+wire.ResponseOffset {
		return nil, fmt.Errorf("the node's answer is not [%d, object]: %s", int(op)+wire.ResponseOffset, firstBytes(stdout, answerShown))
	}
	return pair[1], nil
}

// firstBytes returns the first n bytes of a text without invalid UTF-8.
func firstBytes(b []byte, n int) string {
	return string(bytes.ToValidUTF8(b[:min(n, len(b))], nil))
}

// mayCreateWork reports whether op succeeded on a node and may have created work for the batch managers.
// client: a client has sent it; what the batch managers themselves change is no news to them.
func mayCreateWork(op wire.Op, client bool, r wire.ClientResponse) bool {
	switch op {
	case wire.SiteNew, wire.SiteUpdate, wire.SiteCleanup, wire.URLNew:
	case wire.URLUpdate, wire.URLCleanup, wire.URLPut:
		if !client {
			return false
		}
	default:
		return false
	}
	for _, item := range r.ItemsList {
		var g struct {
			ErrorCode int `json:"errorCode"`
		}
		if item.ErrorCode == wire.ResponseOK && json.Unmarshal(item.ItemObject, &g) == nil && g.ErrorCode == wire.CodeOK {
			return true
		}
	}
	return false
}
