package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// CrawlName and ProcessName are the class names of the two managers, and the
// inproc names on which they take hints.
const (
	CrawlName   = "BatchTasksManager"
	ProcessName = "BatchTasksManagerProcess"
)

// Crawl is BatchTasksManager: regular and incremental crawling, the return of
// stuck rows, aging and purging (docs/spec/daemon.md 2.2 to 2.11).
type Crawl struct {
	queue
	cfg   *CrawlConfig
	open  map[int64]round // selections that have no answer yet, by the batch's id
	again bool            // somebody hinted meanwhile: it may have looked too early

	other     fetchType // to be taken next, instead of a draw
	returning bool      // the return of stuck rows is under way

	aging, purging *sweep

	total, filled, items   int64
	fetches, cancelled     int64
	incremental, stuckURLs int64
	dynamic, static, mixed int64
}

// round is one selection, and the batch that comes of it.
type round struct {
	id          int64
	incremental bool
	fetch       fetchType
	second      bool // the other type had nothing
}

// NewCrawl declares the manager; Run opens and runs it.
func NewCrawl(base manager.Config, cfg CrawlConfig) *Crawl {
	base.Name, base.MaxWorkers = CrawlName, maxWorkers
	c := &Crawl{cfg: &cfg, open: map[int64]round{}}
	c.queue = queue{
		Loop: manager.New(base), Common: &c.cfg.Common, limits: &c.cfg.Limits, name: &c.cfg.TaskName,
		kind: CrawlTask, timer: crawlTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental},
		ended:    c.finished, free: c.goOn,
		whenReady: func() { c.Kick(returnTimer); c.Kick(incrementalTimer) },
	}
	c.Bind(CrawlName, bus.Inproc(CrawlName), bus.Options{})
	c.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	c.Connect(ProcessName, bus.Inproc(ProcessName), bus.Options{Linger: -1})
	c.Handle(CrawlName, wire.ClassInternal, wire.InternalWork, c.hint)
	c.watch()
	c.Every(crawlTimer, every(&c.cfg.Mode, &c.cfg.Period), func(time.Time) { c.fill() })
	c.declare()
	c.declareReturn()
	c.declareIncremental()
	c.aging, c.purging = newAging(c), newPurging(c)
	return c
}

func (c *Crawl) declare() {
	c.variables(&c.cfg.Period, "RegularCrawlingPeriod", &c.cfg.Mode, "RegularCrawlingMode")
	named(c.Loop, "Crawl", &c.cfg.TaskName)
	c.Var(
		manager.Program("DRCECrawlerAppName", c.cfg.Crawler.Program, c.cfg.Crawler.Args...),
		manager.Program("DRCEDBAppName", c.cfg.DBTask.Program, c.cfg.DBTask.Args...),
		manager.Switch("RegularCrawlingPropagateURLs", &c.cfg.Propagate),
		manager.Span("BatchDefaultPaceTime", &c.cfg.PaceTime, time.Second, 0, time.Hour),
		manager.Span("BatchMaxHostWait", &c.cfg.MaxHostWait, time.Second, 0, time.Hour),
		manager.Int("BatchMaxIterations", &c.cfg.MaxIterations, 1, 100),
		manager.Switch("BatchDefaultCheckURLsInActiveBatches", &c.cfg.CheckActive),
		manager.Int("CrawledURLStrategy", &c.cfg.CrawledStrategy, 0, 1),
		condition("BatchDefaultOrderByURLs", &c.cfg.URLsCriterion.OrderBy),
		fetchTypesVariable(&c.cfg.FetchTypes),
	)
	c.counters()
}

// hint is somebody's word that there may be work.
func (c *Crawl) hint(manager.Peer, wire.Event) {
	c.again = c.selecting()
	c.Kick(crawlTimer)
}

// goOn looks for work at once when there is a slot for it.
func (c *Crawl) goOn() {
	if c.slots() < c.MaxTasks {
		c.Kick(crawlTimer)
	}
}

// fill selects URLs for a batch if a slot is free. One selection is under way at
// a time, and the answer to it fills the next slot, so that slots and selections
// never exceed the limit together (docs/spec/daemon.md F18).
func (c *Crawl) fill() {
	switch {
	case !c.mayStart(c.cfg.Period, c.cfg.Mode):
		return
	case c.selecting():
		return
	case c.slots() >= c.MaxTasks:
		c.cancelled++
		return
	}
	second := c.other != mixed
	r := round{id: newBatchID(), fetch: c.draw()}
	r.second = second && r.fetch != mixed
	c.again = false
	c.fetches++
	sites, most := c.drawn(r.fetch)
	c.find(r, c.selection(r.id, sites, c.cfg.URLsCriterion, most))
}

// selecting reports whether a selection of regular crawling has no answer yet.
func (c *Crawl) selecting() bool {
	for _, r := range c.open {
		if !r.incremental {
			return true
		}
	}
	return false
}

// find asks all nodes for a selection; what they give becomes a batch.
func (c *Crawl) find(r round, selection map[string]any) {
	c.open[r.id] = r
	c.ask(wire.URLFetch, []any{selection}, func(nodes []nodeAnswer, err error) {
		delete(c.open, r.id)
		if err != nil {
			c.Log().Warn("no URLs were selected", "batch", r.id, "error", err)
			c.selectionLost(r.id, err)
			return
		}
		c.start(r, nodes)
	})
}

// selection is the URL_FETCH of a batch (docs/spec/daemon.md 2.3).
func (c *Crawl) selection(id int64, sites, urls wire.Criterion, most int64) map[string]any {
	return map[string]any{
		"sitesList":       []string{},
		"sitesCriterions": sites,
		"urlsCriterions":  urls,
		"maxURLs":         most,
		"algorithm":       1,
		"isLocking":       true,
		"attributeNames":  []string{},
		"skipBusySites":   true,
		"paceTime":        c.cfg.PaceTime.Milliseconds(),
		"siteUpdate":      map[string]any{"tcDate": "NOW()"},
		"urlUpdate": map[string]any{
			"status": wire.StatusSelectedCrawling, "batchId": id, "tcDate": "NOW()", "UDate": "NOW()",
		},
	}
}

// selected is what a manager must know of a selected URL; the rest travels as it
// came.
type selected struct {
	SiteID    string `json:"siteId"`
	URLMd5    string `json:"urlMd5"`
	ParentMd5 string `json:"parentMd5"`
}

// check refuses a row that cannot be named in a request.
func (s selected) check() error {
	if err := wire.CheckSiteID("URL", "siteId", s.SiteID); err != nil {
		return err
	}
	return wire.CheckMd5("URL", "urlMd5", s.URLMd5)
}

// gathered is what the nodes selected for one batch.
type gathered struct {
	items    []json.RawMessage
	spread   []map[string]any // copies for the other nodes
	rejected []key            // URLs of batches under way
	unread   bool             // rows were marked that cannot be read
}

// start makes a batch of the rows that the nodes selected and submits it
// (docs/spec/daemon.md 2.4, 2.5).
func (c *Crawl) start(r round, nodes []nodeAnswer) {
	c.total++
	b := &batch{id: r.id, task: taskID(CrawlTask, r.id), nodes: len(nodes), keys: map[key]bool{}, extra: r.incremental}
	var g gathered
	for _, node := range nodes {
		c.gather(b, &g, node)
	}
	c.giveBack(r.id, g.rejected)
	if len(g.items) == 0 {
		if g.unread {
			c.selectionLost(r.id, nil)
		}
		if c.again {
			c.Kick(crawlTimer)
		} else {
			c.drewNothing(r)
		}
		return // idle until the period is over or somebody hints
	}
	if g.unread {
		b.sites = nil // its rows may be anywhere
	}
	b.urls = len(g.items)
	c.filled++
	c.items += int64(len(g.items))
	c.counted(r.fetch)
	kind := wire.CrawlNormal
	if r.incremental {
		kind = wire.CrawlIncremental
	}
	task := executor.Task{Stages: []executor.Stage{c.cfg.Crawler}}
	limit := c.timed(r.fetch, &task)
	stdin, err := json.Marshal(map[string]any{
		"id": r.id, "crawlerType": kind, "items": g.items, "errorMask": 0, "dbMode": wire.DBRead | wire.DBWrite,
		"maxIterations": c.cfg.MaxIterations, "maxItems": nil,
		"maxExecutionTime": int64(limit / time.Second), "removeUnprocessedItems": c.RemoveUnprocessed,
		"maxHostWait": c.cfg.MaxHostWait.Milliseconds(),
	})
	if err != nil {
		c.batches[b.task] = b
		c.refused(b, err)
		return
	}
	// Pages that are looked at again are known on the other nodes already.
	if c.cfg.Propagate && !r.incremental && len(nodes) > 1 && len(g.spread) > 0 {
		c.propagate(b, g.spread)
	}
	c.Log().Info("batch", "batch", r.id, "urls", b.urls, "sites", len(b.sites), "incremental", r.incremental)
	task.Stdin = stdin
	c.submit(b, task)
}

// gather adds what one node selected to the batch.
func (c *Crawl) gather(b *batch, g *gathered, node nodeAnswer) {
	var rows []json.RawMessage
	err := node.err
	if err == nil {
		err = json.Unmarshal(node.object, &rows)
	}
	if err != nil {
		c.Log().Error("a node's selection is not there", "batch", b.id, "error", err)
		g.unread = true
		return
	}
	for _, row := range rows {
		var s selected
		err := json.Unmarshal(row, &s)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			c.Log().Error("a selected URL is unreadable", "batch", b.id, "error", err)
			g.unread = true
			continue
		}
		k := key{s.SiteID, s.URLMd5}
		if b.keys[k] {
			continue // another node has it too; the end of the batch tells that node
		}
		if c.cfg.CheckActive && c.active(k) {
			g.rejected = append(g.rejected, k)
			continue
		}
		item, err := json.Marshal(map[string]any{"siteId": s.SiteID, "urlId": s.URLMd5, "urlObj": row, "properties": map[string]string{}, "depth": 0})
		if err != nil {
			g.unread = true
			continue
		}
		b.keys[k] = true
		b.onSite(s.SiteID)
		g.items = append(g.items, item)
		if s.ParentMd5 != "" {
			if m := copied(row, b.id); m != nil {
				g.spread = append(g.spread, m)
			}
		}
	}
}

// active reports whether a batch under way has the URL.
func (c *Crawl) active(k key) bool {
	for _, b := range c.batches {
		if b.keys[k] {
			return true
		}
	}
	return false
}

// finished is the end of a crawl batch: the nodes that did not crawl learn that
// its URLs are crawled (docs/spec/daemon.md 2.1, 2.7). That comes before its rows are
// returned, which would offer the copies of what is crawled to others, and after
// the copies are there.
func (c *Crawl) finished(b *batch, next func()) {
	c.Tell(ProcessName, wire.InternalWork, nil)
	inform := func() {
		if b.end.good() && len(b.end.Crawled) > 0 {
			c.foreign(b, next)
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
