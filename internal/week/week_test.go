package week

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/batches"
	"hce/dc/internal/dc"
	"hce/dc/internal/manager"
	"hce/dc/internal/manager/managertest"
	"hce/dc/internal/sites"
)

// What the managers are told, where it is not the shipped value: small batches, one
// after the other, so that their order shows; and long periods, since the clock stops
// at each.
const (
	batchURLs = 4
	// Never a multiple of recrawlEvery: a look for work must not come while sites are
	// renewed.
	crawlPeriod  = 37 // minutes
	recrawlEvery = 10 // minutes; SitesManager begins at minute 0
	crawlStart   = 3  // the minute in which BatchTasksManager begins, and ProcessManager
)

// modesFlag is the condition of sites that have a bit of MODES_FLAG.
func modesFlag(bit int) string {
	return fmt.Sprintf("`State`=1 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & %d > 0", bit)
}

// orderURLs is the shipped order, with the text of the URL where that leaves it open.
const orderURLs = "LENGTH(`ParentMd5`) ASC, `Priority` DESC, `Depth` ASC, `UDate` DESC, `URL` ASC"

func common(p *pool, urls int64) batches.Common {
	return batches.Common{
		Env: p, Sites: sites.Name, SitesTimeout: time.Hour, MaxAttempts: 5, QueuePeriod: time.Hour, TaskTTL: time.Hour,
		TaskTime: 300 * time.Second, BatchTime: 240 * time.Second, MaxURLs: urls, MaxTasks: 1,
	}
}

func crawlConfig(p *pool) batches.CrawlConfig {
	return batches.CrawlConfig{
		Common: common(p, batchURLs), Crawler: crawlerStage, Period: crawlPeriod * time.Minute, Mode: true, MaxIterations: 1, CheckActive: true,
		SitesCriterion: dc.Criterion{Where: modesFlag(mayCrawl), OrderBy: "`Priority` DESC, `TcDate` ASC"},
		URLsCriterion:  dc.Criterion{Where: "`Status`=1 AND `State`=0", OrderBy: orderURLs},
	}
}

func processConfig(p *pool) batches.ProcessConfig {
	return batches.ProcessConfig{
		Common: common(p, 300), Selector: dbStage, Processor: processorStage, Period: crawlPeriod * time.Minute, Mode: true,
		SitesCriterion: dc.Criterion{Where: modesFlag(mayProcess), OrderBy: "`Priority` DESC, `TcDateProcess` ASC"},
		URLsCriterion: dc.Criterion{
			Where:   "`Status`=4 AND `State`=0 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `HTTPCode`=200 AND `ContentType`='text/html'",
			OrderBy: orderURLs,
		},
	}
}

// simulation is the cluster with the web around it.
type simulation struct {
	*cluster
	web   *web
	sites []*site
	dir   string
	jumps int
}

// newSimulation starts the managers and makes the sites, at the minutes that the
// model knows.
func newSimulation(t *testing.T, list []*site) *simulation {
	t.Helper()
	b := managertest.Bus(t) // first, so that it counts goroutines when all else has ended
	c := newClock()
	s := &simulation{web: &web{clock: c}, sites: list, dir: t.TempDir()}
	for _, one := range list {
		one.url = s.web.serve(t, one.id, one.page)
	}
	p := newPool(t, c, programs(t, c, s.dir))
	s.cluster = newCluster(t, b, c, p)
	s.run(sites.Name, func(base manager.Config) managertest.Runner {
		return sites.New(base, sites.Config{Env: p, DBTask: dbStage, Timeout: time.Hour})
	})
	for _, one := range list {
		var answer dc.GeneralResponse
		if s.request(dc.SiteNew, one.request(), &answer); answer.ErrorCode != dc.CodeOK {
			t.Fatalf("site %s: %+v", one.id, answer)
		}
	}
	s.settle()
	c.set(at(crawlStart))
	s.run(batches.ProcessName, func(base manager.Config) managertest.Runner { return batches.NewProcess(base, processConfig(p)) })
	s.run(batches.CrawlName, func(base manager.Config) managertest.Runner { return batches.NewCrawl(base, crawlConfig(p)) })
	return s
}

// until lets time pass, from schedule to schedule, until nothing is due before end.
func (s *simulation) until(end int) {
	for {
		next := s.settle()
		if next.IsZero() || !next.Before(at(end)) {
			return
		}
		s.clock.set(next)
		s.jumps++
	}
}

// compare holds what the web servers saw against the model: the first crawl batch by
// batch, what comes later minute by minute, as a look for work may come between two
// sites that are renewed in the same minute. The requests of one batch, and of one
// minute, may come in any order.
func compare(t *testing.T, seen []visit, batches [][]event) {
	t.Helper()
	var parts [][]event
	for _, batch := range batches {
		n := len(parts)
		switch {
		case len(batch) == 0:
		case n == 0 || batch[0].minute == crawlStart || parts[n-1][0].minute != batch[0].minute:
			parts = append(parts, batch)
		default:
			parts[n-1] = append(slices.Clone(parts[n-1]), batch...)
		}
	}
	got := make([]string, len(seen))
	for i, v := range seen {
		got[i] = crawled(event{v.minute, v.site, "crawl", v.path, v.code})
	}
	for i, part := range parts {
		want := make([]string, len(part))
		for j, e := range part {
			want[j] = crawled(e)
		}
		n := min(len(want), len(got))
		here := slices.Clone(got[:n])
		slices.Sort(here)
		slices.Sort(want)
		if !slices.Equal(here, want) {
			t.Fatalf("part %d of %d was\n\t%q, should be\n\t%q; then came %q", i+1, len(parts), here, want, got[n:min(n+10, len(got))])
		}
		got = got[n:]
	}
	if len(got) > 0 {
		t.Errorf("%d requests too many: %q", len(got), got[:min(20, len(got))])
	}
}

func crawled(e event) string {
	return fmt.Sprintf("%s %s%s %d", at(e.minute).Format("Mon 15:04"), e.site, e.path, e.code)
}

// Without any recrawl each page is asked for once, at the start, the sites in the
// order of their priorities.
func TestFirstCrawl(t *testing.T) {
	s := newSimulation(t, theSites())
	m := newModel(s.sites, batchURLs)
	m.crawl(crawlStart)
	s.until(day)
	compare(t, s.web.visits(), m.batches)
	for name, want := range map[string]int{"batches_crawl_urls": m.items, "batches_crawl_fault": 0, "batches_crawl_queue": 0} {
		if got := s.number(batches.CrawlName, name); got != want {
			t.Errorf("%s is %d, should be %d", name, got, want)
		}
	}
	if got := s.number(batches.ProcessName, "batches_process_urls"); got != m.processed {
		t.Errorf("%d pages were processed, should be %d", got, m.processed)
	}
	t.Logf("%d jumps of the clock, %d requests", s.jumps, len(m.events))
}
