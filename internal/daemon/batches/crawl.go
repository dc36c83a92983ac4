package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// CrawlName and ProcessName are the class names of the two managers. They are also the inproc
// names on which the managers receive hints about new work.
const (
	CrawlName   = "BatchTasksManager"
	ProcessName = "BatchTasksManagerProcess"
)

// Crawl is BatchTasksManager: regular and incremental crawling, return of stuck rows, aging
// and purging (docs/spec/daemon.md 2.2 to 2.11).
type Crawl struct {
	queue
	cfg  *CrawlConfig
	open map[int64]round // selections of rows, and looks of incremental crawling, without an answer; by batch id

	other     fetchType // the fetch type of the next batch, instead of a draw
	returning bool      // the return of stuck rows is running

	aging, purging *sweep

	total, fetches         int64
	incremental, stuckURLs int64
	dynamic, static, mixed int64
}

// round is one try to fill a slot.
type round struct {
	id     int64
	fetch  fetchType
	second bool // the look for the other fetch type found nothing
	rules  frontier.Rules
}

// newBatch returns the batch of a round whose look was answered by this many nodes.
func (r round) newBatch(nodes int) *batch {
	return &batch{id: r.id, task: taskID(CrawlTask, r.id), nodes: nodes, extra: r.rules.Incremental, incremental: r.rules.Incremental, fetch: r.fetch}
}

// NewCrawl returns the manager; it opens nothing.
func NewCrawl(base manager.Config, cfg CrawlConfig) *Crawl {
	base.Name, base.MaxWorkers = CrawlName, maxWorkers
	c := &Crawl{cfg: &cfg, open: map[int64]round{}}
	c.queue = queue{
		Loop: manager.New(base), Common: &c.cfg.Common, limits: &c.cfg.Limits,
		kind: CrawlTask, timer: crawlTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental},
		ended:    c.finishBatch, again: c.taskForItems, lingers: true,
		whenReady: func() { c.Kick(returnTimer); c.Kick(incrementalTimer) },
	}
	c.Bind(CrawlName, bus.Inproc(CrawlName), bus.Options{})
	c.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	c.Connect(ProcessName, bus.Inproc(ProcessName), bus.Options{Linger: -1})
	c.Handle(CrawlName, wire.ClassInternal, wire.InternalWork, c.handleHint)
	c.ServeHold(CrawlName)
	c.declareTimers()
	c.Every(crawlTimer, c.lookPeriod(&c.cfg.Mode, &c.cfg.Period), func(time.Time) { c.fillSlot() })
	c.declareVariables()
	c.declareReturn()
	c.declareIncremental()
	c.aging, c.purging = newAging(c), newPurging(c)
	return c
}

func (c *Crawl) declareVariables() {
	c.declareShared(&c.cfg.Period, "RegularCrawlingPeriod", &c.cfg.Mode, "RegularCrawlingMode")
	c.Var(
		manager.Program("DRCECrawlerAppName", c.cfg.Crawler.Program, c.cfg.Crawler.Args...),
		manager.Program("DRCEDBAppName", c.cfg.DBTask.Program, c.cfg.DBTask.Args...),
		manager.Switch("RegularCrawlingPropagateURLs", &c.cfg.Propagate),
		manager.Span("BatchDefaultPaceTime", &c.cfg.PaceTime, time.Second, 0, time.Hour),
		manager.Span("BatchRefillTime", &c.cfg.RefillTime, time.Second, 0, time.Hour),
		manager.Span("BatchMaxHostWait", &c.cfg.MaxHostWait, time.Second, 0, time.Hour),
		manager.Int("BatchMaxIterations", &c.cfg.MaxIterations, 1, 100),
		manager.Switch("BatchDefaultCheckURLsInActiveBatches", &c.cfg.CheckActive),
		manager.Int("CrawledURLStrategy", &c.cfg.CrawledStrategy, 0, 1),
		conditionVariable("BatchDefaultOrderByURLs", &c.cfg.URLsCriterion.OrderBy),
		fetchTypesVariable(&c.cfg.FetchTypes),
	)
	c.declareCounters()
}

// handleHint handles a message that there may be work, perhaps of processing.
func (c *Crawl) handleHint(manager.Peer, wire.Event) {
	c.Tell(ProcessName, wire.InternalWork, nil)
	c.noteHint()
}

// fillSlot looks for a due row if a slot is free, and fills it.
func (c *Crawl) fillSlot() {
	if !c.mayLook(c.cfg.Period, c.cfg.Mode) {
		return
	}
	second := c.other != mixed
	r := round{id: frontier.NewBatchID(), fetch: c.drawType()}
	r.second = second && r.fetch != mixed
	c.fetches++
	sites, most := c.restrictToType(r.fetch)
	r.rules = frontier.Rules{SitesCriterion: sites, URLs: c.cfg.URLsCriterion, MaxURLs: most, Pace: c.cfg.PaceTime, RefillTime: c.cfg.RefillTime}
	c.look(r.rules.CrawlLook(), func(nodes int) {
		c.total++
		switch {
		case nodes == 0:
			c.drewNothing(r)
		case c.mayStart(c.cfg.Period, c.cfg.Mode):
			c.startRound(r, nodes)
		}
	})
}

// startRound starts a task for the rows of a look.
func (c *Crawl) startRound(r round, nodes int) {
	if nodes > 1 {
		c.selectRows(r)
		return
	}
	b := r.newBatch(nodes)
	members, task := c.crawlTask(b)
	stdin, err := r.rules.CrawlBatch(r.id, members)
	if err != nil {
		c.batches[b.task] = b
		c.concludeRefused(b, err)
		return
	}
	c.countBatch(r.fetch)
	task.Stdin = stdin
	c.submitBatch(b, task)
}

// crawlTask returns members of the Batch of b, and its task without the Batch.
func (c *Crawl) crawlTask(b *batch) (map[string]any, executor.Task) {
	task := executor.Task{Stages: []executor.Stage{c.cfg.Crawler}}
	limit := c.setTimeLimits(b.fetch, &task)
	return map[string]any{
		"errorMask": 0, "maxIterations": c.cfg.MaxIterations, "maxItems": nil,
		"maxExecutionTime": int64(limit / time.Second), "removeUnprocessedItems": c.RemoveUnprocessed,
		"maxHostWait": c.cfg.MaxHostWait.Milliseconds(),
	}, task
}

// taskForItems is queue.again.
func (c *Crawl) taskForItems(b *batch, items []json.RawMessage) executor.Task {
	members, task := c.crawlTask(b)
	task.Stdin, _ = json.Marshal(frontier.Rules{Incremental: b.incremental}.CrawlItems(b.id, items, members)) // of values that were parsed before
	return task
}

// finishBatch handles the end of a crawl batch: the other nodes mark its crawled URLs as crawled
// (docs/spec/daemon.md 2.1, 2.7). That must happen after the copies arrived there, and before
// the rows are returned: otherwise copies of crawled URLs would be selected.
func (c *Crawl) finishBatch(b *batch, next func()) {
	c.Tell(ProcessName, wire.InternalWork, nil)
	c.countTaken(b)
	inform := func() {
		if b.end.isGood() && len(b.end.Crawled) > 0 {
			c.markElsewhere(b, next)
			return
		}
		next()
	}
	if b.spreading {
		b.after = inform
		return
	}
	inform()
}

func (c *Crawl) logFailure(what string, batch int64) func([]nodeAnswer, error) {
	return func(_ []nodeAnswer, err error) {
		if err != nil {
			c.Log().Warn(what, "batch", batch, "error", err)
		}
	}
}
