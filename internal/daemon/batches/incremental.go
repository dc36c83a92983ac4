package batches

import (
	"fmt"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// IncrementalConfig is the part of [BatchTasksManager] about incremental crawling
// (docs/spec/daemon.md 2.9).
type IncrementalConfig struct {
	Mode     bool          // IncrMode
	Period   time.Duration // IncrPeriod, s; 0: off
	MaxDepth int64         // IncrMaxDepth
	MaxURLs  int64         // per node; IncrMaxURLs

	SitesCriterion wire.Criterion // sites with incremental crawling
	URLsCriterion  wire.Criterion // pages that had time to change
}

// URLs returns the condition on pages, limited to MaxDepth.
func (i *IncrementalConfig) URLs() wire.Criterion {
	urls := i.URLsCriterion
	urls.Where = fmt.Sprintf("(%s) AND `Depth`<=%d", urls.Where, i.MaxDepth)
	return urls
}

func (c *Crawl) declareIncremental() {
	i := &c.cfg.Incremental
	c.Every(incrementalTimer, periodFunc(&i.Mode, &i.Period), func(time.Time) { c.lookAgain() })
	c.Var(
		manager.Switch("IncrMode", &i.Mode),
		manager.Span("IncrPeriod", &i.Period, time.Second, 0, longest),
		manager.Int("INCR_MAX_DEPTH", &i.MaxDepth, 0, maxDepth),
		manager.Int("INCR_MAX_URLS", &i.MaxURLs, 1, maxRows),
	)
}

// lookAgain selects crawled pages that had as much time to change as before their last fetch.
// Only one such batch is active at a time. It needs no slot of regular crawling: otherwise a
// queue that is never empty would block it for ever.
func (c *Crawl) lookAgain() {
	if !c.mayStart(c.cfg.Incremental.Period, c.cfg.Incremental.Mode) {
		return
	}
	for _, r := range c.open {
		if r.rules.Incremental {
			return
		}
	}
	for _, b := range c.batches {
		if b.incremental {
			return
		}
	}
	i := &c.cfg.Incremental
	r := round{id: frontier.NewBatchID(), rules: frontier.Rules{
		SitesCriterion: i.SitesCriterion, URLs: i.URLs(), MaxURLs: i.MaxURLs, Pace: c.cfg.PaceTime, Incremental: true,
	}}
	c.incremental++
	c.open[r.id] = r
	c.findDue(r.rules.CrawlLook(), func(nodes int, err error) {
		delete(c.open, r.id)
		c.total++
		if err == nil && nodes > 0 && c.mayStart(i.Period, i.Mode) {
			c.startRound(r, nodes)
		}
	})
}
