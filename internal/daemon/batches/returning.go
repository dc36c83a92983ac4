package batches

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// ReturnConfig is the part of [BatchTasksManager] about rows that are stuck
// (docs/spec/daemon.md 2.8).
type ReturnConfig struct {
	Mode    bool          // ReturnURLsMode
	Period  time.Duration // ReturnURLsPeriod, s; 0: off
	Age     time.Duration // for how long nobody touched them; ReturnURLsTTL, min
	MaxURLs int64         // of a run, per node; ReturnURLsMaxNumber
}

func (c *Crawl) declareReturn() {
	r := &c.cfg.Return
	c.HandleReport(batchesReport, c.returnStuck)
	c.Every(returnTimer, every(&r.Mode, &r.Period), func(time.Time) { c.findStuck() })
	c.Var(
		manager.Switch("ReturnURLsMode", &r.Mode),
		manager.Span("ReturnURLsPeriod", &r.Period, time.Second, 0, longest),
		manager.Span("ReturnURLsTTL", &r.Age, time.Minute, time.Minute, 365*longest),
		manager.Int("ReturnURLsMaxNumber", &r.MaxURLs, 1, maxSwept),
	)
}

// findStuck begins the return of rows that no batch will end: the environment is
// asked which batches it still knows, of whatever manager, as their rows are left
// alone (docs/spec/DECISIONS.md 3.4).
func (c *Crawl) findStuck() {
	if !c.ready || c.returning {
		return
	}
	c.returning = true
	failed := func(err error) {
		if err != nil {
			c.returning = false
			c.Log().Warn("the living batches are not known", "error", err)
		}
	}
	_, err := c.Go(func(ctx context.Context, r *manager.Reporter) error {
		all, err := c.Executor.Status(ctx)
		if err != nil {
			return err
		}
		ids := []int64{}
		for _, s := range all {
			if id := batchOf(s.Labels); id != 0 {
				ids = append(ids, id)
			}
		}
		return r.Send(batchesReport, ids)
	}, failed)
	failed(err)
}

// returnStuck returns the rows of batches that are neither alive nor on their way.
// No attempt is counted: nobody knows what became of them. What a batch selects
// meanwhile is too young to be meant.
func (c *Crawl) returnStuck(_ string, object json.RawMessage) {
	except := []int64{}
	if err := json.Unmarshal(object, &except); err != nil {
		c.returning = false
		c.Log().Error("report of a worker is unreadable", "error", err)
		return
	}
	for id := range c.open {
		except = append(except, id)
	}
	for _, b := range c.batches {
		if b.id != 0 {
			except = append(except, b.id)
		}
	}
	slices.Sort(except)
	request := wire.URLReturnRequest{
		Except: slices.Compact(except), Age: int64(c.cfg.Return.Age / time.Second), MaxURLs: c.cfg.Return.MaxURLs,
	}
	c.ask(wire.URLReturn, request, func(nodes []nodeAnswer, err error) {
		c.returning = false
		for _, n := range nodes {
			if err == nil {
				err = n.err
			}
		}
		if err != nil {
			c.Log().Warn("stuck rows are not returned everywhere", "error", err)
		}
		n := returned(nodes)
		if n == 0 {
			return
		}
		c.stuckURLs += int64(n)
		c.Log().Info("stuck rows are returned", "urls", n)
		c.goOn()
		c.Tell(ProcessName, wire.InternalWork, nil)
	})
}
