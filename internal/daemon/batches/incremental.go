package batches

import (
	"fmt"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// IncrementalConfig is the part of [BatchTasksManager] about incremental crawling
// (docs/spec/daemon.md 2.9).
type IncrementalConfig struct {
	Mode     bool          // IncrMode
	Period   time.Duration // IncrPeriod, s; 0: off
	MaxDepth int64         // IncrMaxDepth
	MaxURLs  int64         // per node; IncrMaxURLs
	// MinFreq is IncrMinFreq. It has no effect, and had none in the first
	// implementation.
	MinFreq int64

	SitesCriterion wire.Criterion // the sites that ask for it
	URLsCriterion  wire.Criterion // the pages that have had time to change
}

// URLs is the condition on pages, down to the deepest level that is asked for.
func (i *IncrementalConfig) URLs() wire.Criterion {
	urls := i.URLsCriterion
	urls.Where = fmt.Sprintf("(%s) AND `Depth`<=%d", urls.Where, i.MaxDepth)
	return urls
}

// UnusedMinFreq is the value of IncrMinFreq that nobody has chosen.
const UnusedMinFreq = 100

func (c *Crawl) declareIncremental() {
	i := &c.cfg.Incremental
	c.Every(incrementalTimer, every(&i.Mode, &i.Period), func(time.Time) { c.lookAgain() })
	c.Var(
		manager.Switch("IncrMode", &i.Mode),
		manager.Span("IncrPeriod", &i.Period, time.Second, 0, longest),
		manager.Int("INCR_MAX_DEPTH", &i.MaxDepth, 0, maxDepth),
		manager.Int("INCR_MAX_URLS", &i.MaxURLs, 1, maxRows),
		manager.Int("INCR_MIN_FREQ", &i.MinFreq, 0, maxSwept),
	)
	if i.MinFreq != 0 && i.MinFreq != UnusedMinFreq {
		c.Log().Warn("IncrMinFreq has no effect; it had none in the first implementation either", "value", i.MinFreq)
	}
}

// lookAgain selects pages that are crawled already and have had as much time to
// change as they had before they were fetched. Their batch takes the road of all
// others. One is under way at a time, beside the slots of regular crawling: a
// queue that is never empty must not keep it waiting for ever.
func (c *Crawl) lookAgain() {
	if !c.mayStart(c.cfg.Incremental.Period, c.cfg.Incremental.Mode) {
		return
	}
	for _, r := range c.open {
		if r.incremental {
			return
		}
	}
	for _, b := range c.batches {
		if b.extra {
			return
		}
	}
	r := round{id: newBatchID(), incremental: true}
	c.incremental++
	c.find(r, c.incrementalSelection(r.id))
}

// incrementalSelection is the URL_FETCH of an incremental batch. Sites with rows
// in flight wait for another time, as for any batch: so a host is never asked by
// two at once.
func (c *Crawl) incrementalSelection(id int64) map[string]any {
	i := &c.cfg.Incremental
	s := c.selection(id, i.SitesCriterion, i.URLs(), i.MaxURLs)
	s["urlUpdate"].(map[string]any)["status"] = wire.StatusSelectedIncremental
	return s
}
