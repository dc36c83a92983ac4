package batches

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// SitesSocket is the name of the connection to SitesManager.
const SitesSocket = "SitesManager"

// nodeAnswer is what one node answered to an operation: an object, or why there
// is none.
type nodeAnswer struct {
	object json.RawMessage
	err    error
}

// ask sends an operation to SitesManager; done gets the answers of all nodes, at
// least one, or the error of the whole. When the loop is left first, done is not
// called: what is then left undone the next start does.
func (q *queue) ask(op wire.Op, object any, done func([]nodeAnswer, error)) {
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

// tell is ask for an operation whose nodes must all do it; done gets the first
// error.
func (q *queue) tell(op wire.Op, object any, done func([]nodeAnswer, error)) {
	q.ask(op, object, func(nodes []nodeAnswer, err error) {
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
		return nil, fmt.Errorf("the answer of SitesManager is unreadable: %w", err)
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

// returnRequest asks for the rows of b.
func (q *queue) returnRequest(b *batch) wire.URLReturnRequest {
	return wire.URLReturnRequest{
		BatchID: b.id, Sites: b.sites, Statuses: q.statuses, MaxAttempts: q.MaxAttempts, Fault: b.attempt,
	}
}

// returned is how many rows the nodes say that they returned.
func returned(nodes []nodeAnswer) int {
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
