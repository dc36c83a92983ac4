package batches

import (
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// Common is the configuration of both batch managers.
type Common struct {
	Executor     executor.Executor // runs the tasks; set by the daemon
	Sites        string            // inproc name of SitesManager; clientSitesManager
	SitesTimeout time.Duration     // of one request to SitesManager; DTMDTimeout, ms
	// MaxAttempts is how often a URL may end its task program, alone, before it becomes an error
	// (docs/spec/DECISIONS.md 3.5); 0: no limit.
	MaxAttempts int64
	// QueuePeriod is how often the states of active tasks are checked, in addition to the
	// watch; BatchQueueProcessingPeriod, s.
	QueuePeriod time.Duration
	Limits
	// BatchTime is the limit inside the task. It must be below TaskTime, so that the task
	// can hand back what it did not start; BatchMaxExecutionTime, s.
	BatchTime         time.Duration
	MaxURLs           int64 // URLs of a batch, per node; BatchDefaultMaxURLs
	RemoveUnprocessed bool  // RemoveUnprocessedBatchItems
	// Start are the start conditions of a task (docs/spec/daemon.md 3.2): percent
	// (BatchTask_CPU_LOAD_MAX, _IO_WAIT_MAX), bytes (_RAM_FREE_MIN), ms (_RDELAY), looks (_RETRY).
	Start executor.Conditions
	// ResultTTL is how long the executor keeps a result that is not read; 0 or less: no
	// limit; BatchTask_autocleanup_TTL, s.
	ResultTTL time.Duration
}

// Limits are the limits of one type of task.
type Limits struct {
	TaskTTL  time.Duration // longest wait for the start; BatchQueueTaskTTL, s
	TaskTime time.Duration // longest run; BatchDefaultMaxExecutionTime, s
	MaxTasks int64         // active tasks, 0: none; BatchDefaultMaxTasks
}

// maxWorkers limits the workers of a manager: a few for each active batch.
const maxWorkers = 256

// innerLimit returns how long a task may start URLs. It is below TaskTime whatever an operator
// has set, so that the task can hand back the rest (docs/spec/daemon.md F4).
func (c *Common) innerLimit() time.Duration {
	if c.BatchTime < c.TaskTime {
		return c.BatchTime
	}
	return innerLimit(c.TaskTime)
}

func innerLimit(limit time.Duration) time.Duration { return max(limit*4/5, time.Second) }

// CrawlConfig is [BatchTasksManager] of dc-daemon.ini (docs/spec/daemon.md 3.2).
type CrawlConfig struct {
	Common
	Crawler executor.Stage // DRCECrawlerAppName

	Period    time.Duration // RegularCrawlingPeriod, s; 0: off
	Mode      bool          // RegularCrawlingMode
	Propagate bool          // RegularCrawlingPropagateURLs
	// PaceTime limits the URLs of a site in a batch: no more than its RequestDelay allows to
	// fetch in this time; BatchDefaultPaceTime, s.
	PaceTime time.Duration
	// RefillTime is how long a batch takes more URLs; BatchRefillTime, s; 0: it takes URLs once.
	RefillTime time.Duration
	// MaxHostWait is how long an item may wait for its host's delay before it is handed
	// back; BatchMaxHostWait, s; 0: until the end of the batch.
	MaxHostWait   time.Duration
	MaxIterations int64 // BatchMaxIterations

	SitesCriterion wire.Criterion // BatchDefaultWhereSites, BatchDefaultOrderBySites
	URLsCriterion  wire.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs

	CheckActive     bool  // BatchDefaultCheckURLsInActiveBatches
	CrawledStrategy int64 // CrawledURLStrategy: 0 mark foreign rows crawled, 1 delete them

	FetchTypes FetchTypes     // BatchDefaultFetchTypeOptions
	Random     func() float64 // returns numbers of [0,1); default math/rand

	Return      ReturnConfig
	Incremental IncrementalConfig
	DBTask      executor.Stage // DRCEDBAppName: for aging and purging
	Aging       AgingConfig
	Purge       PurgeConfig
}

// ProcessConfig is [BatchTasksManagerProcess] of dc-daemon.ini (docs/spec/daemon.md 3.3).
type ProcessConfig struct {
	Common
	Processor executor.Stage // DRCEProcessorAppName

	Period time.Duration // ProcessingPeriod, s; 0: off
	Mode   bool          // ProcessingMode
	// RefillTime is how long a task takes more URLs; BatchRefillTime, s; 0: it takes URLs once.
	RefillTime time.Duration

	SitesCriterion wire.Criterion // BatchDefaultWhereSites, BatchDefaultOrderBySites
	URLsCriterion  wire.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs
}
