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
	cfg   *CrawlConfig
	open  map[int64]round // selections without an answer, by batch id
	again bool            // a hint arrived during a selection, which may have been too early

	other     fetchType // the fetch type of the next batch, instead of a draw
	returning bool      // the return of stuck rows is running

	aging, purging *sweep

	total, filled, items   int64
	fetches, cancelled     int64
	incremental, stuckURLs int64
	dynamic, static, mixed int64
}

// round is one selection for a batch.
type round struct {
	id          int64
	incremental bool
	fetch       fetchType
	second      bool // the selection of the other fetch type was empty
	selection   map[string]any
}

// NewCrawl returns the manager; it opens nothing.
func NewCrawl(base manager.Config, cfg CrawlConfig) *Crawl {
	base.Name, base.MaxWorkers = CrawlName, maxWorkers
	c := &Crawl{cfg: &cfg, open: map[int64]round{}}
	c.queue = queue{
		Loop: manager.New(base), Common: &c.cfg.Common, limits: &c.cfg.Limits,
		kind: CrawlTask, timer: crawlTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental},
		ended:    c.finishBatch, free: c.fillFreeSlot, again: c.taskForItems, lingers: true,
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
	if c.adopted {
		c.recoverRows() // it may have been held
	}
	c.again, c.found = c.isSelecting(), c.Now()
	c.Kick(crawlTimer)
}

// fillFreeSlot selects again at once if a slot is free.
func (c *Crawl) fillFreeSlot() {
	if c.usedSlots() < c.MaxTasks {
		c.Kick(crawlTimer)
	}
}

// fillSlot selects URLs for a batch if a slot is free. Only one selection runs at a time, and its
// answer fills the next slot, so slots and selections never exceed the limit together
// (docs/spec/daemon.md F18).
func (c *Crawl) fillSlot() {
	switch {
	case !c.mayStart(c.cfg.Period, c.cfg.Mode):
		return
	case c.isSelecting():
		return
	case c.usedSlots() >= c.MaxTasks:
		c.cancelled++
		return
	}
	second := c.other != mixed
	r := round{id: frontier.NewBatchID(), fetch: c.drawType()}
	r.second = second && r.fetch != mixed
	c.again = false
	c.fetches++
	sites, most := c.restrictToType(r.fetch)
	r.selection = c.selectionRequest(r.id, sites, c.cfg.URLsCriterion, most)
	c.findBatch(r)
}

// isSelecting reports whether a selection of regular crawling has no answer yet.
func (c *Crawl) isSelecting() bool {
	for _, r := range c.open {
		if !r.incremental {
			return true
		}
	}
	return false
}

// findBatch runs a selection on all nodes and makes a batch of the answers.
func (c *Crawl) findBatch(r round) {
	c.open[r.id] = r
	c.askNodes(wire.URLFetch, []any{r.selection}, func(nodes []nodeAnswer, err error) {
		delete(c.open, r.id)
		if err != nil {
			c.Log().Warn("cannot select URLs", "batch", r.id, "error", err)
			c.pauseAfterFault("cannot select URLs: " + err.Error())
			c.selectionLost(r.id, err)
			return
		}
		c.startBatch(r, nodes)
	})
}

// selectionRequest returns the URL_FETCH of a batch.
func (c *Crawl) selectionRequest(id int64, sites, urls wire.Criterion, most int64) map[string]any {
	return frontier.Rules{SitesCriterion: sites, URLs: urls, MaxURLs: most, Pace: c.cfg.PaceTime}.CrawlSelection(id)
}

// selected holds the fields of a selected URL that the manager uses. The row itself is passed
// on unchanged.
type selected struct {
	SiteID    string `json:"siteId"`
	URLMd5    string `json:"urlMd5"`
	ParentMd5 string `json:"parentMd5"`
}

// checkRow refuses a row with an invalid site id or MD5.
func (s selected) checkRow() error {
	if err := wire.CheckSiteID("URL", "siteId", s.SiteID); err != nil {
		return err
	}
	return wire.CheckMd5("URL", "urlMd5", s.URLMd5)
}

// gathered collects the selected rows of all nodes for one batch.
type gathered struct {
	items    []json.RawMessage
	spread   []map[string]any // copies for the other nodes
	rejected []key            // URLs of active batches
	unread   bool             // a node may have marked rows that cannot be read
}

// startBatch makes a batch of the selected rows and submits it (docs/spec/daemon.md 2.4, 2.5).
func (c *Crawl) startBatch(r round, nodes []nodeAnswer) {
	c.total++
	b := &batch{id: r.id, task: taskID(CrawlTask, r.id), nodes: len(nodes), keys: map[key]bool{}, extra: r.incremental, incremental: r.incremental, fetch: r.fetch}
	var g gathered
	for _, node := range nodes {
		c.gatherRows(b, &g, node)
	}
	c.giveBack(r.id, g.rejected)
	if len(g.items) == 0 {
		if g.unread {
			c.pauseAfterFault("cannot select URLs: a node did not answer well")
			c.selectionLost(r.id, nil)
		} else {
			c.nothingDue()
		}
		if c.again {
			c.Kick(crawlTimer)
		} else {
			c.drewNothing(r)
		}
		return // idle until the next period or hint
	}
	if g.unread {
		b.sites = nil // rows that cannot be read may belong to any site
	}
	b.urls, c.found = len(g.items), c.Now()
	c.filled++
	c.items += int64(len(g.items))
	c.countBatch(r.fetch)
	object, task := c.crawlTask(b, g.items)
	if c.cfg.RefillTime > 0 && len(nodes) == 1 && !r.incremental {
		object["refill"], object["refillTime"] = r.selection, c.cfg.RefillTime.Milliseconds()
		b.sites = nil // it may select rows of any site
	}
	stdin, err := json.Marshal(object)
	if err != nil {
		c.batches[b.task] = b
		c.concludeRefused(b, err)
		return
	}
	// An incremental batch has pages that the other nodes know already.
	if c.cfg.Propagate && !r.incremental && len(nodes) > 1 && len(g.spread) > 0 {
		c.propagateRows(b, g.spread)
	}
	c.Log().Info("batch", "batch", r.id, "urls", b.urls, "sites", len(b.sites), "incremental", r.incremental)
	task.Stdin = stdin
	c.submitBatch(b, task)
}

// crawlTask returns the Batch of b with items, and its task without the Batch.
func (c *Crawl) crawlTask(b *batch, items []json.RawMessage) (map[string]any, executor.Task) {
	kind := wire.CrawlNormal
	if b.incremental {
		kind = wire.CrawlIncremental
	}
	task := executor.Task{Stages: []executor.Stage{c.cfg.Crawler}}
	limit := c.setTimeLimits(b.fetch, &task)
	return map[string]any{
		"id": b.id, "crawlerType": kind, "items": items, "errorMask": 0, "dbMode": wire.DBRead | wire.DBWrite,
		"maxIterations": c.cfg.MaxIterations, "maxItems": nil,
		"maxExecutionTime": int64(limit / time.Second), "removeUnprocessedItems": c.RemoveUnprocessed,
		"maxHostWait": c.cfg.MaxHostWait.Milliseconds(), "retry": true,
	}, task
}

// taskForItems is queue.again.
func (c *Crawl) taskForItems(b *batch, items []json.RawMessage) executor.Task {
	object, task := c.crawlTask(b, append([]json.RawMessage{}, items...))
	task.Stdin, _ = json.Marshal(object) // of values that were parsed before
	return task
}

// gatherRows adds the selected rows of one node to the batch.
func (c *Crawl) gatherRows(b *batch, g *gathered, node nodeAnswer) {
	var rows []json.RawMessage
	err := node.err
	if err == nil {
		err = json.Unmarshal(node.object, &rows)
	}
	if err != nil {
		c.Log().Error("cannot read the selection of a node", "batch", b.id, "error", err)
		g.unread = true
		return
	}
	for _, row := range rows {
		var s selected
		err := json.Unmarshal(row, &s)
		if err == nil {
			err = s.checkRow()
		}
		if err != nil {
			c.Log().Error("cannot read a selected URL", "batch", b.id, "error", err)
			g.unread = true
			continue
		}
		k := key{s.SiteID, s.URLMd5}
		if b.keys[k] {
			continue // from another node, which the end of the batch informs
		}
		if c.cfg.CheckActive && c.isActive(k) {
			g.rejected = append(g.rejected, k)
			continue
		}
		item, err := json.Marshal(map[string]any{"siteId": s.SiteID, "urlId": s.URLMd5, "urlObj": row, "properties": map[string]string{}, "depth": 0})
		if err != nil {
			g.unread = true
			continue
		}
		b.keys[k] = true
		b.addSite(s.SiteID)
		g.items = append(g.items, item)
		if s.ParentMd5 != "" {
			if m := copyRow(row, b.id); m != nil {
				g.spread = append(g.spread, m)
			}
		}
	}
}

// isActive reports whether an active batch has the URL.
func (c *Crawl) isActive(k key) bool {
	for _, b := range c.batches {
		if b.keys[k] {
			return true
		}
	}
	return false
}

// finishBatch handles the end of a crawl batch: the other nodes mark its crawled URLs as crawled
// (docs/spec/daemon.md 2.1, 2.7). That must happen after the copies arrived there, and before
// the rows are returned: otherwise copies of crawled URLs would be selected.
func (c *Crawl) finishBatch(b *batch, next func()) {
	c.Tell(ProcessName, wire.InternalWork, nil)
	c.items += int64(b.end.More)
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
