package main

import (
	"time"

	"hce/dc/internal/batches"
	"hce/dc/internal/config"
	"hce/dc/internal/dc"
	"hce/dc/internal/sites"
)

// What is due, where the ini file does not say (daemon 2.3, 2.12). MODES_FLAG is
// a property of the site that is looked at (daemon F11).
const (
	modesFlag    = "`State`=1 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & "
	crawlSites   = modesFlag + "1 > 0"
	crawlURLs    = "`Status`=1 AND `State`=0"
	processSites = modesFlag + "2 > 0"
	processURLs  = "`Status`=4 AND `State`=0 AND `Type`<>6 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `HTTPCode`=200 AND `ContentType` IN ('text/html','application/xhtml+xml','text/json')"
	orderURLs    = "LENGTH(`ParentMd5`) ASC, `Priority` DESC, `Depth` ASC, `UDate` DESC"
)

// crawl reads [BatchTasksManager] (daemon 3.2).
func crawl(f *config.File) batches.CrawlConfig {
	s := f.Section(batches.CrawlName)
	c := batches.CrawlConfig{
		Common:          common(s, 500, 4),
		Crawler:         stage(f, s, "DRCECrawlerAppName", "crawler-task"),
		Period:          s.Duration("RegularCrawlingPeriod", time.Second, 2*time.Second, 0, longest),
		Mode:            s.Bool("RegularCrawlingMode", true),
		Propagate:       s.Bool("RegularCrawlingPropagateURLs", true),
		PaceTime:        s.Duration("BatchDefaultPaceTime", time.Second, 10*time.Second, 0, time.Hour),
		MaxIterations:   s.Int("BatchMaxIterations", 1, 1, 100),
		CheckActive:     s.Bool("BatchDefaultCheckURLsInActiveBatches", true),
		CrawledStrategy: s.Int("CrawledURLStrategy", 0, 0, 1),
		SitesCriterion: dc.Criterion{
			Where: s.Text("BatchDefaultWhereSites", crawlSites), OrderBy: s.Text("BatchDefaultOrderBySites", "`Priority` DESC, `TcDate` ASC"),
		},
		URLsCriterion: dc.Criterion{Where: s.Text("BatchDefaultWhereURLs", crawlURLs), OrderBy: s.Text("BatchDefaultOrderByURLs", orderURLs)},
	}
	c.BatchTime = s.Duration("BatchMaxExecutionTime", time.Second, 240*time.Second, time.Second, longest)
	s.Below("BatchMaxExecutionTime", c.BatchTime, "BatchDefaultMaxExecutionTime", c.TaskTime)
	return c
}

// process reads [BatchTasksManagerProcess] (daemon 3.3).
func process(f *config.File) batches.ProcessConfig {
	s := f.Section(batches.ProcessName)
	return batches.ProcessConfig{
		Common:    common(s, 300, 2),
		Selector:  stage(f, s, "DRCEDBAppName", "db-task"),
		Processor: stage(f, s, "DRCEProcessorAppName", "processor-task"),
		Period:    s.Duration("ProcessingPeriod", time.Second, 2*time.Second, 0, longest),
		Mode:      s.Bool("ProcessingMode", true),
		SitesCriterion: dc.Criterion{
			Where: s.Text("BatchDefaultWhereSites", processSites), OrderBy: s.Text("BatchDefaultOrderBySites", "`Priority` DESC, `TcDateProcess` ASC"),
		},
		URLsCriterion: dc.Criterion{Where: s.Text("BatchDefaultWhereURLs", processURLs), OrderBy: s.Text("BatchDefaultOrderByURLs", orderURLs)},
	}
}

// common reads the keys that both managers of batches have.
func common(s *config.Section, urls, tasks int64) batches.Common {
	s.Accept("server", "DTMDHost", "DTMDPort")
	return batches.Common{
		Sites:             s.Text("clientSitesManager", sites.Name),
		SitesTimeout:      s.Duration("DTMDTimeout", time.Millisecond, 100*time.Second, time.Millisecond, longest),
		MaxAttempts:       s.Int("BatchDefaultMaxAttempts", 5, 0, 1000),
		QueuePeriod:       s.Duration("BatchQueueProcessingPeriod", time.Second, 5*time.Second, 0, time.Hour),
		TaskTTL:           s.Duration("BatchQueueTaskTTL", time.Second, 900*time.Second, time.Second, longest),
		TaskTime:          s.Duration("BatchDefaultMaxExecutionTime", time.Second, 300*time.Second, time.Second, longest),
		MaxURLs:           s.Int("BatchDefaultMaxURLs", urls, 1, 100000),
		MaxTasks:          s.Int("BatchDefaultMaxTasks", tasks, 0, 1000),
		RemoveUnprocessed: s.Bool("RemoveUnprocessedBatchItems", false),
	}
}
