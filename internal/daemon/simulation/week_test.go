package simulation

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"

	_ "github.com/mattn/go-sqlite3"
)

// Settings that differ from the shipped ones: small sequential batches, so that their order is
// visible, and long periods, because the clock stops at each of them.
const (
	batchURLs = 4
	// Not a multiple of recrawlEvery: a selection must not happen while sites are renewed.
	crawlPeriod  = 37 // minutes
	recrawlEvery = 10 // minutes; SitesManager begins at minute 0
	crawlStart   = 3  // the minute in which the managers of batches begin

	sweepLimit  = 1000
	agingPeriod = 3 * hour
	agingStart  = crawlStart
	purgePeriod = 7 * hour
	purgeStart  = 5 // never in the minute of another schedule that deletes
	incrPeriod  = 2 * hour
	incrStart   = 8
)

// The shipped criteria, with an additional order of URLs where the shipped one is not unique.
const (
	modesFlag   = "IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & "
	active      = "`State`=1 AND " + modesFlag
	orderURLs   = "LENGTH(`ParentMd5`) ASC, `Priority` DESC, `Depth` ASC, `UDate` DESC, `URL` ASC"
	orderSites  = "`Priority` DESC, `TcDate` ASC"
	processURLs = "`Status`=4 AND `State`=0 AND `Type`<>6 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `HTTPCode`=200 AND `ContentType`='text/html'"

	sitePeriod = "(SELECT `RecrawlPeriod` FROM `dc_sites`.`sites` WHERE `Id`='%SITE_ID%')"
	agingSites = "`Id`<>'0' AND `State` IN (1,3) AND " + modesFlag + "16 > 0"
	agingURLs  = "`ParentMd5`<>'' AND IFNULL(`UDate`,`CDate`) < DATE_SUB(NOW(), INTERVAL 2*" + sitePeriod + " MINUTE) AND " + sitePeriod + " > 0"

	incrSites = active + "1 > 0 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='INCREMENTAL_CRAWLING' LIMIT 1), '0') = '1'"
	incrURLs  = "`Status` IN (4,7) AND `State`=0 AND `TcDate`>=`LastModified` AND TIMESTAMPDIFF(SECOND, `TcDate`, NOW()) > TIMESTAMPDIFF(SECOND, `LastModified`, `TcDate`)"

	recrawlSites  = active + "8 > 0 AND `RecrawlDate` IS NOT NULL AND `RecrawlDate`<=NOW()"
	recrawlDate   = "DATE_ADD(CURDATE(), INTERVAL (CEIL(TIME_TO_SEC(CURTIME())/(60*`RecrawlPeriod`))+1)*`RecrawlPeriod` MINUTE)"
	recrawlDelete = "`ParentMd5`<>'' AND ((`Status`=4 AND `Crawled`=0) OR (`Status`=4 AND `ErrorMask`<>0 AND `Processed`=0) OR (`Status`=7 AND `TagsCount`=0))"
)

func common(p *pool, urls int64) batches.Common {
	return batches.Common{
		Executor: p, Sites: sites.Name, SitesTimeout: time.Hour, MaxAttempts: 5, QueuePeriod: time.Hour, BatchTime: 240 * time.Second, MaxURLs: urls,
		Limits: batches.Limits{TaskTTL: time.Hour, TaskTime: 300 * time.Second, MaxTasks: 1},
	}
}

// sweepConfig returns a configuration of tasks that are off until the test enables them.
func sweepConfig(on bool, minutes int) batches.SweepConfig {
	return batches.SweepConfig{
		Mode: on, Period: time.Duration(minutes) * time.Minute, Limits: batches.Limits{TaskTTL: time.Hour, TaskTime: time.Hour, MaxTasks: 2},
	}
}

func crawlConfig(p *pool) batches.CrawlConfig {
	return batches.CrawlConfig{
		Common: common(p, batchURLs), Crawler: crawlerStage, Period: crawlPeriod * time.Minute, Mode: true, MaxIterations: 1, CheckActive: true,
		SitesCriterion: wire.Criterion{Where: active + "1 > 0", OrderBy: orderSites},
		URLsCriterion:  wire.Criterion{Where: "`Status`=1 AND `State`=0", OrderBy: orderURLs},
		DBTask:         dbStage,
		Return:         batches.ReturnConfig{Mode: true, Period: 6 * time.Hour, Age: time.Hour, MaxURLs: 500},
		Incremental: batches.IncrementalConfig{
			Period: incrPeriod * time.Minute, MaxDepth: 100, MaxURLs: sweepLimit,
			SitesCriterion: wire.Criterion{Where: incrSites, OrderBy: orderSites},
			URLsCriterion:  wire.Criterion{Where: incrURLs, OrderBy: "`Depth` ASC, `MRate` DESC, `UDate` DESC"},
		},
		Aging: batches.AgingConfig{
			SweepConfig: sweepConfig(true, agingPeriod), MaxURLs: sweepLimit, MaxURLsSite: sweepLimit,
			SitesCriterion: wire.Criterion{Where: agingSites}, URLsCriterion: wire.Criterion{Where: agingURLs},
		},
		Purge: batches.PurgeConfig{SweepConfig: sweepConfig(false, purgePeriod), MaxURLs: sweepLimit},
	}
}

func processConfig(p *pool) batches.ProcessConfig {
	return batches.ProcessConfig{
		Common: common(p, 300), Processor: processorStage, Period: crawlPeriod * time.Minute, Mode: true,
		SitesCriterion: wire.Criterion{Where: active + "2 > 0", OrderBy: "`Priority` DESC, `TcDateProcess` ASC"},
		URLsCriterion:  wire.Criterion{Where: processURLs, OrderBy: orderURLs},
	}
}

func sitesConfig(p *pool) sites.Config {
	return sites.Config{Executor: p, DBTask: dbStage, Timeout: time.Hour, Recrawl: sites.RecrawlConfig{
		Mode: true, Period: recrawlEvery * time.Minute, Max: 3, MaxThreads: 2,
		Criterion: wire.Criterion{Where: recrawlSites, OrderBy: "`RecrawlDate` ASC"}, DateExpression: recrawlDate,
		Timeout: time.Hour, Renew: "`ParentMd5`=''", DeleteOld: true, DeleteWhere: recrawlDelete, Optimize: true,
		PeriodMin: 15, PeriodMax: 1440, PeriodStep: 15,
	}}
}

// simulation is the cluster with its web servers.
type simulation struct {
	*cluster
	web   *web
	sites []*site
	dir   string
	jumps int
	each  func() // called whenever all is at rest, before the clock moves; may be nil
}

// newSimulation starts the managers and creates the sites at the minutes of the model.
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
		return sites.New(base, sitesConfig(p))
	})
	for _, one := range list {
		var answer wire.GeneralResponse
		if s.request(wire.SiteNew, one.request(), &answer); answer.ErrorCode != wire.CodeOK {
			t.Fatalf("site %s: %+v", one.id, answer)
		}
	}
	s.settle()
	c.set(at(crawlStart))
	s.run(batches.ProcessName, func(base manager.Config) managertest.Runner { return batches.NewProcess(base, processConfig(p)) })
	s.run(batches.CrawlName, func(base manager.Config) managertest.Runner { return batches.NewCrawl(base, crawlConfig(p)) })
	return s
}

// until advances the time from schedule to schedule until nothing is due before end.
func (s *simulation) until(end int) {
	for {
		next := s.settle()
		if s.each != nil {
			s.each()
		}
		if next.IsZero() || !next.Before(at(end)) {
			return
		}
		s.clock.set(next)
		s.jumps++
	}
}

// compare compares the requests to the web servers with the model: the first crawl batch by
// batch, later ones minute by minute, because a selection may happen between two sites that are
// renewed in the same minute. The order inside of a batch or minute is free.
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

// Without recrawl each page is requested once, at the start, in the order of the sites'
// priorities.
func TestFirstCrawl(t *testing.T) {
	s := newSimulation(t, theSites())
	m := newModel(s.sites, batchURLs)
	m.crawl(crawlStart)
	s.set(sites.Name, map[string]any{"RecrawlSiteMode": 0})
	s.set(batches.CrawlName, map[string]any{"AgingMode": 0})
	s.until(day)
	compare(t, s.web.visits(), m.batches)
	for name, want := range map[string]int{"batches_crawl_urls": m.items, "batches_crawl_fault": 0, "batches_crawl_queue": 0} {
		if got := s.number(batches.CrawlName, name); got != want {
			t.Errorf("%s = %d, want %d", name, got, want)
		}
	}
	if got := s.number(batches.ProcessName, "batches_process_urls"); got != m.processed {
		t.Errorf("%d pages were processed, want %d", got, m.processed)
	}
	t.Logf("%d jumps of the clock, %d requests", s.jumps, len(m.events))
}

// deletions tracks copies of the rows that wait to be purged.
type deletions struct {
	db   *sql.DB
	were map[string]int // copies by site and path
}

func openDeletions(t *testing.T, dir string) *deletions {
	t.Helper()
	d, err := sql.Open("sqlite3", "file:"+databasePath(dir)+"?mode=ro&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &deletions{db: d, were: map[string]int{}}
}

// look returns what was deleted with delay, and what was purged, since the last call.
func (d *deletions) look(t *testing.T, now int, roots map[string]string) (events []string) {
	t.Helper()
	rows, err := d.db.Query(`SELECT Site_Id, URL FROM "dc_urls_deleted.urls"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	are := map[string]int{}
	for rows.Next() {
		var site, url string
		if err := rows.Scan(&site, &url); err != nil {
			t.Fatal(err)
		}
		are[site+"/"+strings.TrimPrefix(url, roots[site])]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for key, n := range are {
		for range n - d.were[key] {
			events = append(events, told(now, key, "gone"))
		}
	}
	for key, n := range d.were {
		for range n - are[key] {
			events = append(events, told(now, key, "purged"))
		}
	}
	d.were = are
	slices.Sort(events)
	return events
}

func told(minute int, page, what string) string {
	return fmt.Sprintf("%s %s %s", at(minute).Format("Mon 15:04"), page, what)
}

// TestWeek is seven days with all schedules: every request to a web server, every deleted page
// and every purged page comes in its minute, and nothing else. The statistics of managers and
// the counters of sites agree.
func TestWeek(t *testing.T) {
	days := 7
	if testing.Short() {
		days = 2
	}
	end := days * day
	s := newSimulation(t, theSites())
	m := newModel(s.sites, batchURLs)
	roots := map[string]string{}
	for _, one := range s.sites {
		roots[one.id] = one.url
	}
	deleted := openDeletions(t, s.dir)
	var gone []string
	s.each = func() { gone = append(gone, deleted.look(t, minute(s.clock.now()), roots)...) }
	s.until(purgeStart)
	s.clock.set(at(purgeStart))
	s.set(batches.CrawlName, map[string]any{"PurgeMode": 1})
	s.until(incrStart)
	s.clock.set(at(incrStart))
	s.set(batches.CrawlName, map[string]any{"IncrMode": 1})
	s.until(end)

	ages, purges, looks := 0, 0, 0
	for now := range end {
		if now%recrawlEvery == 0 && now > 0 {
			m.recrawl(now)
			m.crawl(now)
		}
		if now == crawlStart {
			m.crawl(now)
		}
		if now >= agingStart && (now-agingStart)%agingPeriod == 0 {
			ages++
			m.age(now)
		}
		if now >= purgeStart && (now-purgeStart)%purgePeriod == 0 {
			purges++
			m.purge(now)
		}
		if now >= incrStart && (now-incrStart)%incrPeriod == 0 {
			looks++
			m.again(now)
			m.crawl(now)
		}
	}
	rounds := m.count("recrawl")
	for _, want := range []struct {
		class, name string
		n           int
	}{
		{batches.CrawlName, "batches_crawl_urls", m.items},
		{batches.CrawlName, "batches_crawl_fault", 0},
		{batches.CrawlName, "batches_crawl_urls_fault", 0},
		{batches.CrawlName, "batches_crawl_urls_ret", 0},
		{batches.CrawlName, "batches_crawl_url_fetch_incr", looks},
		{batches.CrawlName, "age_batches_total", ages},
		{batches.CrawlName, "age_batches_fault", 0},
		{batches.CrawlName, "purge_batches_total", purges},
		{batches.CrawlName, "purge_batches_fault", 0},
		{batches.ProcessName, "batches_process_urls", m.processed},
		{batches.ProcessName, "batches_process_fault", 0},
		{sites.Name, "sites_recrawl_cnt", rounds},
		{sites.Name, "sites_recrawl_updated_cnt", rounds},
		{sites.Name, "sites_recrawl_deleted_cnt", rounds},
		{sites.Name, "sites_recrawl_fault_cnt", 0},
		{sites.Name, "recrawl_threads_created", rounds},
		{sites.Name, "sites_recrawl_drce_cnt", s.pool.called()},
	} {
		if got := s.number(want.class, want.name); got != want.n {
			t.Errorf("%s = %d, want %d", want.name, got, want.n)
		}
	}
	for _, one := range m.sites {
		s.compareSite(one)
	}
	compareGone(t, gone, m.events)
	compare(t, s.web.visits(), m.batches)
	t.Logf("%d days in %d jumps of the clock: %d batches, %d requests, %d recrawls, %d pages gone, %d purged",
		days, s.jumps, len(m.batches), m.count("crawl"), rounds, m.count("gone"), m.count("purged"))
}

func (m *model) count(what string) (n int) {
	for _, e := range m.events {
		if e.what == what {
			n++
		}
	}
	return n
}

// compareGone compares deletions with the model, minute by minute.
func compareGone(t *testing.T, got []string, events []event) {
	t.Helper()
	var want []string
	for from := 0; from < len(events); {
		to := from
		for to < len(events) && events[to].minute == events[from].minute {
			to++
		}
		var here []string
		for _, e := range events[from:to] {
			if e.what == "gone" || e.what == "purged" {
				here = append(here, told(e.minute, e.site+e.path, e.what))
			}
		}
		slices.Sort(here)
		want, from = append(want, here...), to
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("of what goes, the first %d are right; then came\n\t%q, should be\n\t%q", i, got[i:min(i+8, len(got))], want[min(i, len(want)):min(i+8, len(want))])
			return
		}
	}
}

// compareSite compares the stored rows of a site with the model.
func (s *simulation) compareSite(m *siteModel) {
	s.Helper()
	var got struct {
		State, CollectedURLs, NewURLs, DeletedURLs, Iterations int
		RecrawlLock                                            bool
		RecrawlDate                                            *string
	}
	s.request(wire.SiteStatus, map[string]any{"id": m.id, "deleteTaskId": nil, "excludeList": []string{"urls", "filters", "properties"}}, &got)
	want := got
	want.State, want.CollectedURLs, want.NewURLs, want.DeletedURLs = wire.SiteActive, len(m.rows)-1, len(m.due()), len(m.waiting)
	want.Iterations, want.RecrawlLock, want.RecrawlDate = m.rounds, false, nil
	if m.suspended {
		want.State = wire.SiteSuspended
	}
	if m.next >= 0 {
		date := at(m.next).Format(dateLayout)
		want.RecrawlDate = &date
	}
	text := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	if text(got) != text(want) {
		s.Errorf("site %s is\n\t%s, should be\n\t%s", m.id, text(got), text(want))
	}
}
