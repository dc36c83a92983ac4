package daemonprogram

import (
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// Default criteria of due sites and URLs (docs/spec/daemon.md 2.3, 2.9, 2.11, 2.12). Properties
// are those of the examined site (docs/spec/daemon.md F8, F11).
const (
	orderSites = "`Priority` DESC, `TcDate` ASC"

	agingSites = "`Id`<>'0' AND `State` IN (1,3) AND " + wire.ModesFlag + "16 > 0"
	// A site without recrawl keeps its pages.
	agingURLs = "`ParentMd5`<>'' AND IFNULL(`UDate`,`CDate`) < DATE_SUB(NOW(), INTERVAL 2*" + recrawlPeriod + " MINUTE) AND " + recrawlPeriod + " > 0"

	recrawlPeriod = "(SELECT `RecrawlPeriod` FROM `dc_sites`.`sites` WHERE `Id`='%SITE_ID%')"

	incrementalSites = wire.CrawledSites + " AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='INCREMENTAL_CRAWLING' LIMIT 1), '0') = '1'"
	// Rows with Status 5 or 6 belong to a processing batch.
	incrementalURLs  = "`Status` IN (4,7) AND `State`=0 AND `TcDate`>=`LastModified` AND TIMESTAMPDIFF(SECOND, `TcDate`, NOW()) > TIMESTAMPDIFF(SECOND, `LastModified`, `TcDate`)"
	incrementalOrder = "`Depth` ASC, `MRate` DESC, `UDate` DESC"
)

// Limits of values (docs/spec/daemon.md 3.2), the same as for SET.
const (
	year     = 365 * longest
	maxSwept = 1000000000
)

// readCrawlConfig reads [BatchTasksManager] (docs/spec/daemon.md 3.2).
func readCrawlConfig(f *config.File) batches.CrawlConfig {
	var err error
	s := f.Section(batches.CrawlName)
	s.Accept("BatchTaskDTMNameCrawl", "BatchTaskDTMTypeCrawl", "IncrMinFreq")
	c := batches.CrawlConfig{
		Common:          readCommon(s, frontier.CrawlRows, 4),
		Crawler:         readStage(f, s, "DRCECrawlerAppName", "crawler-task"),
		Period:          s.Duration("RegularCrawlingPeriod", time.Second, 2*time.Second, 0, longest),
		Mode:            s.Bool("RegularCrawlingMode", true),
		Propagate:       s.Bool("RegularCrawlingPropagateURLs", true),
		MaxHostWait:     s.Duration("BatchMaxHostWait", time.Second, frontier.MaxHostWait, 0, time.Hour),
		RefillTime:      s.Duration("BatchRefillTime", time.Second, frontier.RefillTime, 0, time.Hour),
		PaceTime:        s.Duration("BatchDefaultPaceTime", time.Second, frontier.Pace, 0, time.Hour),
		MaxIterations:   s.Int("BatchMaxIterations", 1, 1, 100),
		CheckActive:     s.Bool("BatchDefaultCheckURLsInActiveBatches", true),
		CrawledStrategy: s.Int("CrawledURLStrategy", 0, 0, 1),
		SitesCriterion: wire.Criterion{
			Where: s.Text("BatchDefaultWhereSites", wire.CrawledSites), OrderBy: s.Text("BatchDefaultOrderBySites", orderSites),
		},
		URLsCriterion: readCriterion(s, frontier.DefaultCrawl),
		DBTask:        readStage(f, s, "DRCEDBAppName", "db-task"),
		Return: batches.ReturnConfig{
			Mode:    s.Bool("ReturnURLsMode", true),
			Period:  s.Duration("ReturnURLsPeriod", time.Second, 600*time.Second, 0, longest),
			Age:     s.Duration("ReturnURLsTTL", time.Minute, time.Hour, time.Minute, year),
			MaxURLs: s.Int("ReturnURLsMaxNumber", 500, 1, maxSwept),
		},
		Incremental: batches.IncrementalConfig{
			Mode:           s.Bool("IncrMode", false),
			Period:         s.Duration("IncrPeriod", time.Second, 0, 0, longest),
			MaxDepth:       s.Int("IncrMaxDepth", 100, 0, 1000000),
			MaxURLs:        s.Int("IncrMaxURLs", 500, 1, 100000),
			SitesCriterion: wire.Criterion{Where: incrementalSites, OrderBy: orderSites},
			URLsCriterion:  wire.Criterion{Where: incrementalURLs, OrderBy: incrementalOrder},
		},
		Aging: batches.AgingConfig{
			SweepConfig:    readSweepConfig(s, "Aging"),
			MaxURLs:        s.Int("AgingBatchDefaultMaxURLsTotal", 10000, 1, maxSwept),
			MaxURLsSite:    s.Int("AgingBatchDefaultMaxURLsSite", 100, 1, maxSwept),
			MaxSites:       s.Int("AgingBatchDefaultMaxSites", 0, 0, 100000),
			SitesCriterion: wire.Criterion{Where: s.Text("AgingBatchSitesCriterion", agingSites)},
			URLsCriterion:  wire.Criterion{Where: s.Text("AgingBatchURLsCriterion", agingURLs)},
		},
		Purge: batches.PurgeConfig{
			SweepConfig: readSweepConfig(s, "Purge"),
			MaxURLs:     s.Int("PurgeBatchDefaultMaxURLs", 100, 1, maxSwept),
		},
	}
	if c.FetchTypes, err = batches.ReadFetchTypes(s.Text("BatchDefaultFetchTypeOptions", "")); err != nil {
		s.Fail("BatchDefaultFetchTypeOptions", err.Error())
	}
	// The rest of the time is for handing back what was not started.
	c.BatchTime = s.Below("BatchMaxExecutionTime", c.BatchTime, "BatchDefaultMaxExecutionTime", c.TaskTime, c.TaskTime*4/5)
	return c
}

// readCriterion reads which URLs are due.
func readCriterion(s *config.Section, def wire.Criterion) wire.Criterion {
	return wire.Criterion{Where: s.Text("BatchDefaultWhereURLs", def.Where), OrderBy: s.Text("BatchDefaultOrderByURLs", def.OrderBy)}
}

// readProcessConfig reads [BatchTasksManagerProcess] (docs/spec/daemon.md 3.3).
func readProcessConfig(f *config.File) batches.ProcessConfig {
	s := f.Section(batches.ProcessName)
	s.Accept("BatchTaskDTMNameProcess", "BatchTaskDTMTypeProcess", "DRCEDBAppName")
	return batches.ProcessConfig{
		Common:     readCommon(s, frontier.ProcessRows, 1),
		Processor:  readStage(f, s, "DRCEProcessorAppName", "processor-task"),
		Period:     s.Duration("ProcessingPeriod", time.Second, 2*time.Second, 0, longest),
		Mode:       s.Bool("ProcessingMode", true),
		RefillTime: s.Duration("BatchRefillTime", time.Second, frontier.RefillTime, 0, time.Hour),
		SitesCriterion: wire.Criterion{
			Where: s.Text("BatchDefaultWhereSites", wire.ProcessedSites), OrderBy: s.Text("BatchDefaultOrderBySites", "`Priority` DESC, `TcDateProcess` ASC"),
		},
		URLsCriterion: readCriterion(s, frontier.DefaultProcess),
	}
}

// readSweepConfig reads the common keys of aging and purging.
func readSweepConfig(s *config.Section, keys string) batches.SweepConfig {
	s.Accept(keys+"BatchTask_STARTER", "BatchTaskDTMName"+keys, "BatchTaskDTMType"+keys)
	return batches.SweepConfig{
		Mode:   s.Bool(keys+"Mode", true),
		Period: s.Duration(keys+"Period", time.Minute, 2*time.Minute, 0, year),
		Limits: batches.Limits{
			TaskTTL:  s.Duration(keys+"BatchQueueTaskTTL", time.Second, 4000*time.Second, time.Second, longest),
			TaskTime: s.Duration(keys+"BatchDefaultMaxExecutionTime", time.Second, time.Hour, time.Second, longest),
			MaxTasks: s.Int(keys+"BatchDefaultMaxTasks", 2, 0, 1000),
		},
	}
}

// readCommon reads the common keys of both batch managers.
func readCommon(s *config.Section, urls, tasks int64) batches.Common {
	s.Accept("server", "DTMDHost", "DTMDPort", "BatchQueueTaskCheckStateMethod", "BatchTask_STARTER",
		"BatchTask_autocleanup_DeleteType", "BatchTask_autocleanup_DeleteRetries", "BatchTask_autocleanup_State")
	return batches.Common{
		Sites:             s.Text("clientSitesManager", sites.Name),
		SitesTimeout:      s.Duration("DTMDTimeout", time.Millisecond, 100*time.Second, time.Millisecond, longest),
		MaxAttempts:       s.Int("BatchDefaultMaxAttempts", 5, 0, 1000),
		QueuePeriod:       s.Duration("BatchQueueProcessingPeriod", time.Second, 5*time.Second, 0, time.Hour),
		BatchTime:         s.Duration("BatchMaxExecutionTime", time.Second, frontier.BatchTime, time.Second, longest),
		MaxURLs:           s.Int("BatchDefaultMaxURLs", urls, 1, 100000),
		RemoveUnprocessed: s.Bool("RemoveUnprocessedBatchItems", false),
		Limits: batches.Limits{
			TaskTTL:  s.Duration("BatchQueueTaskTTL", time.Second, 900*time.Second, time.Second, longest),
			TaskTime: s.Duration("BatchDefaultMaxExecutionTime", time.Second, 300*time.Second, time.Second, longest),
			MaxTasks: s.Int("BatchDefaultMaxTasks", tasks, 0, 1000),
		},
		Start: executor.Conditions{
			MaxCPU:     s.Int("BatchTask_CPU_LOAD_MAX", 0, -1, 100),
			MaxIOWait:  s.Int("BatchTask_IO_WAIT_MAX", 0, -1, 100),
			MinRAM:     s.Int("BatchTask_RAM_FREE_MIN", 256<<20, -1, 1<<50),
			RetryDelay: s.Duration("BatchTask_RDELAY", time.Millisecond, time.Second, time.Millisecond, time.Hour),
			Retries:    s.Int("BatchTask_RETRY", 600, 0, 1000000),
		},
		ResultTTL: s.Duration("BatchTask_autocleanup_TTL", time.Second, longest, -time.Second, year),
	}
}
