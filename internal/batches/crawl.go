package batches

import (
	"encoding/json"
	"strconv"
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
	cfg      *CrawlConfig
	fetching int64 // URL_FETCH requests without an answer

	total, filled, items int64
	fetches, cancelled   int64
	mixed                int64
}

// NewCrawl declares the manager; Run opens and runs it.
func NewCrawl(base manager.Config, cfg CrawlConfig) *Crawl {
	base.Name, base.MaxWorkers = CrawlName, maxWorkers
	c := &Crawl{cfg: &cfg}
	c.queue = queue{
		Loop: manager.New(base), Common: cfg.Common, kind: CrawlTask,
		statuses: []int64{dc.StatusSelectedCrawling, dc.StatusCrawling, dc.StatusSelectedIncremental},
		ended:    c.finished, free: func() { c.Kick("crawl") },
	}
	c.Bind(CrawlName, bus.Inproc(CrawlName), bus.Options{})
	c.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	c.Connect(ProcessName, bus.Inproc(ProcessName), bus.Options{Linger: -1})
	c.Handle(CrawlName, dc.ClassInternal, dc.InternalWork, func(manager.Peer, dc.Event) { c.Kick("crawl") })
	c.watch()
	c.Every("crawl", func() time.Duration { return c.cfg.Period }, func(time.Time) { c.fill() })
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
	c.Gauge("batches_crawl_queue", func() any { return len(c.running) })
	c.Gauge("batches_crawl_url_fetch_requests", func() any { return c.fetching })
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

// fill starts a batch if a slot is free. Slots and unanswered selections count
// together against the limit (daemon F18).
func (c *Crawl) fill() {
	if !c.ready || !c.cfg.Mode {
		return
	}
	if c.fetching > 0 {
		return // its answer fills the next slot
	}
	if c.taken()+c.fetching >= c.MaxTasks {
		c.cancelled++
		return
	}
	id := int64(newBatchID())
	c.fetching++
	c.fetches++
	c.ask(dc.URLFetch, []any{c.selection(id)}, func(nodes []json.RawMessage, err error) {
		c.fetching--
		if err != nil {
			c.Log().Warn("no URLs were selected", "batch", id, "error", err)
			// The rows may be selected and only the answer lost.
			c.returnRows(dc.URLReturnRequest{BatchID: id, Statuses: c.statuses}, func(error) {})
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

// start makes a batch of the rows that the nodes selected and submits it
// (daemon 2.4, 2.5).
func (c *Crawl) start(id int64, nodes []json.RawMessage) {
	c.total++
	b := &running{task: taskID("crawl", id), batch: id, nodes: len(nodes), keys: map[[2]string]bool{}}
	var items []json.RawMessage
	var spread []map[string]any
	var rejected []selected
	for _, raw := range nodes {
		var rows []json.RawMessage
		if err := json.Unmarshal(raw, &rows); err != nil {
			c.Log().Error("a node's selection is unreadable", "batch", id, "error", err)
			continue
		}
		for _, row := range rows {
			var s selected
			if err := json.Unmarshal(row, &s); err != nil {
				continue
			}
			key := [2]string{s.SiteID, s.URLMd5}
			if b.keys[key] {
				continue // another node has it too; the end of the batch tells that node
			}
			if c.cfg.CheckActive && c.active(key) {
				rejected = append(rejected, s)
				continue
			}
			b.keys[key] = true
			b.note(s.SiteID)
			item, err := json.Marshal(map[string]any{"siteId": s.SiteID, "urlId": s.URLMd5, "urlObj": row, "properties": map[string]string{}, "depth": 0})
			if err != nil {
				continue
			}
			items = append(items, item)
			if s.ParentMd5 != "" {
				spread = append(spread, propagated(row))
			}
		}
	}
	c.giveBack(rejected)
	if len(items) == 0 {
		return // idle until the period is over or somebody hints
	}
	b.urls = len(items)
	c.filled++
	c.mixed++
	c.items += int64(len(items))
	batch, err := json.Marshal(map[string]any{
		"id": id, "crawlerType": dc.CrawlNormal, "items": items, "errorMask": 0, "dbMode": dc.DBRead | dc.DBWrite,
		"maxIterations": c.cfg.MaxIterations, "maxItems": nil,
		"maxExecutionTime": int64(c.BatchTime / time.Second), "removeUnprocessedItems": c.RemoveUnprocessed,
	})
	if err != nil {
		c.refused(b, err)
		return
	}
	if c.cfg.Propagate && len(nodes) > 1 && len(spread) > 0 {
		c.ask(dc.URLNew, spread, c.logFailure("URLs are not propagated", id))
	}
	c.Log().Info("batch", "batch", id, "urls", b.urls, "sites", len(b.sites))
	c.submit(b, env.Task{Name: "crawl", Stages: []env.Stage{c.cfg.Crawler}, Stdin: batch})
	c.Kick("crawl") // there may be more, and another slot
}

func (b *running) note(site string) {
	for _, s := range b.sites {
		if s == site {
			return
		}
	}
	b.sites = append(b.sites, site)
}

// active reports whether a batch under way has the URL.
func (c *Crawl) active(key [2]string) bool {
	for _, b := range c.running {
		if b.keys[key] {
			return true
		}
	}
	return false
}

// giveBack makes rejected URLs New again at once (daemon F5).
func (c *Crawl) giveBack(rejected []selected) {
	if len(rejected) == 0 {
		return
	}
	var updates []map[string]any
	for _, s := range rejected {
		updates = append(updates, map[string]any{"siteId": s.SiteID, "urlMd5": s.URLMd5, "status": dc.StatusNew})
	}
	c.ask(dc.URLUpdate, updates, c.logFailure("rejected URLs are not given back", 0))
}

// propagated is the copy of a selected row for the other nodes: its counters and
// contents are their own affair (DECISIONS 3.3).
func propagated(row json.RawMessage) map[string]any {
	var m map[string]any
	if json.Unmarshal(row, &m) != nil {
		return nil
	}
	for _, name := range []string{"crawled", "processed", "errorMask", "crawlingTime", "processingTime", "totalTime", "httpCode",
		"size", "linksI", "linksE", "freq", "mRate", "mRateCounter", "tagsMask", "tagsCount"} {
		m[name] = 0
	}
	for _, name := range []string{"contentType", "charset", "rawContentMd5", "eTag", "contentURLMd5"} {
		m[name] = ""
	}
	m["pDate"], m["lastModified"], m["attributes"] = nil, nil, []any{}
	m["status"], m["state"], m["siteSelect"] = dc.StatusSelectedCrawling, dc.URLEnabled, dc.SelectNone
	return m
}

// finished is the end of a crawl batch: other nodes learn that its URLs are
// crawled (daemon 2.1, 2.7).
func (c *Crawl) finished(b *running, o outcome) {
	c.Tell(ProcessName, dc.InternalWork, nil)
	if o.good() && b.nodes > 1 {
		c.foreign(b)
	}
}

func (c *Crawl) logFailure(what string, batch int64) func([]json.RawMessage, error) {
	return func(_ []json.RawMessage, err error) {
		if err != nil {
			c.Log().Warn(what, "batch", batch, "error", err)
		}
	}
}

func taskID(kind string, batch int64) string { return kind + "-" + strconv.FormatInt(batch, 10) }
