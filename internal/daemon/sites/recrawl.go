package sites

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Recrawl of sites (docs/spec/daemon.md 2.14). Once per period, and again while more sites are
// due, a worker makes db-task select and lock due sites. A site then gets a thread: a worker
// that deletes, optimises and renews, and then a worker that unlocks. The loop's timer handles
// the delays between them. The next run continues with sites that a run left locked, from the
// first step after the lock, so every step may run twice.

// RecrawlTask is the task type of recrawling.
const RecrawlTask = "recrawl"

// maxRecrawlThreads limits RecrawlSiteMaxThreads.
const maxRecrawlThreads = 64

// maxRecrawlWorkers is one per thread and one that selects sites.
const maxRecrawlWorkers = maxRecrawlThreads + 1

// RecrawlConfig is the part of [SitesManager] about recrawling (docs/spec/daemon.md 3.5).
type RecrawlConfig struct {
	Mode           bool           // RecrawlSiteMode
	Period         time.Duration  // RecrawlSiteIterationPeriod, s; 0: off
	Max            int64          // RecrawlSiteMax: sites per selection
	MaxThreads     int64          // RecrawlSiteMaxThreads: sites in progress
	Criterion      wire.Criterion // RecrawlSiteSelectCriterion, RecrawlSiteSelectOrder
	DateExpression string         // RecrawlSiteRecrawlDateExpression; "": a site is recrawled once
	Timeout        time.Duration  // RecrawlSiteDRCETimeout, s: per request
	DelayBefore    time.Duration  // RecrawlDelayBefore, s: from the lock to the first step
	DelayAfter     time.Duration  // RecrawlDelayAfter, s: from the last step to the unlock

	Renew       string // DefaultRecrawUpdatelCriterion: URLs that become new again
	DeleteOld   bool   // DefaultRecrawDeleteOld
	DeleteWhere string // DefaultRecrawDeleteOldCriterion
	PurgeMethod int64  // PurgeMethod: 0 delayed, 1 at once
	Optimize    bool   // RecrawlSiteOptimize

	PeriodMode                       int64 // RecrawlSitePeriodMode: 1 tunes periods
	PeriodMin, PeriodMax, PeriodStep int64 // RecrawlSitePeriod*, minutes
}

// recrawl is the state of recrawling. It belongs to the loop.
type recrawl struct {
	sites   map[string]*recrawling // locked sites by id
	order   []string               // of sites, oldest first
	threads int64

	picking  bool            // a worker selects sites
	resuming bool            // it selects sites that are already locked
	resume   bool            // there may be locked sites that are not in sites
	late     bool            // a turn found no free thread
	more     bool            // the last turn got as many sites as it requested
	again    bool            // the next turn continues the last one before the period ends
	seen     map[string]bool // sites selected in this period

	count, updated, deleted, faults int64 // cumulative
	created                         int64 // since the start
}

// recrawling is one locked site.
type recrawling struct {
	site    recrawlSite
	thread  bool // it has a thread
	renewed bool // only the unlock remains
	working bool
	until   time.Time // its next step is not due before
	tuned   int64
	faults  []string
}

func (m *Manager) declareRecrawl() {
	c, r := &m.cfg.Recrawl, &m.recrawl
	r.sites, r.seen, r.resume = map[string]*recrawling{}, map[string]bool{}, true
	m.Every("recrawl", func() time.Duration {
		if !c.Mode {
			return 0
		}
		return c.Period
	}, m.recrawlTurn)
	m.Maintain("recrawl threads", func() time.Duration {
		if len(r.sites) == 0 {
			return 0
		}
		return time.Second
	}, func(time.Time) { m.recrawlOn() })
	m.Var(
		manager.Switch("RecrawlSiteMode", &c.Mode),
		manager.Span("RecrawlSiteIterationPeriod", &c.Period, time.Second, 0, 24*time.Hour),
		manager.Int("RecrawlSiteMax", &c.Max, 1, wire.MostRecrawl),
		manager.Int("RecrawlSiteMaxThreads", &c.MaxThreads, 1, maxRecrawlThreads),
		manager.Text("RecrawlSiteSelectCriterion", &c.Criterion.Where, CheckSitesWhere),
		manager.Text("RecrawlSiteSelectOrder", &c.Criterion.OrderBy, CheckSitesOrder),
		manager.Text("RecrawlSiteRecrawlDateExpression", &c.DateExpression, CheckRecrawlDate),
		manager.Span("RecrawlSiteDRCETimeout", &c.Timeout, time.Second, time.Second, 24*time.Hour),
		manager.Span("RecrawlDelayBefore", &c.DelayBefore, time.Second, 0, 24*time.Hour),
		manager.Span("RecrawlDelayAfter", &c.DelayAfter, time.Second, 0, 24*time.Hour),
		manager.Text("DefaultRecrawUpdatelCriterion", &c.Renew, CheckURLsWhere),
		manager.Switch("DefaultRecrawDeleteOld", &c.DeleteOld),
		manager.Text("DefaultRecrawDeleteOldCriterion", &c.DeleteWhere, CheckURLsWhere),
		manager.Int("PurgeMethod", &c.PurgeMethod, 0, 1),
		manager.Switch("RecrawlSiteOptimize", &c.Optimize),
		manager.Int("RecrawlSitePeriodMode", &c.PeriodMode, 0, 1),
		boundedVariable("RecrawlSitePeriodMin", &c.PeriodMin, func() (int64, int64) { return 1, c.PeriodMax }),
		boundedVariable("RecrawlSitePeriodMax", &c.PeriodMax, func() (int64, int64) { return c.PeriodMin, wire.MaxRecrawlPeriod }),
		manager.Int("RecrawlSitePeriodStep", &c.PeriodStep, 1, wire.MaxRecrawlPeriod),
	)
	m.Counter("sites_recrawl_cnt", &r.count)
	m.Counter("sites_recrawl_updated_cnt", &r.updated)
	m.Counter("sites_recrawl_deleted_cnt", &r.deleted)
	m.Counter("sites_recrawl_fault_cnt", &r.faults)
	m.Gauge("recrawl_threads", func() any { return r.threads })
	m.Gauge("recrawl_threads_created", func() any { return r.created })
	m.Gauge("recrawl_sites_queue", func() any { return len(r.sites) })
}

// boundedVariable is manager.Int with limits that other variables change.
func boundedVariable(name string, p *int64, bounds func() (lowest, highest int64)) manager.Variable {
	return manager.Variable{
		Name: name,
		Get:  func() any { return *p },
		Set: func(v any) error {
			lowest, highest := bounds()
			return manager.Int(name, p, lowest, highest).Set(v)
		},
	}
}

// recrawlTurn selects sites if a thread is free and no site waits for it: first sites that an
// earlier run left locked, then due sites.
func (m *Manager) recrawlTurn(time.Time) {
	c, r := &m.cfg.Recrawl, &m.recrawl
	if r.picking {
		return
	}
	if !r.again { // a new period
		clear(r.seen)
	}
	r.again = false
	if r.threads >= c.MaxThreads || int64(len(r.sites)) > r.threads {
		r.late = true
		return
	}
	r.late, r.more, r.resuming = false, false, r.resume
	request := wire.SiteRecrawlRequest{Step: wire.RecrawlBegin, Criterion: c.Criterion, DateExpression: c.DateExpression, Max: c.Max}
	request.Except = slices.Sorted(maps.Keys(r.seen))
	if r.resuming {
		request = wire.SiteRecrawlRequest{Step: wire.RecrawlResume, Max: wire.MostRecrawl, Except: slices.Sorted(maps.Keys(r.sites))}
	}
	r.picking = true
	m.recrawlWork(func(ctx context.Context, w *recrawler) { w.pickSites(ctx, request) }, m.recrawlPicked)
}

// recrawlPicked adopts the selected sites. After a fault, unreported sites may be locked; the
// next turn resumes them.
func (m *Manager) recrawlPicked(report recrawlReport) {
	c, r := &m.cfg.Recrawl, &m.recrawl
	r.picking = false
	failed := len(report.Faults) > 0
	if failed {
		r.resume = true
		m.recrawlFault("", report.Faults)
	}
	fresh := 0
	for _, s := range report.Sites {
		if r.sites[s.ID] != nil {
			continue
		}
		fresh++
		r.sites[s.ID] = &recrawling{site: s, tuned: s.Period}
		r.order = append(r.order, s.ID)
		r.seen[s.ID] = true
		for _, text := range s.Refused {
			m.Log().Warn("ignored an invalid recrawl rule of a site", "site", s.ID, "error", text)
		}
	}
	switch {
	case failed:
	case r.resuming:
		r.resume = fresh >= wire.MostRecrawl
		r.more = true // the remaining locked sites, or due sites
		if fresh > 0 {
			m.Log().Info("recrawl resumes locked sites", "sites", fresh)
		}
	case report.Retried: // the failed try may have locked unreported sites
		r.resume, r.more = true, true
	default:
		r.more = int64(fresh) >= c.Max && len(r.seen) < wire.MostRecrawl
	}
	m.recrawlOn()
}

// recrawlWork starts a worker, adds the counters of its report and passes the report to done.
// A worker that fails reports only its fault.
func (m *Manager) recrawlWork(work func(context.Context, *recrawler), done func(recrawlReport)) {
	w := &recrawler{runner: m.newRunner(RecrawlTask, m.cfg.Recrawl.Timeout), cfg: m.cfg.Recrawl}
	manager.Work(m.Loop, func(ctx context.Context) (recrawlReport, error) {
		work(ctx, w)
		return w.report, ctx.Err() // when the daemon stops, the next start resumes
	}, func(report recrawlReport, err error) {
		if err != nil {
			report.Faults = []string{err.Error()}
		}
		m.nodeRequests += report.Requests
		m.recrawl.deleted += report.Deleted
		m.recrawl.updated += report.Updated
		done(report)
	})
}

// recrawlOn gives free threads to waiting sites, oldest first, starts the due steps, and then
// requests more sites.
func (m *Manager) recrawlOn() {
	c, r := &m.cfg.Recrawl, &m.recrawl
	now := m.Now()
	for _, id := range slices.Clone(r.order) {
		s := r.sites[id]
		if s == nil || s.working {
			continue
		}
		if !s.thread {
			if r.threads >= c.MaxThreads {
				continue
			}
			s.thread, s.until = true, now.Add(c.DelayBefore)
			r.threads++
			r.created++
			r.count++
		}
		if !now.Before(s.until) {
			m.recrawlStep(s)
		}
	}
	if (r.more || r.late) && !r.picking && r.threads < c.MaxThreads && int64(len(r.sites)) == r.threads {
		r.more, r.late, r.again = false, false, true
		m.Kick("recrawl")
	}
}

// recrawlStep starts the worker for the next step of a site.
func (m *Manager) recrawlStep(s *recrawling) {
	s.working = true
	site, tuned := s.site, s.tuned
	work := func(ctx context.Context, w *recrawler) { w.renewSite(ctx, site) }
	if s.renewed {
		work = func(ctx context.Context, w *recrawler) { w.finishSite(ctx, site, tuned) }
	}
	m.recrawlWork(work, func(report recrawlReport) {
		m.recrawlStepped(s, report)
		m.recrawlOn()
	})
}

func (m *Manager) recrawlStepped(s *recrawling, report recrawlReport) {
	r := &m.recrawl
	s.working = false
	s.faults = append(s.faults, report.Faults...)
	if !s.renewed {
		s.renewed, s.tuned, s.until = true, cmp.Or(report.Tuned, s.tuned), m.Now()
		if len(report.Dates) > 0 {
			s.site.Dates = report.Dates
		}
		if report.Renewed {
			s.until = s.until.Add(m.cfg.Recrawl.DelayAfter)
			m.Tell(crawl, wire.InternalWork, nil)
		}
		return
	}
	delete(r.sites, s.site.ID)
	r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == s.site.ID })
	r.threads--
	switch {
	case len(report.Faults) > 0: // still locked: the next turn resumes it
		r.resume = true
		m.recrawlFault(s.site.ID, s.faults)
	case report.Gone:
		m.Log().Info("site was deleted during its recrawl", "site", s.site.ID)
	case len(s.faults) > 0:
		m.recrawlFault(s.site.ID, s.faults)
	default:
		m.Log().Info("recrawl", "site", s.site.ID, "period", s.tuned)
	}
}

// recrawlFault counts and logs a failed recrawl of a site, or a failed selection if site is "".
func (m *Manager) recrawlFault(site string, faults []string) {
	m.recrawl.faults++
	m.Log().Error("recrawl failed", "site", site, "error", strings.Join(faults, "; "))
}
