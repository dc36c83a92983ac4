package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
)

const (
	killAfter   = 5 * time.Second  // from its limit to the kill of a task
	killGrace   = 10 * time.Second // that the executor needs to end the processes
	forgetTime  = 30 * time.Second // to remove files
	secondRound = 2 * time.Second  // least remaining time for a second round
)

// worker runs one batch in its own goroutine.
type worker struct {
	Config
	run  string
	turn int
	now  func() time.Time
	log  *slog.Logger
}

// runBatch runs a client's batch. The response has one item per node whose itemObject is the list of
// URL contents. Its error code is 1 for an invalid batch and if no node answered, 2 for too many
// items and without nodes (docs/spec/objects.md 3.1).
func (w worker) runBatch(ctx context.Context, object json.RawMessage) (wire.ClientResponse, figures) {
	refuse := func(code int, message string) (wire.ClientResponse, figures) {
		return wire.ClientResponse{ErrorCode: code, ErrorMessage: message}, figures{}
	}
	batch, err := parseBatch(object)
	if err != nil {
		return refuse(wire.ResponseNoAnswer, err.Error())
	}
	if n := len(batch.Items); n > w.MaxURLs {
		return refuse(wire.ResponseNoNodes, fmt.Sprintf("the batch has %d items; BatchMaxURLs allows %d", n, w.MaxURLs))
	}
	start := w.now()
	w.forceFields(&batch)
	response, f := w.runShares(ctx, batch, start)
	f.Ran, f.Spent = true, w.now().Sub(start).Milliseconds()
	f.Fault = f.URLs == 0
	return response, f
}

// parseBatch parses a Batch. An object without items is invalid.
func parseBatch(object json.RawMessage) (wire.Batch, error) {
	var has struct {
		Items *json.RawMessage `json:"items"`
	}
	batch, err := wire.ReadBatch(object, &lenient.Notes{})
	if err == nil && (json.Unmarshal(object, &has) != nil || has.Items == nil) {
		err = &lenient.FieldError{Object: "Batch", Field: "items", Reason: "is missing"}
	}
	return batch, err
}

// forceFields sets the fields that a client may not choose (docs/spec/daemon.md 2.13).
func (w worker) forceFields(b *wire.Batch) {
	b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
	b.MaxIterations = min(max(b.MaxIterations, 1), w.MaxIterations)
	if b.ID == 0 {
		b.ID = 1 + rand.Int64N(1<<32-1)
	}
	b.ErrorMask, b.Folder, b.Spent = 0, "", 0
	for i := range b.Items {
		b.Items[i].URL.BatchID = 0 // the crawler sets it
	}
}

// batchLimit returns the time limit of the batch.
func (w worker) batchLimit(b *wire.Batch) time.Duration {
	limit := w.MaxExecution
	if b.MaxExecutionTime > 0 {
		limit = time.Duration(min(b.MaxExecutionTime, int64(Longest/time.Second))) * time.Second
	}
	return min(limit, w.Timeout)
}

// runShares runs the shares of all nodes in parallel.
func (w worker) runShares(ctx context.Context, batch wire.Batch, start time.Time) (wire.ClientResponse, figures) {
	limit := w.batchLimit(&batch)
	if len(batch.Items) == 0 {
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{{
			ErrorCode: 0, Port: 0, Time: 0, ID: batch.ID, ItemObject: json.RawMessage("[]"),
		}}}, figures{}
	}
	nodes, err := w.Executor.Nodes(ctx)
	if err != nil {
		return wire.ClientResponse{ErrorCode: wire.ResponseNoAnswer, ErrorMessage: "cannot list the nodes: " + err.Error()}, figures{}
	}
	list := shareAmongNodes(batch.Items, nodes, w.Routing, w.turn)
	if w.Owner != nil && len(list) > 0 {
		list = shareByOwner(batch.Items, w.Owner)
	}
	if len(list) == 0 {
		return wire.ClientResponse{ErrorCode: wire.ResponseNoNodes, ErrorMessage: "empty list of nodes"}, figures{}
	}
	done := make([]nodeAnswer, len(list))
	var group sync.WaitGroup
	for i, s := range list {
		group.Go(func() {
			b := batch
			b.Items = s.items
			if why := whyAbsent(s.node, nodes); w.Owner != nil && why != "" {
				done[i] = failedNode(b, s.node, why)
				return
			}
			done[i] = w.runShare(ctx, s.node, b, start, limit)
		})
	}
	group.Wait()
	response, f, silent := wire.ClientResponse{}, figures{}, 0
	for _, d := range done {
		if d.silent {
			silent++
		}
		f.URLs += d.urls
		f.URLFaults += d.faults
		response.ItemsList = append(response.ItemsList, d.item)
	}
	if w.Owner != nil {
		response.ItemsList = mergeAnswers(batch.Items, response.ItemsList)
	}
	if silent == len(done) {
		response.ErrorCode, response.ErrorMessage = wire.ResponseNoAnswer, fmt.Sprintf("no answer within %d ms", limit.Milliseconds())
	}
	return response, f
}

// nodeAnswer is the outcome of one share.
type nodeAnswer struct {
	item         wire.ClientResponseItem
	silent       bool // it was killed at its limit
	urls, faults int64
}

// runShare runs a share on its node, and poor results once more.
func (w worker) runShare(ctx context.Context, node string, batch wire.Batch, start time.Time, limit time.Duration) nodeAnswer {
	item := wire.ClientResponseItem{ErrorCode: 0, Host: node, Node: node, Port: 0, ID: batch.ID}
	result, err := w.runRound(ctx, node, batch, limit-w.now().Sub(start))
	var first answer
	if err == nil {
		first, err = readAnswer(result)
	}
	if err != nil {
		silent := result.State == executor.TimedOut || errors.Is(err, context.DeadlineExceeded)
		bits := errormask.BatchItem
		if silent {
			bits = errormask.MaxExecutionTime
		}
		item.ErrorCode, item.ErrorMessage = wire.ItemFailed, err.Error()
		item.ItemObject = failedContents(batch, bits)
		item.Time = w.now().Sub(start).Milliseconds()
		return nodeAnswer{item: item, silent: silent, faults: int64(len(batch.Items))}
	}
	if left := limit - w.now().Sub(start); first.Again != nil && left >= secondRound {
		w.repeatPoorItems(ctx, node, batch, &first, left)
	}
	item.Time = w.now().Sub(start).Milliseconds()
	item.ItemObject, err = json.Marshal(first.Contents)
	if err != nil { // contents that are not JSON
		item.ErrorCode, item.ErrorMessage, item.ItemObject = wire.ItemUnreadable, err.Error(), json.RawMessage("null")
	}
	return nodeAnswer{item: item, urls: int64(len(first.Contents))}
}

// repeatPoorItems repeats items that a browser may fetch better, and takes better results. Without an
// answer the first results stay.
func (w worker) repeatPoorItems(ctx context.Context, node string, batch wire.Batch, first *answer, left time.Duration) {
	second, err := wire.ReadBatch(first.Again, &lenient.Notes{})
	if err != nil {
		w.log.Warn("cannot repeat items", "batch", batch.ID, "error", err)
		return
	}
	w.forceFields(&second)
	second.ID, second.MaxIterations = batch.ID, 1
	result, err := w.runRound(ctx, node, second, left)
	var better answer
	if err == nil {
		better, err = readAnswer(result)
	}
	if err != nil {
		w.log.Warn("repeated items have no result", "batch", batch.ID, "items", len(second.Items), "error", err)
		return
	}
	first.mergeRound(better)
}

// runRound runs both stages of a batch on a node. If the task does not finish, its files are removed.
func (w worker) runRound(ctx context.Context, node string, batch wire.Batch, limit time.Duration) (executor.Result, error) {
	limit = max(limit, time.Millisecond)
	batch.Folder = w.run + "-" + bus.NewUID()
	batch.MaxExecutionTime = max(1, int64((limit-realtimeresponse.Reserve(limit))/time.Second))
	stdin, err := json.Marshal(batch)
	if err != nil {
		return executor.Result{}, fmt.Errorf("encode batch: %w", err)
	}
	hard := limit + killAfter
	within, cancel := context.WithTimeout(ctx, hard+killGrace)
	defer cancel()
	target := executor.Target{Nodes: []string{node}}
	results, err := w.Executor.Run(within, executor.Task{
		ID:        bus.NewUID(),
		Type:      TaskType,
		Stages:    []executor.Stage{w.Crawler, w.Finalizer},
		Stdin:     stdin,
		Target:    target,
		TimeLimit: hard,
	})
	switch {
	case err != nil:
		return executor.Result{}, fmt.Errorf("the executor did not run the batch: %w", err)
	case len(results) == 0:
		return executor.Result{}, errors.New("the node gave no answer")
	}
	result := results[0]
	if result.State != executor.Finished {
		if err := w.forgetFiles(ctx, target, forgetting{Folder: batch.Folder}); err != nil {
			w.log.Warn("cannot remove the files of a batch; the next start does", "batch", batch.ID, "folder", batch.Folder, "error", err)
		}
		return result, errors.New(result.Failure())
	}
	return result, nil
}

// forgetting is a request to the last stage to remove files.
type forgetting struct {
	Folder string `json:"folder,omitempty"`
	Others string `json:"others,omitempty"`
}

// forgetFiles makes nodes remove files of batches.
func (w worker) forgetFiles(ctx context.Context, target executor.Target, what forgetting) error {
	stdin, err := json.Marshal(map[string]any{"forget": what})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTime+killGrace)
	defer cancel()
	results, err := w.Executor.Run(ctx, executor.Task{
		ID: bus.NewUID(), Type: TaskType, Stages: []executor.Stage{w.Finalizer}, Stdin: stdin, Target: target, TimeLimit: forgetTime,
	})
	for _, r := range results {
		var answer struct {
			ErrorCode    int    `json:"errorCode"`
			ErrorMessage string `json:"errorMessage"`
		}
		switch {
		case r.State != executor.Finished:
			err = errors.Join(err, fmt.Errorf("node %s: %s", r.Node, r.Reason))
		case json.Unmarshal(r.Stdout, &answer) != nil || answer.ErrorCode != 0:
			err = errors.Join(err, fmt.Errorf("node %s: %s", r.Node, answer.ErrorMessage))
		}
	}
	return err
}
