package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
	"hce/dc/internal/env"
	"hce/dc/internal/manager"
)

// CrawlName and ProcessName are the class names of the two managers, and the
// inproc names on which they take hints.
const (
	CrawlName   = "BatchTasksManager"
	ProcessName = "BatchTasksManagerProcess"
)

// Crawl is BatchTasksManager: regular crawling (daemon 2.2 to 2.7).
type Crawl struct {
	queue
	cfg       *CrawlConfig
	selecting bool // a URL_FETCH has no answer yet
	again     bool // somebody hinted meanwhile: it may have looked too early

	total, filled, items int64
	fetches, cancelled   int64
	mixed                int64
}

// NewCrawl declares the manager; Run opens and runs it.
func NewCrawl(base manager.Config, cfg CrawlConfig) *Crawl {
	base.Name, base.MaxWorkers = CrawlName, maxWorkers
	c := &Crawl{cfg: &cfg}
	c.queue = queue{
		Loop: manager.New(base), Common: &c.cfg.Common, kind: CrawlTask,
		statuses: []int64{dc.StatusSelectedCrawling, dc.StatusCrawling, dc.StatusSelectedIncremental},
		ended:    c.finished, free: c.goOn,
	}
	c.Bind(CrawlName, bus.Inproc(CrawlName), bus.Options{})
	c.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	c.Connect(ProcessName, bus.Inproc(ProcessName), bus.Options{Linger: -1})
	c.Handle(CrawlName, dc.ClassInternal, dc.InternalWork, c.hint)
	c.watch()
	c.Every(CrawlTask, func() time.Duration { return c.cfg.Period }, func(time.Time) { c.fill() })
	c.declare()
	return c
}

func (c *Crawl) declare() {
	c.variables(&c.cfg.Period, "RegularCrawlingPeriod", &c.cfg.Mode, "RegularCrawlingMode")
	c.Var(
		manager.Switch("RegularCrawlingPropagateURLs", &c.cfg.Propagate),
		manager.Span("BatchDefaultPaceTime", &c.cfg.PaceTime, time.Second, 0, time.Hour),
		manager.Int("BatchMaxIterations", &c.cfg.MaxIterations, 1, 100),
		manager.Switch("BatchDefaultCheckURLsInActiveBatches", &c.cfg.CheckActive),
		manager.Int("CrawledURLStrategy", &c.cfg.CrawledStrategy, 0, 1),
		manager.Text("BatchDefaultOrderByURLs", &c.cfg.URLsCriterion.OrderBy, nil),
	)
	c.Counter("batches_crawl_total", &c.total)
	c.Counter("batches_crawl_filled", &c.filled)
	c.Counter("batches_crawl_urls", &c.items)
	c.Counter("batches_crawl_url_fetch", &c.fetches)
	c.Counter("batches_crawl_url_fetch_cancelled", &c.cancelled)
	c.Counter("batches_crawl_fetcher_mixed", &c.mixed)
	c.Counter("batches_crawl_fault", &c.faults)
	c.Counter("batches_crawl_urls_fault", &c.urlsFault)
	c.Counter("batches_crawl_fault_ttl", &c.expired)
	c.Counter("batches_crawl_delete_fault", &c.deleteFaults)
	c.Counter("batches_crawl_check_fault", &c.checkFaults)
	c.Gauge("batches_crawl_queue", func() any { return len(c.batches) })
	c.Gauge("batches_crawl_url_fetch_requests", func() any {
		if c.selecting {
			return 1
		}
		return 0
	})
	c.Gauge("batches_crawl_items_avg", func() any {
		if c.filled == 0 {
			return 0
		}
		return c.items / c.filled
	})
}

// variables declares what both managers let an operator change.
func (q *queue) variables(period *time.Duration, periodName string, mode *bool, modeName string) {
	q.Var(
		manager.Span(periodName, period, time.Second, 0, 24*time.Hour),
		manager.Switch(modeName, mode),
		manager.Span("BatchQueueProcessingPeriod", &q.QueuePeriod, time.Second, 0, time.Hour),
		manager.Span("BatchQueueTaskTTL", &q.TaskTTL, time.Second, 1, 24*time.Hour),
		manager.Span("BatchDefaultMaxExecutionTime", &q.TaskTime, time.Second, time.Second, 24*time.Hour),
		manager.Span("BatchMaxExecutionTime", &q.BatchTime, time.Second, time.Second, 24*time.Hour),
		manager.Int("BatchDefaultMaxURLs", &q.MaxURLs, 1, 100000),
		manager.Int("BatchDefaultMaxTasks", &q.MaxTasks, 0, 1000),
		manager.Int("BatchDefaultMaxAttempts", &q.MaxAttempts, 0, 1000),
		manager.Switch("RemoveUnprocessedBatchItems", &q.RemoveUnprocessed),
	)
}

// hint is somebody's word that there may be work.
func (c *Crawl) hint(manager.Peer, dc.Event) {
	c.again = c.selecting
	c.Kick(CrawlTask)
}

// goOn looks for work at once when there is a slot for it.
func (c *Crawl) goOn() {
	if c.slots() < c.MaxTasks {
		c.Kick(CrawlTask)
	}
}

// fill selects URLs for a batch if a slot is free. One selection is under way at
// a time, and the answer to it fills the next slot, so that slots and selections
// never exceed the limit together (daemon F18).
func (c *Crawl) fill() {
	switch {
	case !c.mayStart(c.cfg.Period, c.cfg.Mode):
		return
	case c.selecting:
		return
	case c.slots() >= c.MaxTasks:
		c.cancelled++
		return
	}
	id := newBatchID()
	c.selecting, c.again = true, false
	c.fetches++
	c.ask(dc.URLFetch, []any{c.selection(id)}, func(nodes []nodeAnswer, err error) {
		c.selecting = false
		if err != nil {
			c.Log().Warn("no URLs were selected", "batch", id, "error", err)
			c.selectionLost(id, err)
			return
		}
		c.start(id, nodes)
	})
}

// selection is the URL_FETCH of a batch (daemon 2.3).
func (c *Crawl) selection(id int64) map[string]any {
	return map[string]any{
		"sitesList":       []string{},
		"sitesCriterions": c.cfg.SitesCriterion,
		"urlsCriterions":  c.cfg.URLsCriterion,
		"maxURLs":         c.MaxURLs,
		"algorithm":       1,
		"isLocking":       true,
		"attributeNames":  []string{},
		"skipBusySites":   true,
		"paceTime":        c.cfg.PaceTime.Milliseconds(),
		"siteUpdate":      map[string]any{"tcDate": "NOW()"},
		"urlUpdate": map[string]any{
			"status": dc.StatusSelectedCrawling, "batchId": id, "tcDate": "NOW()", "UDate": "NOW()",
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
	if err := dc.CheckSiteID("URL", "siteId", s.SiteID); err != nil {
		return err
	}
	return dc.CheckMd5("URL", "urlMd5", s.URLMd5)
}

// gathered is what the nodes selected for one batch.
type gathered struct {
	items    []json.RawMessage
	spread   []map[string]any // copies for the other nodes
	rejected []key            // URLs of batches under way
	unread   bool             // rows were marked that cannot be read
}

// start makes a batch of the rows that the nodes selected and submits it
// (daemon 2.4, 2.5).
func (c *Crawl) start(id int64, nodes []nodeAnswer) {
	c.total++
	b := &batch{id: id, task: taskID(CrawlTask, id), nodes: len(nodes), keys: map[key]bool{}}
	var g gathered
	for _, node := range nodes {
		c.gather(b, &g, node)
	}
	c.giveBack(id, g.rejected)
	if len(g.items) == 0 {
		if g.unread {
			c.selectionLost(id, nil)
		}
		if c.again {
			c.Kick(CrawlTask)
		}
		return // idle until the period is over or somebody hints
	}
	if g.unread {
		b.sites = nil // its rows may be anywhere
	}
	b.urls = len(g.items)
	c.filled++
	c.mixed++
	c.items += int64(len(g.items))
	stdin, err := json.Marshal(map[string]any{
		"id": id, "crawlerType": dc.CrawlNormal, "items": g.items, "errorMask": 0, "dbMode": dc.DBRead | dc.DBWrite,
		"maxIterations": c.cfg.MaxIterations, "maxItems": nil,
		"maxExecutionTime": int64(c.innerLimit() / time.Second), "removeUnprocessedItems": c.RemoveUnprocessed,
	})
	if err != nil {
		c.batches[b.task] = b
		c.refused(b, err)
		return
	}
	if c.cfg.Propagate && len(nodes) > 1 && len(g.spread) > 0 {
		c.propagate(b, g.spread)
	}
	c.Log().Info("batch", "batch", id, "urls", b.urls, "sites", len(b.sites))
	c.submit(b, env.Task{Name: "crawl", Stages: []env.Stage{c.cfg.Crawler}, Stdin: stdin})
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
// its URLs are crawled (daemon 2.1, 2.7). That comes before its rows are
// returned, which would offer the copies of what is crawled to others, and after
// the copies are there.
func (c *Crawl) finished(b *batch, next func()) {
	c.Tell(ProcessName, dc.InternalWork, nil)
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
