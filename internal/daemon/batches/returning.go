package batches

import (
	"context"
	"slices"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// ReturnConfig is the part of [BatchTasksManager] about stuck rows (docs/spec/daemon.md 2.8).
type ReturnConfig struct {
	Mode    bool          // ReturnURLsMode
	Period  time.Duration // ReturnURLsPeriod, s; 0: off
	Age     time.Duration // since the last change of a row; ReturnURLsTTL, min
	MaxURLs int64         // per run and node; ReturnURLsMaxNumber
}

func (c *Crawl) declareReturn() {
	r := &c.cfg.Return
	c.Every(returnTimer, periodFunc(&r.Mode, &r.Period), func(time.Time) { c.findStuck() })
	c.Var(
		manager.Switch("ReturnURLsMode", &r.Mode),
		manager.Span("ReturnURLsPeriod", &r.Period, time.Second, 0, longest),
		manager.Span("ReturnURLsTTL", &r.Age, time.Minute, time.Minute, 365*longest),
		manager.Int("ReturnURLsMaxNumber", &r.MaxURLs, 1, maxSwept),
	)
}

// findStuck starts the return of rows that no batch will end. It first lists all batches that
// the executor knows, of both managers, to exclude their rows (docs/spec/DECISIONS.md 3.4).
func (c *Crawl) findStuck() {
	if !c.ready || c.returning {
		return
	}
	c.returning = true
	manager.Work(c.Loop, func(ctx context.Context) ([]executor.Status, error) {
		return c.Executor.Status(ctx)
	}, func(known []executor.Status, err error) {
		if err != nil {
			c.returning = false
			c.Log().Warn("cannot list active batches", "error", err)
			return
		}
		c.returnStuck(known)
	})
}

// returnStuck returns the rows of batches that are neither active nor being selected. That
// counts no attempt, because their fate is unknown. Rows selected meanwhile are too young to
// match.
func (c *Crawl) returnStuck(known []executor.Status) {
	except := []int64{}
	for _, s := range known {
		if id := batchOf(s.ID); id != 0 {
			except = append(except, id)
		}
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
	c.tellNodes(wire.URLReturn, request, func(nodes []nodeAnswer, err error) {
		c.returning = false
		if err != nil {
			c.Log().Warn("cannot return stuck rows on every node", "error", err)
		}
		n := countReturned(nodes)
		if n == 0 {
			return
		}
		c.stuckURLs += int64(n)
		c.Log().Info("returned stuck rows", "urls", n)
		c.lookSoon()
		c.Tell(ProcessName, wire.InternalWork, nil)
	})
}
