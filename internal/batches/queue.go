package batches

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/dc"
	"hce/dc/internal/env"
	"hce/dc/internal/manager"
)

// CrawlTask and ProcessTask are the types of the tasks given to the environment.
const (
	CrawlTask   = "crawl"
	ProcessTask = "process"
)

// SitesSocket is the name of the connection to SitesManager.
const SitesSocket = "SitesManager"

// label is the task label that holds the batch's id.
const label = "batch"

// known is the report of the watcher: all tasks there were when it began.
const known = dc.InternalWork + 100

// queue is the tasks of one manager: submitted, watched, brought to their end.
// It belongs to the manager's loop.
type queue struct {
	*manager.Loop
	Common
	kind     string  // task type: "crawl" or "process"
	statuses []int64 // rows that its batches hold

	running map[string]*running // by task id, from submission to the end of URL_RETURN
	ready   bool                // what was left of the last run is in order

	// ended is told of each batch whose task is over, before its rows go back.
	ended func(*running, outcome)
	// free is told that a slot may be free.
	free func()

	faults, urlsFault, expired, deleteFaults, checkFaults int64
}

// running is one batch under way.
type running struct {
	task  string
	batch int64
	sites []string
	urls  int
	nodes int                // that selected its rows
	keys  map[[2]string]bool // of its items: site, md5
	over  bool               // the task has ended; its rows are being returned
}

// outcome is how a task ended, as its worker saw it.
type outcome struct {
	Task   string
	State  env.State
	Reason string
	Batch  bool     // the answer is a Batch
	Items  int      // of the answer
	Sites  []string // of the answer's items
	Exit   int
}

func (o outcome) good() bool { return o.State == env.Finished && o.Batch }

// watch declares what the queue needs of its loop. It must be called before Run.
func (q *queue) watch() {
	q.running = map[string]*running{}
	q.HandleReport(dc.InternalState, q.stateReport)
	q.HandleReport(dc.InternalTaskDone, q.outcomeReport)
	q.HandleReport(known, q.knownReport)
	q.Tend("queue", func() time.Duration { return q.QueuePeriod }, func(time.Time) { q.check() })
	q.Tend("watch", func() time.Duration { return time.Second }, q.startWatcher())
}

// startWatcher gives the timer that keeps one watcher running: the environment's
// changes of state, preceded by all it knows already.
func (q *queue) startWatcher() func(time.Time) {
	watching := false
	return func(time.Time) {
		if watching {
			return
		}
		_, err := q.Go(func(ctx context.Context, r *manager.Reporter) error {
			changes, err := q.Env.Watch(ctx, env.Filter{Types: []string{q.kind}})
			if err != nil {
				return err
			}
			all, err := q.Env.Status(ctx)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(s env.Status) bool { return s.Type != q.kind })
			if err := r.Send(known, all); err != nil {
				return err
			}
			for s := range changes {
				if s.State.Over() {
					if err := r.Send(dc.InternalState, s); err != nil {
						return err
					}
				}
			}
			return nil
		}, func(err error) {
			watching = false
			if err != nil {
				q.Log().Error("the environment cannot be watched", "error", err)
			}
		})
		watching = err == nil
	}
}

// knownReport takes up the tasks that outlived the last run, ends those that
// did not, and returns the rows of all other batches (DECISIONS 3.7).
func (q *queue) knownReport(_ string, object json.RawMessage) {
	var all []env.Status
	if err := json.Unmarshal(object, &all); err != nil {
		q.Log().Error("report of the watcher is unreadable", "error", err)
		return
	}
	for _, s := range all {
		if q.running[s.ID] == nil {
			batch, _ := strconv.ParseInt(s.Labels[label], 10, 64)
			q.running[s.ID] = &running{task: s.ID, batch: batch, keys: map[[2]string]bool{}}
			q.Log().Info("a batch of the last run is known", "batch", batch, "state", s.State)
		}
		if s.State.Over() {
			q.over(s.ID)
		}
	}
	if q.ready {
		return
	}
	q.returnRows(dc.URLReturnRequest{Except: q.batches(), Statuses: q.statuses}, func(err error) {
		if err != nil {
			q.Log().Error("rows of the last run are not returned yet", "error", err)
			q.later(func() { q.knownReport("", object) })
			return
		}
		q.ready = true
		q.free()
	})
}

// later does something after a second: what failed is tried again, but not in a
// circle.
func (q *queue) later(do func()) {
	_, err := q.Go(func(ctx context.Context, _ *manager.Reporter) error {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return nil
	}, func(error) { do() })
	if err != nil {
		q.Log().Error("no worker is free", "error", err)
	}
}

func (q *queue) batches() []int64 {
	ids := []int64{}
	for _, b := range q.running {
		ids = append(ids, b.batch)
	}
	slices.Sort(ids)
	return ids
}

// taken is the number of slots in use.
func (q *queue) taken() int64 {
	var n int64
	for _, b := range q.running {
		if !b.over {
			n++
		}
	}
	return n
}

// submit hands a batch to the environment. A refusal ends it as a fault.
func (q *queue) submit(b *running, t env.Task) {
	t.ID, t.Type = b.task, q.kind
	t.Labels = map[string]string{label: strconv.FormatInt(b.batch, 10)}
	t.TimeLimit, t.QueueTTL, t.Attempts = q.TaskTime, q.TaskTTL, 1
	q.running[b.task] = b
	_, err := q.Go(func(ctx context.Context, _ *manager.Reporter) error {
		return q.Env.Submit(ctx, t)
	}, func(err error) {
		if err != nil {
			q.refused(b, err)
		}
	})
	if err != nil {
		q.refused(b, err)
	}
}

func (q *queue) refused(b *running, err error) {
	q.Log().Error("the batch is refused", "batch", b.batch, "error", err)
	b.over = true
	q.conclude(b, outcome{Task: b.task, State: env.Refused, Reason: err.Error()})
}

// stateReport is a change of state from the watcher.
func (q *queue) stateReport(_ string, object json.RawMessage) {
	var s env.Status
	if err := json.Unmarshal(object, &s); err != nil {
		q.Log().Error("report of the watcher is unreadable", "error", err)
		return
	}
	q.over(s.ID)
}

// check asks for the states of the tasks under way: the watch's safety net
// (daemon 2.6).
func (q *queue) check() {
	var ids []string
	for id, b := range q.running {
		if !b.over {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	_, err := q.Go(func(ctx context.Context, r *manager.Reporter) error {
		states, err := q.Env.Status(ctx, ids...)
		if err != nil {
			return err
		}
		for _, s := range states {
			// A task that the environment does not know is lost, unless it is
			// on its way there: the next check tells.
			if s.State.Over() {
				if err := r.Send(dc.InternalState, s); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(err error) {
		if err != nil {
			q.checkFaults++
			q.Log().Warn("the tasks' states are not known", "error", err)
		}
	})
	if err != nil {
		q.checkFaults++
	}
}

// over fetches the result of a task that has ended.
func (q *queue) over(id string) {
	b := q.running[id]
	if b == nil || b.over {
		return
	}
	b.over = true
	_, err := q.Go(func(ctx context.Context, r *manager.Reporter) error {
		res, err := q.Env.Result(ctx, id)
		if err != nil && !errors.Is(err, env.ErrUnknown) {
			return err
		}
		return r.Send(dc.InternalTaskDone, read(id, res))
	}, func(err error) {
		if err != nil {
			q.checkFaults++
			q.Log().Warn("the result is not there", "batch", b.batch, "error", err)
			b.over = false // the next check tries again
		}
	})
	if err != nil {
		b.over = false
	}
}

// read sums a result up: only what the manager needs travels by message.
func read(id string, res env.Result) outcome {
	o := outcome{Task: id, State: res.State, Reason: res.Reason, Exit: res.ExitStatus}
	var answer struct {
		Items []struct {
			SiteID string `json:"siteId"`
		} `json:"items"`
	}
	if o.State == env.Finished && json.Unmarshal(res.Stdout, &answer) == nil && answer.Items != nil {
		o.Batch, o.Items = true, len(answer.Items)
		for _, it := range answer.Items {
			if !slices.Contains(o.Sites, it.SiteID) {
				o.Sites = append(o.Sites, it.SiteID)
			}
		}
	} else if o.State == env.Finished {
		o.Reason = "the answer is no batch: " + clip(res.Stdout)
	}
	return o
}

func clip(b []byte) string {
	if len(b) > 300 {
		b = b[:300]
	}
	return string(b)
}

func (q *queue) outcomeReport(_ string, object json.RawMessage) {
	var o outcome
	if err := json.Unmarshal(object, &o); err != nil {
		q.Log().Error("report of a worker is unreadable", "error", err)
		return
	}
	if b := q.running[o.Task]; b != nil {
		q.conclude(b, o)
	}
}

// conclude ends a batch: its rows go back, then the environment may forget it.
func (q *queue) conclude(b *running, o outcome) {
	if !o.good() {
		q.faults++
		q.urlsFault += int64(b.urls)
		if o.State == env.TimedOut || (o.State == env.Refused && o.Exit == 0) {
			q.expired++
		}
		q.Log().Warn("the batch is a fault", "batch", b.batch, "state", o.State, "exit", o.Exit, "reason", o.Reason)
	}
	if len(b.sites) == 0 {
		b.sites = o.Sites
	}
	q.ended(b, o)
	q.settle(b, o)
	q.free()
}

// settle returns the rows and deletes the task; it tries until it succeeds.
func (q *queue) settle(b *running, o outcome) {
	if o.good() && o.Items == 0 && b.urls == 0 {
		q.forget(b) // nothing was selected: no row is held
		return
	}
	request := dc.URLReturnRequest{
		BatchID: b.batch, Sites: b.sites, Statuses: q.statuses, MaxAttempts: q.MaxAttempts,
		// A daemon that ended is not the URLs' fault.
		Fault: o.State != env.Lost && o.State != env.Refused && o.State != env.Cancelled,
	}
	q.returnRows(request, func(err error) {
		switch {
		case errors.Is(err, manager.ErrStopped):
			// The next start returns them.
		case err != nil:
			q.Log().Error("the rows are not returned yet", "batch", b.batch, "error", err)
			q.later(func() { q.settle(b, o) })
		default:
			q.forget(b)
		}
	})
}

// forget deletes the task from the environment.
func (q *queue) forget(b *running) {
	_, err := q.Go(func(ctx context.Context, _ *manager.Reporter) error {
		return q.Env.Delete(ctx, b.task)
	}, func(err error) {
		if err != nil {
			q.deleteFaults++
			q.Log().Warn("the task is not deleted", "batch", b.batch, "error", err)
		}
		delete(q.running, b.task)
		q.free()
	})
	if err != nil {
		q.deleteFaults++
		delete(q.running, b.task)
	}
}

// returnRows asks all nodes for URL_RETURN.
func (q *queue) returnRows(r dc.URLReturnRequest, done func(error)) {
	q.ask(dc.URLReturn, r, func(items []json.RawMessage, err error) { done(err) })
}

// ask sends an operation to SitesManager; done gets the nodes' objects, or the
// first error.
func (q *queue) ask(op dc.Op, object any, done func(items []json.RawMessage, err error)) {
	q.Ask(manager.Peer{Socket: SitesSocket}, dc.ClassClient, int(op), object, q.SitesTimeout, func(answer dc.Event, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(nodeObjects(answer.Object))
	})
}

func nodeObjects(raw json.RawMessage) ([]json.RawMessage, error) {
	var response dc.ClientResponse
	if err := json.Unmarshal(raw, &response); err != nil {
		return nil, err
	}
	if response.ErrorCode != 0 {
		return nil, errors.New(response.ErrorMessage)
	}
	var items []json.RawMessage
	for _, it := range response.ItemsList {
		if code, ok := it.ErrorCode.(float64); !ok || code != 0 {
			return nil, errors.New(it.ErrorMessage)
		}
		items = append(items, it.ItemObject)
	}
	return items, nil
}
