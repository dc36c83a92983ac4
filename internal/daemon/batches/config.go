package batches

import (
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// Common is what both managers of batches need.
type Common struct {
	// Env runs the tasks; the daemon fills it in.
	Executor executor.Executor
	// Sites is the inproc name of SitesManager; clientSitesManager.
	Sites string
	// SitesTimeout bounds one request to SitesManager; DTMDTimeout, ms.
	SitesTimeout time.Duration
	// MaxAttempts is how often a URL may be in a batch that fails before it
	// becomes an error (docs/spec/DECISIONS.md 3.5); 0: no limit.
	MaxAttempts int64
	// QueuePeriod is how often the tasks under way are asked for, beside the
	// watch; ini key BatchQueueProcessingPeriod, s.
	QueuePeriod time.Duration
	Limits
	// BatchTime is the task's own limit, which must be below TaskTime, so that
	// what was not started is handed back; BatchMaxExecutionTime, s.
	BatchTime time.Duration
	// MaxURLs is the number of URLs of a batch, per node; BatchDefaultMaxURLs.
	MaxURLs int64
	// RemoveUnprocessed is RemoveUnprocessedBatchItems.
	RemoveUnprocessed bool
	// Start is what the node of a task must have left; keys BatchTask_*.
	Start Start
	// ResultTTL is how long the environment keeps a result that nobody fetches;
	// 0 or less: for ever; BatchTask_autocleanup_TTL, s.
	ResultTTL time.Duration
	Unused    Unused
}

// Limits are those of one kind of task.
type Limits struct {
	// TaskTTL is how long a task may wait for its start; BatchQueueTaskTTL, s.
	TaskTTL time.Duration
	// TaskTime is when the environment ends a task; BatchDefaultMaxExecutionTime, s.
	TaskTime time.Duration
	// MaxTasks is the number of tasks at once, 0: none; BatchDefaultMaxTasks.
	MaxTasks int64
}

// Start is what a node must have left before it begins a task (docs/spec/daemon.md 3.2, keys
// BatchTask_*). A bound of 0 or less is none.
type Start struct {
	MaxCPU    int64         // percent; _CPU_LOAD_MAX
	MaxIOWait int64         // percent; _IO_WAIT_MAX
	MinRAM    int64         // bytes; _RAM_FREE_MIN
	Delay     time.Duration // between two looks; _RDELAY, ms
	Looks     int64         // then the task is refused, 0: never; _RETRY
}

func (s Start) conditions() executor.Conditions {
	return executor.Conditions{
		MaxCPU: float64(max(s.MaxCPU, 0)), MaxIOWait: float64(max(s.MaxIOWait, 0)), MinRAM: max(s.MinRAM, 0),
		RetryDelay: s.Delay, Retries: int(s.Looks),
	}
}

// Unused are settings of the first implementation that nothing here needs: the
// environment knows the state of its tasks, starts them without a script, and
// the managers delete what they have read. Operators may look at them and set
// them, so that their scripts go on.
type Unused struct {
	CheckMethod   int64  // BatchQueueTaskCheckStateMethod
	Starter       string // BatchTask_STARTER
	DeleteType    int64  // BatchTask_autocleanup_DeleteType
	DeleteRetries int64  // BatchTask_autocleanup_DeleteRetries
	DeleteState   int64  // BatchTask_autocleanup_State
}

// TaskName is what people see of a task: its name, and the label "type".
type TaskName struct {
	Name string // BatchTaskDTMName*
	Type int64  // BatchTaskDTMType*
}

// maxWorkers bounds the workers of a manager: a few for each batch under way.
const maxWorkers = 256

// innerLimit is how long a task may start URLs: less than the environment gives
// it, whatever an operator has set, so that it can hand back the rest (docs/spec/daemon.md F4).
func (c *Common) innerLimit() time.Duration {
	if c.BatchTime < c.TaskTime {
		return c.BatchTime
	}
	return inner(c.TaskTime)
}

func inner(limit time.Duration) time.Duration { return max(limit*4/5, time.Second) }

// CrawlConfig is [BatchTasksManager] of dc-daemon.ini (docs/spec/daemon.md 3.2).
type CrawlConfig struct {
	Common
	Crawler executor.Stage // DRCECrawlerAppName

	Period    time.Duration // RegularCrawlingPeriod, s; 0: off
	Mode      bool          // RegularCrawlingMode
	Propagate bool          // RegularCrawlingPropagateURLs
	// PaceTime bounds what a site brings to a batch: no more URLs than its
	// RequestDelay lets it fetch in this time; BatchDefaultPaceTime, s.
	PaceTime time.Duration
	// MaxHostWait is how long an item may wait for a host that wants to be left alone
	// before it is handed back and its site waits outside; BatchMaxHostWait, s; 0: to
	// the batch's end.
	MaxHostWait   time.Duration
	MaxIterations int64 // BatchMaxIterations

	SitesCriterion wire.Criterion // BatchDefaultWhereSites and its order
	URLsCriterion  wire.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs

	CheckActive     bool  // BatchDefaultCheckURLsInActiveBatches
	CrawledStrategy int64 // CrawledURLStrategy: 0 mark foreign rows crawled, 1 delete them

	FetchTypes FetchTypes // BatchDefaultFetchTypeOptions
	// Random draws from [0,1); default math/rand.
	Random func() float64

	TaskName    TaskName // BatchTaskDTMNameCrawl, BatchTaskDTMTypeCrawl
	Return      ReturnConfig
	Incremental IncrementalConfig
	DBTask      executor.Stage // DRCEDBAppName: ages and purges
	Aging       AgingConfig
	Purge       PurgeConfig
}

// ProcessConfig is [BatchTasksManagerProcess] of dc-daemon.ini (docs/spec/daemon.md 3.3).
type ProcessConfig struct {
	Common
	Selector  executor.Stage // DRCEDBAppName: selects the URLs on the node that processes them
	Processor executor.Stage // DRCEProcessorAppName

	Period time.Duration // ProcessingPeriod, s; 0: off
	Mode   bool          // ProcessingMode

	SitesCriterion wire.Criterion // BatchDefaultWhereSites and its order
	URLsCriterion  wire.Criterion // BatchDefaultWhereURLs, BatchDefaultOrderByURLs

	TaskName TaskName // BatchTaskDTMNameProcess, BatchTaskDTMTypeProcess
}
