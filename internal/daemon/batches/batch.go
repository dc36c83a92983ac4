package batches

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire/counting"
)

// key identifies a URL.
type key struct{ Site, Md5 string }

// stage is the progress of a batch through the queue. It only grows.
type stage int

const (
	submitting stage = iota // not yet accepted by the executor
	running                 // accepted by the executor
	over                    // the task has ended; its result is being read
	isolating               // the item that ended its task is searched; suspects is not nil
	returning               // its rows are being returned
	forgetting              // its task is being deleted
)

// batch is one active batch, from its submission until its task is deleted.
type batch struct {
	id    int64
	task  string
	stage stage
	sites []string // of its rows; empty: unknown, so any site
	urls  int
	nodes int          // that answered its selection
	extra bool         // uses no slot: of a schedule with its own limit, or halved
	keys  map[key]bool // of its items

	fetch       fetchType // of a crawl batch
	incremental bool

	end      outcome   // of its task; set from isolating on
	attempt  bool      // the end counts as an attempt of the URLs whose rows it holds
	suspects *suspects // nil: none of its tasks died
	// spreading is true while the rows are copied to the other nodes. after, if not nil,
	// runs when that is done.
	spreading bool
	after     func()

	// A failed step of the end is retried with growing pauses.
	busy  bool // the step is running
	due   time.Time
	pause time.Duration
	late  bool // returning its rows has failed: it keeps its slot

	// stray marks a selection without an answer, and so without a task. It may have
	// marked rows, and may mark more until mayMarkUntil.
	stray        bool
	mayMarkUntil time.Time
}

// takesSlot reports whether the batch counts against MaxTasks. A batch whose rows cannot be
// returned does, so that a broken database stops new work.
func (b *batch) takesSlot() bool { return !b.extra && (b.stage <= isolating || b.late) }

// addSite records a site of the batch's rows.
func (b *batch) addSite(site string) {
	if !slices.Contains(b.sites, site) {
		b.sites = append(b.sites, site)
	}
}

// outcome is the end of a task.
type outcome struct {
	State   executor.State
	Reason  string
	Exit    int
	Batch   bool // the answer is valid: a Batch, or what tasks of the queue answer
	Items   int  // of the answer
	More    int  // URLs that the batch selected by itself
	Tally   counting.Tally
	Crawled []key // crawled items of the answer, if other nodes must learn of them

	Unsubmitted bool // the executor did not accept the task
}

func (o outcome) isGood() bool { return o.State == executor.Finished && o.Batch }

// isExpired reports whether the task waited for its start longer than its TTL.
func (o outcome) isExpired() bool { return o.State == executor.Refused && !o.Unsubmitted }

// cause is what ended a task.
type cause int

const (
	worked  cause = iota
	stopped       // on request, or with the executor
	broken        // a fault of the machine, the database or the program; the next batch would meet it too
	died          // the program crashed, was killed or did not end in time; an item may be the cause
)

// endCause returns what ended the task. Only died can count as an attempt of URLs: a fault of the
// machine and frequent restarts must not turn isolated pages into errors.
func (o outcome) endCause() cause {
	switch {
	case o.isGood():
		return worked
	case o.State == executor.Cancelled || o.State == executor.Lost:
		return stopped
	case o.State == executor.Refused, o.State == executor.Failed && brokenExits[o.Exit]:
		return broken
	}
	return died
}

// brokenExits are the exit statuses of a program that reports a fault of the machine
// (docs/spec/DECISIONS.md 1.5), that cannot be started, or that was stopped by a signal (128 and
// SIGHUP, SIGINT, SIGTERM).
var brokenExits = map[int]bool{1: true, 126: true, 127: true, 129: true, 130: true, 143: true}

func taskID(kind string, id int64) string { return kind + "-" + strconv.FormatInt(id, 10) }

// batchOf returns the batch id in the id of a task, or 0 for a task that holds no rows.
func batchOf(task string) int64 {
	kind, text, _ := strings.Cut(task, "-")
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || kind != CrawlTask && kind != ProcessTask {
		return 0
	}
	return int64(id)
}
