package batches

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"time"

	"hce/dc/internal/daemon/executor"
)

// key names a URL.
type key struct{ Site, Md5 string }

// stage is where a batch stands on its way through the queue. It only grows.
type stage int

const (
	submitting stage = iota // on its way to the environment
	running                 // accepted there
	over                    // the task has ended; its result is being read
	returning               // its rows go back
	forgetting              // the environment is told to forget the task
)

// batch is one batch under way, from its submission until nothing of it is left.
type batch struct {
	id    int64
	task  string
	stage stage
	sites []string // of its rows; none: not known, look everywhere
	urls  int
	nodes int          // that answered its selection
	extra bool         // beside the slots: of a schedule that has one of its own
	keys  map[key]bool // of its items

	// end is how the task ended; it is set from returning on.
	end outcome
	// attempt says that the end counts against the URLs whose rows it holds.
	attempt bool
	// after, when set, is called when the copies of its rows stand on the other
	// nodes. They are on their way while spreading is true.
	spreading bool
	after     func()

	// A step of the end that fails is tried again, ever more seldom.
	busy  bool // the step is under way
	due   time.Time
	pause time.Duration
	late  bool // its rows could not be returned: it keeps its slot

	// stray is a selection that brought no answer, and so no task: there may be
	// rows to return. Until until it may mark more of them.
	stray bool
	until time.Time
}

// takesSlot reports whether the batch counts against MaxTasks. One whose rows
// cannot be returned does, so that a database out of order stops new work
// instead of piling up old.
func (b *batch) takesSlot() bool { return !b.extra && (b.stage <= over || b.late) }

// onSite notes where rows of the batch are.
func (b *batch) onSite(site string) {
	for _, s := range b.sites {
		if s == site {
			return
		}
	}
	b.sites = append(b.sites, site)
}

// outcome is how a task ended, as its worker saw it.
type outcome struct {
	Task    string
	State   executor.State
	Reason  string
	Exit    int
	Batch   bool  // the answer is a Batch, or whatever the queue's tasks answer
	Items   int   // of the answer
	Crawled []key // items of the answer that are crawled, when other nodes are to know

	// Unsubmitted says that the environment did not even take the task.
	Unsubmitted bool
}

func (o outcome) good() bool { return o.State == executor.Finished && o.Batch }

// expired reports whether the task waited for its start longer than its time to
// live.
func (o outcome) expired() bool { return o.State == executor.Refused && !o.Unsubmitted }

// attempt reports whether the end counts as an attempt of the URLs that the
// batch still holds (docs/spec/DECISIONS.md 3.5). An end on request does not, nor does that of
// the environment: a daemon that is restarted often must not turn pages that it
// never asked for into errors.
func (o outcome) attempt() bool { return o.State != executor.Cancelled && o.State != executor.Lost }

// hopeless reports whether the next batch would most likely end in the same
// way, and at once.
func (o outcome) hopeless() bool {
	return !o.good() && (o.State == executor.Failed || o.State == executor.Refused || o.State == executor.Finished)
}

// newBatchID is a random unsigned 32-bit number, never 0: the column's width
// (docs/spec/daemon.md 2.3).
func newBatchID() int64 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program first
		if id := binary.BigEndian.Uint32(b[:]); id != 0 {
			return int64(id)
		}
	}
}

// label is the task label that holds the batch's id, typeLabel the one of its
// type's number.
const (
	label     = "batch"
	typeLabel = "type"
)

func taskID(kind string, id int64) string { return kind + "-" + labelOf(id) }

func labelOf(id int64) string { return strconv.FormatInt(id, 10) }

// batchOf is the batch's id in a task's labels; 0 when there is none.
func batchOf(labels map[string]string) int64 {
	id, err := strconv.ParseUint(labels[label], 10, 32)
	if err != nil {
		return 0
	}
	return int64(id)
}
