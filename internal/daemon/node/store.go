package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// store runs the operations on links with db-task.
type store struct {
	pool    executor.Executor
	program executor.Stage
}

func (c *Config) openStore() store { return store{c.Pool, c.DBTask} }

// storeLimit limits one operation. It is below the ack wait of the stream.
const storeLimit = 20 * time.Second

// errUnusable means links that can never be stored.
var errUnusable = errors.New("unusable links")

// takeLinks returns unsent links, none if all are sent.
func (s store) takeLinks(ctx context.Context) (t cluster.LinksTaken, err error) {
	err = s.runOperation(ctx, storeLimit, wire.LinksTake, cluster.LinksTakeRequest{}, &t)
	return t, err
}

func (s store) markSent(ctx context.Context, ids []int64) error {
	_, err := s.operateWithin(ctx, storeLimit, wire.LinksSent, cluster.LinksSentRequest{IDs: ids})
	return err
}

// storeLinks stores the links of messages in one transaction. The error is errUnusable if no repetition can
// succeed.
func (s store) storeLinks(ctx context.Context, messages [][]byte) (stored cluster.LinksStored, err error) {
	err = s.runOperation(ctx, storeLimit, wire.LinksStore, cluster.LinksStoreRequest{Messages: messages}, &stored)
	if errors.Is(err, sites.ErrRefused) {
		err = fmt.Errorf("%w: %w", errUnusable, err)
	}
	return stored, err
}

// runOperation runs an operation and decodes its answer.
func (s store) runOperation(ctx context.Context, limit time.Duration, op wire.Op, request, answer any) error {
	object, err := s.operateWithin(ctx, limit, op, request)
	if err == nil {
		err = json.Unmarshal(object, answer)
	}
	return err
}

// operateWithin runs an operation and returns the object of its answer.
func (s store) operateWithin(ctx context.Context, limit time.Duration, op wire.Op, object any) (json.RawMessage, error) {
	raw, err := json.Marshal(object)
	if err == nil {
		raw, err = json.Marshal(wire.Call{Op: op, Object: raw})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	results, err := s.runTask(ctx, s.program, limit, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return sites.Answer(op, results)
}

// runProgram returns the answer of another program.
func (s store) runProgram(ctx context.Context, program executor.Stage, limit time.Duration, request []byte) ([]byte, error) {
	results, err := s.runTask(ctx, program, limit, request)
	switch {
	case err != nil:
		return nil, err
	case len(results) != 1 || results[0].State != executor.Finished:
		return nil, fmt.Errorf("it failed: %+v", results)
	}
	return results[0].Stdout, nil
}

func (s store) runTask(ctx context.Context, program executor.Stage, limit time.Duration, request []byte) ([]executor.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.pool.Run(ctx, executor.Task{
		ID: bus.NewUID(), Type: sites.TaskType, Stages: []executor.Stage{program}, Stdin: request, TimeLimit: limit,
	})
}
