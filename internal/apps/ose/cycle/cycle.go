package cycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
)

// Web sends requests; it is a politeclient.Client.
type Web interface {
	Get(ctx context.Context, r politeclient.Request) (*fetch.Response, error)
}

// Wait is the random pause before a request. A host may ask for a longer one.
type Wait struct{ Least, Most time.Duration }

// randomPause returns a random pause.
func (w Wait) randomPause() time.Duration { return w.Least + rand.N(max(w.Most-w.Least, 0)+1) }

// Cycle runs steps. Goroutines may share it, also for folders of one host. Web, Now and Log are
// mandatory.
type Cycle struct {
	Web  Web
	Wait Wait
	Now  func() time.Time
	Log  *slog.Logger
	// Retry requests URLs again that got no answer, or 429 or 503. They get a new id.
	Retry bool
	// Hosts are further hosts whose links are merged, as in a URL with the port. AnyHost merges all.
	Hosts   []string
	AnyHost bool
	// MaxURLs bounds .urls: OSEM003 adds no URL beyond it. 0: DefaultMaxURLs.
	MaxURLs int64
}

// DefaultMaxURLs bounds .urls of a site that has no end.
const DefaultMaxURLs = 1_000_000

// Step is one of the three programs of the cycle.
type Step string

// The steps in their order.
const (
	Fetch Step = "OSEM001"
	Parse Step = "OSEM002"
	Merge Step = "OSEM003"
)

// Report is how a step ended.
type Report struct {
	Dir    string `json:"dir"`
	Step   Step   `json:"step"`
	URLs   int64  `json:"urls"`   // of .urls
	Done   int64  `json:"done"`   // requests, parsed pages, or new URLs
	Failed int64  `json:"failed"` // requests without an answer, which Done has too; files that cannot be read
	Millis int64  `json:"ms"`
	// Skipped says why the step had nothing to do; "": it ran.
	Skipped string `json:"skipped,omitempty"`
	// Stopped says why URLs were left for the next run; "" if none was.
	Stopped string `json:"stopped,omitempty"`
}

// begins are the states from which a step begins, and continues.
var begins = map[Step][2]folder.State{
	Fetch: {folder.Idle, folder.Fetching},
	Parse: {folder.Fetched, folder.Parsing},
	Merge: {folder.Merging, folder.Merging},
}

// stepOf returns the step of a state.
func stepOf(s folder.State) Step {
	for step, states := range begins {
		if s == states[0] || s == states[1] {
			return step
		}
	}
	return ""
}

// Do runs one step, if the state asks for it. The error wraps files.ErrLocked if a step of another
// process runs.
func (c *Cycle) Do(ctx context.Context, f *folder.Folder, step Step) (Report, error) {
	unlock, err := f.TryLock()
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	return c.runStep(ctx, f, step)
}

// Run runs the steps that the folder needs until its cycle has ended. A folder without a URL to request
// stays as it is. The error wraps files.ErrLocked if a step of another process runs.
func (c *Cycle) Run(ctx context.Context, f *folder.Folder) (reports []Report, err error) {
	unlock, err := f.TryLock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	for {
		status, err := f.Status()
		if err != nil {
			return reports, err
		}
		report, err := c.runStep(ctx, f, stepOf(status.State))
		if report.Step != "" {
			reports = append(reports, report)
		}
		if err != nil || report.Skipped != "" || report.Step == Merge {
			return reports, err
		}
	}
}

// runStep runs a step with the lock held, and logs its time. An error is for the caller to report; the log
// of the folder has it, too.
func (c *Cycle) runStep(ctx context.Context, f *folder.Folder, step Step) (r Report, err error) {
	status, err := f.Status()
	if err != nil {
		return r, err
	}
	r = Report{Dir: f.Dir, Step: step}
	fits := begins[step]
	if status.State != fits[0] && status.State != fits[1] {
		r.Skipped = fmt.Sprintf("state %c (%s)", status.State, status.State)
		return r, nil
	}
	log, closeLog, err := c.openLog(f)
	if err != nil {
		return r, err
	}
	defer closeLog()
	log = log.withArgs("step", string(step), "target", f.Dir)
	begin := c.Now()
	run := map[Step]func(context.Context, *job) error{Fetch: c.runFetch, Parse: c.runParse, Merge: c.runMerge}[step]
	j := &job{Folder: f, status: status, report: &r, log: log}
	if err = j.surveyURLs(c.wantsRequest); err == nil {
		err = run(ctx, j)
	}
	r.Millis = c.Now().Sub(begin).Milliseconds()
	switch {
	case err != nil:
		log[1:].logAll(slog.LevelError, "step ended early; the next run continues it", "error", err, "done", r.Done, "ms", r.Millis)
	case r.Skipped == "":
		log.logAll(slog.LevelInfo, "step finished", "urls", r.URLs, "done", r.Done, "failed", r.Failed, "ms", r.Millis)
	}
	return r, err
}

// job is one run of a step in a folder.
type job struct {
	*folder.Folder
	status folder.Status
	report *Report
	log    logs

	first  string    // URL of .urls
	lastID folder.ID // of .urls, and of the next list
	asks   bool      // a URL is to be requested
}

// setState writes a state with the last id of the lists.
func (j *job) setState(s folder.State) error {
	return j.SetStatus(folder.Status{State: s, LastID: j.lastID})
}

// surveyURLs reads .urls once. Lost records are an error.
func (j *job) surveyURLs(wants func(folder.Record) bool) error {
	urls, err := j.URLs()
	if err != nil {
		return err
	}
	defer urls.Close()
	for record, err := range urls.All() {
		if err != nil {
			return err
		}
		if j.report.URLs++; j.first == "" {
			j.first = record.URL
		}
		j.lastID = max(j.lastID, record.ID)
		j.asks = j.asks || wants(record)
	}
	return j.CheckIDs(j.status, j.lastID, j.report.URLs)
}

// beginStep writes the state of a step that begins. It refuses a next list that no step has written.
func (j *job) beginStep(s folder.State) error {
	if j.status.State == s {
		return nil
	}
	if _, err := os.Lstat(j.Path(s.Next())); err == nil {
		return fmt.Errorf("begin a step in %s: state %c has no %s, but the file exists; look at it and remove it", j.Dir, j.status.State, s.Next())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return j.setState(s)
}
