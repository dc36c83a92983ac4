package batches

import (
	"time"

	"hce/dc/internal/dc"
	"hce/dc/internal/env"
)

// Common is what both managers of batches need.
type Common struct {
	// Env runs the tasks; the daemon fills it in.
	Env env.Environment
	// Sites is the inproc name of SitesManager; clientSitesManager.
	Sites string
	// SitesTimeout bounds one request to SitesManager; DTMDTimeout, ms.
	SitesTimeout time.Duration
	// MaxAttempts is how often a URL may be in a batch that fails before it
	// becomes an error (DECISIONS 3.5); 0: no limit.
	MaxAttempts int64
	// QueuePeriod is how often the tasks under way are asked for, beside the
	// watch; ini key BatchQueueProcessingPeriod, s.
	QueuePeriod time.Duration
	// TaskTTL is how long a task may wait for its start; BatchQueueTaskTTL, s.
	TaskTTL time.Duration
	// TaskTime is when the environment ends a task; BatchDefaultMaxExecutionTime, s.
	TaskTime time.Duration
	// BatchTime is the task's own limit, which must be below TaskTime, so that
	// what was not started is handed back; BatchMaxExecutionTime, s.
	BatchTime time.Duration
	// MaxURLs is the number of URLs of a batch, per node; BatchDefaultMaxURLs.
	MaxURLs int64
	// MaxTasks is the number of batches at once; BatchDefaultMaxTasks.
	MaxTasks int64
	// RemoveUnprocessed is RemoveUnprocessedBatchItems.
	RemoveUnprocessed bool
}

// maxWorkers bounds the workers of a manager: a few for each batch under way.
const maxWorkers = 256

// innerLimit is how long a task may start URLs: less than the environment gives
// it, whatever an operator has set, so that it can hand back the rest (daemon F4).
func (c *Common) innerLimit() time.Duration {
	if c.BatchTime < c.TaskTime {
		return c.BatchTime
	}
	return max(c.TaskTime*4/5, time.Second)
}

// CrawlConfig is [BatchTasksManager] of dc-daemon.ini (daemon 3.2).
type CrawlConfig struct {
	Common
	Crawler env.Stage // DRCECrawlerAppName

	Period    time.Duration // RegularCrawlingPeriod, s; 0: off
	Mode      bool          // RegularCrawlingMode
	Propagate bool          // RegularCrawlingPropagateURLs
	// PaceTime bounds what a site brings to a batch: no more URLs than its
	// RequestDelay lets it fetch in this time; BatchDefaultPaceTime, s.
	PaceTime      time.Duration
	MaxIterations int64 // BatchMaxIterations

	SitesCriterion dc.Criterion // BatchDefaultWhereSites and its order
	URLsCriterion  dc.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs

	CheckActive     bool  // BatchDefaultCheckURLsInActiveBatches
	CrawledStrategy int64 // CrawledURLStrategy: 0 mark foreign rows crawled, 1 delete them
}

// ProcessConfig is [BatchTasksManagerProcess] of dc-daemon.ini (daemon 3.3).
type ProcessConfig struct {
	Common
	Selector  env.Stage // DRCEDBAppName: selects the URLs on the node that processes them
	Processor env.Stage // DRCEProcessorAppName

	Period time.Duration // ProcessingPeriod, s; 0: off
	Mode   bool          // ProcessingMode

	SitesCriterion dc.Criterion // BatchDefaultWhereSites and its order
	URLsCriterion  dc.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs
}
