package daemonprogram

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// iniKey is a key of one of the two sections: its default, another value and its effect, and an
// invalid value ("" if every text is valid).
type iniKey struct {
	key            string
	field          func(c *daemon.Config) any
	def            any
	value          string
	want           any
	refused, words string
}

// commonKeys are the keys of both sections.
func commonKeys(of func(c *daemon.Config) *batches.Common, urls, tasks int64) []iniKey {
	field := func(f func(c *batches.Common) any) func(*daemon.Config) any {
		return func(c *daemon.Config) any { return f(of(c)) }
	}
	return []iniKey{
		{"clientSitesManager", field(func(c *batches.Common) any { return c.Sites }), "SitesManager", "X", "X", "", ""},
		{"DTMDTimeout", field(func(c *batches.Common) any { return c.SitesTimeout }), 100 * time.Second, "3000", 3 * time.Second, "0", "1 to"},
		{"BatchDefaultMaxAttempts", field(func(c *batches.Common) any { return c.MaxAttempts }), int64(5), "0", int64(0), "-1", "0 to 1000"},
		{"BatchQueueProcessingPeriod", field(func(c *batches.Common) any { return c.QueuePeriod }), 5 * time.Second, "0", time.Duration(0), "-1", "0 to 3600"},
		{"BatchQueueTaskTTL", field(func(c *batches.Common) any { return c.TaskTTL }), 900 * time.Second, "7", 7 * time.Second, "0", "1 to 86400"},
		{"BatchDefaultMaxExecutionTime", field(func(c *batches.Common) any { return c.TaskTime }), 300 * time.Second, "700", 700 * time.Second, "0", "1 to 86400"},
		{"BatchMaxExecutionTime", field(func(c *batches.Common) any { return c.BatchTime }), 240 * time.Second, "7", 7 * time.Second, "x", "1 to 86400"},
		{"BatchDefaultMaxURLs", field(func(c *batches.Common) any { return c.MaxURLs }), urls, "7", int64(7), "0", "1 to 100000"},
		{"BatchDefaultMaxTasks", field(func(c *batches.Common) any { return c.MaxTasks }), tasks, "0", int64(0), "-1", "0 to 1000"},
		{"RemoveUnprocessedBatchItems", field(func(c *batches.Common) any { return c.RemoveUnprocessed }), false, "1", true, "2", "0 or 1"},
		{"BatchTask_IO_WAIT_MAX", field(func(c *batches.Common) any { return c.Start.MaxIOWait }), int64(0), "30", int64(30), "101", "-1 to 100"},
		{"BatchTask_CPU_LOAD_MAX", field(func(c *batches.Common) any { return c.Start.MaxCPU }), int64(0), "-1", int64(-1), "-2", "-1 to 100"},
		{"BatchTask_RAM_FREE_MIN", field(func(c *batches.Common) any { return c.Start.MinRAM }), int64(268435456), "1", int64(1), "x", "-1 to"},
		{"BatchTask_RDELAY", field(func(c *batches.Common) any { return c.Start.RetryDelay }), time.Second, "30000", 30 * time.Second, "0", "1 to"},
		{"BatchTask_RETRY", field(func(c *batches.Common) any { return c.Start.Retries }), int64(600), "20", int64(20), "-1", "0 to"},
		{"BatchTask_autocleanup_TTL", field(func(c *batches.Common) any { return c.ResultTTL }), 24 * time.Hour, "-1", -time.Second, "-2", "-1 to"},
	}
}

// sweepKeys are the keys of aging and purging.
func sweepKeys(prefix string, of func(c *daemon.Config) *batches.SweepConfig) []iniKey {
	field := func(f func(c *batches.SweepConfig) any) func(*daemon.Config) any {
		return func(c *daemon.Config) any { return f(of(c)) }
	}
	return []iniKey{
		{prefix + "Mode", field(func(c *batches.SweepConfig) any { return c.Mode }), true, "0", false, "2", "0 or 1"},
		{prefix + "Period", field(func(c *batches.SweepConfig) any { return c.Period }), 2 * time.Minute, "0", time.Duration(0), "-1", "0 to"},
		{prefix + "BatchDefaultMaxTasks", field(func(c *batches.SweepConfig) any { return c.MaxTasks }), int64(2), "0", int64(0), "-1", "0 to 1000"},
		{prefix + "BatchDefaultMaxExecutionTime", field(func(c *batches.SweepConfig) any { return c.TaskTime }), time.Hour, "9", 9 * time.Second, "0", "1 to 86400"},
		{prefix + "BatchQueueTaskTTL", field(func(c *batches.SweepConfig) any { return c.TaskTTL }), 4000 * time.Second, "9", 9 * time.Second, "0", "1 to 86400"},
	}
}

func crawlKeys() []iniKey {
	f := func(get func(c *batches.CrawlConfig) any) func(*daemon.Config) any {
		return func(c *daemon.Config) any { return get(&c.Crawl) }
	}
	keys := []iniKey{
		{"DRCECrawlerAppName", f(func(c *batches.CrawlConfig) any { return c.Crawler.Program }), "crawler-task", "ct -x", "ct", `"`, "not a command line"},
		{"DRCEDBAppName", f(func(c *batches.CrawlConfig) any { return c.DBTask.Program }), "db-task", "bin/dt -x", "/x/bin/dt", `"`, "not a command line"},
		{"RegularCrawlingPeriod", f(func(c *batches.CrawlConfig) any { return c.Period }), 2 * time.Second, "0", time.Duration(0), "-1", "0 to 86400"},
		{"RegularCrawlingMode", f(func(c *batches.CrawlConfig) any { return c.Mode }), true, "0", false, "2", "0 or 1"},
		{"RegularCrawlingPropagateURLs", f(func(c *batches.CrawlConfig) any { return c.Propagate }), true, "0", false, "2", "0 or 1"},
		{"BatchMaxHostWait", f(func(c *batches.CrawlConfig) any { return c.MaxHostWait }), 10 * time.Second, "0", time.Duration(0), "3601", "0 to 3600"},
		{"BatchRefillTime", f(func(c *batches.CrawlConfig) any { return c.RefillTime }), 5 * time.Second, "0", time.Duration(0), "3601", "0 to 3600"},
		{"BatchDefaultPaceTime", f(func(c *batches.CrawlConfig) any { return c.PaceTime }), 10 * time.Second, "0", time.Duration(0), "3601", "0 to 3600"},
		{"BatchMaxIterations", f(func(c *batches.CrawlConfig) any { return c.MaxIterations }), int64(1), "2", int64(2), "0", "1 to 100"},
		{"BatchDefaultCheckURLsInActiveBatches", f(func(c *batches.CrawlConfig) any { return c.CheckActive }), true, "0", false, "2", "0 or 1"},
		{"CrawledURLStrategy", f(func(c *batches.CrawlConfig) any { return c.CrawledStrategy }), int64(0), "1", int64(1), "2", "0 to 1"},
		{"BatchDefaultWhereSites", f(func(c *batches.CrawlConfig) any { return c.SitesCriterion.Where }), wire.CrawledSites, "1", "1", "", ""},
		{"BatchDefaultOrderBySites", f(func(c *batches.CrawlConfig) any { return c.SitesCriterion.OrderBy }), orderSites, "`Id`", "`Id`", "", ""},
		{"BatchDefaultWhereURLs", f(func(c *batches.CrawlConfig) any { return c.URLsCriterion.Where }), wire.DueCrawl, "1", "1", "", ""},
		{"BatchDefaultOrderByURLs", f(func(c *batches.CrawlConfig) any { return c.URLsCriterion.OrderBy }), frontier.DefaultCrawl.OrderBy, "`URL`", "`URL`", "", ""},
		{"BatchDefaultFetchTypeOptions", f(func(c *batches.CrawlConfig) any { return c.FetchTypes }), batches.FetchTypes{}, `{"splitter":1.5}`, batches.FetchTypes{Splitter: 1.5}, `{"splitter":5}`, "must be 1 to 2"},
		{"ReturnURLsMode", f(func(c *batches.CrawlConfig) any { return c.Return.Mode }), true, "0", false, "x", "0 or 1"},
		{"ReturnURLsPeriod", f(func(c *batches.CrawlConfig) any { return c.Return.Period }), 600 * time.Second, "0", time.Duration(0), "-1", "0 to 86400"},
		{"ReturnURLsTTL", f(func(c *batches.CrawlConfig) any { return c.Return.Age }), time.Hour, "1", time.Minute, "0", "1 to"},
		{"ReturnURLsMaxNumber", f(func(c *batches.CrawlConfig) any { return c.Return.MaxURLs }), int64(500), "1", int64(1), "0", "1 to"},
		{"IncrMode", f(func(c *batches.CrawlConfig) any { return c.Incremental.Mode }), false, "1", true, "x", "0 or 1"},
		{"IncrPeriod", f(func(c *batches.CrawlConfig) any { return c.Incremental.Period }), time.Duration(0), "5", 5 * time.Second, "-1", "0 to 86400"},
		{"IncrMaxDepth", f(func(c *batches.CrawlConfig) any { return c.Incremental.MaxDepth }), int64(100), "0", int64(0), "-1", "0 to"},
		{"IncrMaxURLs", f(func(c *batches.CrawlConfig) any { return c.Incremental.MaxURLs }), int64(500), "5", int64(5), "0", "1 to 100000"},
		{"AgingBatchDefaultMaxURLsTotal", f(func(c *batches.CrawlConfig) any { return c.Aging.MaxURLs }), int64(10000), "5", int64(5), "0", "1 to"},
		{"AgingBatchDefaultMaxURLsSite", f(func(c *batches.CrawlConfig) any { return c.Aging.MaxURLsSite }), int64(100), "5", int64(5), "0", "1 to"},
		{"AgingBatchDefaultMaxSites", f(func(c *batches.CrawlConfig) any { return c.Aging.MaxSites }), int64(0), "5", int64(5), "-1", "0 to"},
		{"AgingBatchSitesCriterion", f(func(c *batches.CrawlConfig) any { return c.Aging.SitesCriterion.Where }), agingSites, "1", "1", "", ""},
		{"AgingBatchURLsCriterion", f(func(c *batches.CrawlConfig) any { return c.Aging.URLsCriterion.Where }), agingURLs, "1", "1", "", ""},
		{"PurgeBatchDefaultMaxURLs", f(func(c *batches.CrawlConfig) any { return c.Purge.MaxURLs }), int64(100), "5", int64(5), "0", "1 to"},
	}
	keys = append(keys, commonKeys(func(c *daemon.Config) *batches.Common { return &c.Crawl.Common }, 500, 4)...)
	keys = append(keys, sweepKeys("Aging", func(c *daemon.Config) *batches.SweepConfig { return &c.Crawl.Aging.SweepConfig })...)
	return append(keys, sweepKeys("Purge", func(c *daemon.Config) *batches.SweepConfig { return &c.Crawl.Purge.SweepConfig })...)
}

func processKeys() []iniKey {
	f := func(get func(c *batches.ProcessConfig) any) func(*daemon.Config) any {
		return func(c *daemon.Config) any { return get(&c.Process) }
	}
	return append([]iniKey{
		{"DRCEProcessorAppName", f(func(c *batches.ProcessConfig) any { return c.Processor.Program }), "processor-task", "x", "x", `"`, "not a command line"},
		{"ProcessingPeriod", f(func(c *batches.ProcessConfig) any { return c.Period }), 2 * time.Second, "0", time.Duration(0), "-1", "0 to 86400"},
		{"BatchRefillTime", f(func(c *batches.ProcessConfig) any { return c.RefillTime }), 5 * time.Second, "0", time.Duration(0), "3601", "0 to 3600"},
		{"ProcessingMode", f(func(c *batches.ProcessConfig) any { return c.Mode }), true, "0", false, "2", "0 or 1"},
		{"BatchDefaultWhereSites", f(func(c *batches.ProcessConfig) any { return c.SitesCriterion.Where }), wire.ProcessedSites, "1", "1", "", ""},
		{"BatchDefaultOrderBySites", f(func(c *batches.ProcessConfig) any { return c.SitesCriterion.OrderBy }), "`Priority` DESC, `TcDateProcess` ASC", "`Id`", "`Id`", "", ""},
		{"BatchDefaultWhereURLs", f(func(c *batches.ProcessConfig) any { return c.URLsCriterion.Where }), wire.DueProcess, "1", "1", "", ""},
		{"BatchDefaultOrderByURLs", f(func(c *batches.ProcessConfig) any { return c.URLsCriterion.OrderBy }), frontier.DefaultProcess.OrderBy, "`URL`", "`URL`", "", ""},
	}, commonKeys(func(c *daemon.Config) *batches.Common { return &c.Process.Common }, 300, 1)...)
}

// Every key of the two sections: its default, its effect on the configuration, and the refusal
// of an invalid value with key, value and range.
func TestKeysOfBatches(t *testing.T) {
	for section, keys := range map[string][]iniKey{batches.CrawlName: crawlKeys(), batches.ProcessName: processKeys()} {
		for _, k := range keys {
			t.Run(section+"/"+k.key, func(t *testing.T) {
				ini := func(value string) string {
					return fmt.Sprintf("[Application]\n[%s]\n%s = %s\n", section, k.key, value)
				}
				cfg, f := read(t, "[Application]\n")
				if got := k.field(&cfg); f.Err() != nil || !reflect.DeepEqual(got, k.def) {
					t.Errorf("default %v, want %v; %v", got, k.def, f.Err())
				}
				cfg, f = read(t, ini(k.value))
				if got := k.field(&cfg); f.Err() != nil || len(f.Unknown()) > 0 || !reflect.DeepEqual(got, k.want) {
					t.Errorf("%s gives %v, want %v; %v %v", k.value, got, k.want, f.Err(), f.Unknown())
				}
				if k.refused == "" {
					return
				}
				_, f = read(t, ini(k.refused))
				if err := f.Err(); err == nil || !strings.Contains(err.Error(), k.key) || !strings.Contains(err.Error(), k.words) {
					t.Errorf("%s: %v, want %q", k.refused, err, k.words)
				}
			})
		}
	}
}
