package batches

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// SitesSocket is the name of the socket that connects to SitesManager.
const SitesSocket = "SitesManager"

// nodeAnswer is the answer of one node to an operation: an object or an error.
type nodeAnswer struct {
	object json.RawMessage
	err    error
}

// askNodes sends an operation to SitesManager. done gets the answers of all nodes, at least one, or
// an error. It is not called if the loop stops first: the next start recovers.
func (q *queue) askNodes(op wire.Op, object any, done func([]nodeAnswer, error)) {
	q.Ask(manager.Peer{Socket: SitesSocket}, wire.ClassClient, int(op), object, q.SitesTimeout, func(answer wire.Event, err error) {
		switch {
		case errors.Is(err, manager.ErrStopped):
		case err != nil:
			done(nil, err)
		default:
			done(nodeAnswers(answer.Object))
		}
	})
}

// tellNodes is ask for an operation that every node must do: done also gets the first error of a
// node.
func (q *queue) tellNodes(op wire.Op, object any, done func([]nodeAnswer, error)) {
	q.askNodes(op, object, func(nodes []nodeAnswer, err error) {
		for _, n := range nodes {
			if err == nil {
				err = n.err
			}
		}
		done(nodes, err)
	})
}

func nodeAnswers(raw json.RawMessage) ([]nodeAnswer, error) {
	var response wire.ClientResponse
	if err := json.Unmarshal(raw, &response); err != nil {
		return nil, fmt.Errorf("cannot read the answer of SitesManager: %w", err)
	}
	if response.ErrorCode != wire.ResponseOK {
		return nil, errors.New(response.ErrorMessage)
	}
	if len(response.ItemsList) == 0 {
		return nil, errors.New("no node has answered")
	}
	nodes := make([]nodeAnswer, len(response.ItemsList))
	for i, it := range response.ItemsList {
		nodes[i].object = it.ItemObject
		if code, ok := it.ErrorCode.(float64); !ok || code != 0 {
			nodes[i].err = fmt.Errorf("node %s: %s", it.Node, it.ErrorMessage)
		}
	}
	return nodes, nil
}

// returnRequest returns the URL_RETURN of b.
func (q *queue) returnRequest(b *batch) wire.URLReturnRequest {
	return wire.URLReturnRequest{
		BatchID: b.id, Sites: b.sites, Statuses: q.statuses, MaxAttempts: q.MaxAttempts, Fault: b.attempt,
	}
}

// countReturned returns how many rows the nodes have returned.
func countReturned(nodes []nodeAnswer) int {
	n := 0
	for _, node := range nodes {
		var answer struct {
			Statuses []int `json:"statuses"`
		}
		if json.Unmarshal(node.object, &answer) == nil && len(answer.Statuses) == 1 {
			n += answer.Statuses[0]
		}
	}
	return n
}
