package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/process/article"
	"hce/dc/internal/process/remote"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/wire/errormask"
)

// Budget is what one page may cost. A page beyond it ends with bit PROCESSOR_BUDGET.
type Budget struct {
	Time   time.Duration // processor time
	Clock  time.Duration // of waiting: a page that waits for ever. It stands while the worker waits for a processor, or is stopped
	Memory int64         // bytes of its worker
}

const (
	// tick is the interval between two looks at a worker.
	tick = 100 * time.Millisecond
	// slowAfter is the processor time after which a page gives its processor to other pages. On a busy
	// machine a page that uses less does so after patience.
	slowAfter = time.Second
	patience  = 5 * slowAfter
	// lowPriority of a page that has used slowAfter lets other pages go first, and still gets a tenth of a processor that
	// another program uses: with 19 it would get a hundredth.
	lowPriority = 10
	// stopGrace is the time for started pages after a stop or the time limit.
	stopGrace = 2 * time.Second
	// endGrace is the time for an idle worker to end by itself.
	endGrace = time.Second
)

// workerArgument makes a program a worker. See RunIfWorker.
const workerArgument = "extract-pages"

// RunIfWorker extracts the pages of stdin and ends the process, if Workers started it. A
// program that uses Workers calls it first. evaluate returns the value of an SQL expression without
// columns; "" for NULL. around runs the work, for a profile of it; nil: nothing else is done.
func RunIfWorker(evaluate func(expression string) (string, error), around func(work func() int) int) {
	if !isWorker() {
		return
	}
	work := func() int {
		warmUp()
		return extractPages(os.Stdin, os.Stdout, scraper.Scrape, evaluate)
	}
	if around != nil {
		os.Exit(around(work))
	}
	os.Exit(work())
}

// warmUp reads a small page, so that the models are loaded before the first page: its budget is for the page alone.
func warmUp() {
	_, _ = article.Extract([]byte("<title>Tides</title><p>The moon pulls the sea twice a day, and the sun helps a little."), "")
}

func isWorker() bool { return len(os.Args) == 2 && os.Args[1] == workerArgument }

// ready is what a worker writes when it has started: the budget of its first page does not pay for the start.
const ready = 1

// extractPages answers requests until the end of in. It returns the exit status.
func extractPages(in io.Reader, out io.Writer, scrape func(*scraper.Page, *scraper.Rules) scraper.Output, evaluate func(string) (string, error)) int {
	if _, err := out.Write([]byte{ready}); err != nil {
		return 1
	}
	pipe := newPipe(in, out)
	rules := known[*scraper.Rules]{}
	for {
		r, err := pipe.receiveRequest()
		switch {
		case err == io.EOF:
			return 0
		case err == nil && r.Trial != nil:
			err = pipe.sendResult(r.Trial.reportOutput())
		case err == nil && r.Question != nil:
			err = pipe.sendResult(answerQuestion(r.Question, r.Page.Text))
		case err == nil:
			if r.New != nil {
				compiled, _ := scraper.Compile(r.New) // the process that asks reports the problems
				compiled.Evaluate = evaluate
				rules.addRules(r.Rules, compiled)
			}
			err = pipe.sendResult(scrape(&r.Page, rules[r.Rules]))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// Workers extract pages in child processes of this program, one page at a time in each. Only
// a process can be ended, whatever a library does (docs/decisions/0013). Create it with a
// Budget. Goroutines may share it.
type Workers struct {
	Budget Budget
	// Evaluate, if not nil, makes this process extract the pages, without a budget, for a program that cannot be its own
	// child. It returns the value of an SQL expression without columns; "" for NULL.
	Evaluate func(expression string) (string, error)

	mu   sync.Mutex
	idle []*worker
	sets []known[*scraper.Rules] // compiled rules that no page of this process uses

	running atomic.Int64 // pages now
	begun   atomic.Int64 // pages so far
}

// Close ends all workers. No page may be under way.
func (w *Workers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.idle {
		k.stdin.Close()
	}
	for _, k := range w.idle {
		select {
		case <-k.ended:
			k.ended = nil
		case <-time.After(endGrace):
		}
		k.endWorker()
	}
	w.idle = nil
}

// errOver means that a page was ended because its batch is over.
var errOver = errors.New("the batch is over")

// watch connects a page to its batch.
type watch struct {
	over   func() bool     // reports whether the batch is over
	slow   func()          // called for a slow page, and before requests
	web    context.Context // of requests; it ends with the batch
	remote *remote.Batch
}

// extractPage extracts a page. A page beyond the budget, and one that ends two processes, gives
// its error bit. The error is errOver, or that no worker can be started.
func (w *Workers) extractPage(p *scraper.Page, rules *scraper.Source, watch watch) (scraper.Output, error) {
	if w.Evaluate != nil {
		return w.extractHere(p, rules), nil
	}
	return w.runRequest(func(k *worker) request { return k.newRequest(p, rules) }, watch)
}

// runRequest sends a request to a worker. See extractPage. A page that ran out of time while others ran is tried once more, alone:
// they take its memory bandwidth and caches.
func (w *Workers) runRequest(request func(*worker) request, watch watch) (scraper.Output, error) {
	before, begun := w.running.Add(1), w.begun.Add(1)
	x, err := w.tryRequest(request, watch)
	w.running.Add(-1)
	shared := before > 1 || w.begun.Load() > begun
	if over, is := errors.AsType[overBudget](err); is && over.time && shared {
		if !w.awaitIdle(watch) {
			return scraper.Output{}, errOver
		}
		x, err = w.tryRequest(request, watch)
		w.running.Add(-1)
	}
	if over, is := errors.AsType[overBudget](err); is {
		return scraper.Output{Bits: errormask.ProcessorBudget, Message: over.Error()}, nil
	}
	return x, err
}

// awaitIdle waits until no page runs and counts one. It returns false if the batch is over.
func (w *Workers) awaitIdle(watch watch) bool {
	watch.slow() // the other pages have its processor
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !w.running.CompareAndSwap(0, 1) {
		if watch.over() {
			return false
		}
		<-ticker.C
	}
	return true
}

// tryRequest sends a request to a worker, and to another one if the first was killed by another process. The error is an overBudget, or that
// of extractPage.
func (w *Workers) tryRequest(request func(*worker) request, watch watch) (scraper.Output, error) {
	start := w.takeWorker
	for again := false; ; again = true {
		k, err := start()
		if err != nil {
			return scraper.Output{}, fmt.Errorf("start a worker for pages: %w", err)
		}
		x, err := k.sendRequest(request(k), w.Budget, watch)
		if err == nil {
			w.returnWorker(k)
			return x, nil
		}
		died := k.endWorker()
		_, over := errors.AsType[overBudget](err)
		switch {
		case over || errors.Is(err, errOver):
			return scraper.Output{}, err
		case again:
			return scraper.Output{Bits: errormask.BatchItem, Message: "the page ended two processes: " + died}, nil
		}
		start = w.startWorker // the worker may have been killed from outside
	}
}

// takeWorker returns an idle worker, or starts one.
func (w *Workers) takeWorker() (*worker, error) {
	if k := w.takeIdle(); k != nil {
		return k, nil
	}
	return w.startWorker()
}

// takeIdle returns an idle worker that still runs, or nil.
func (w *Workers) takeIdle() *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.idle) > 0 {
		k := w.idle[len(w.idle)-1]
		w.idle = w.idle[:len(w.idle)-1]
		select {
		case <-k.ended: // another process killed it
			k.ended = nil
			k.endWorker()
		default:
			return k
		}
	}
	return nil
}

func (w *Workers) returnWorker(k *worker) {
	if k.reniced {
		k.endWorker()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, k)
}

// worker is one child process.
type worker struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	pipe    *pipe
	errs    firstBytes
	rules   known[bool]
	meter   *childprocess.Meter // nil: this system has none
	ended   <-chan error
	reniced bool // it has lowPriority
}

func (w *Workers) startWorker() (*worker, error) {
	k := &worker{cmd: childprocess.Self(workerArgument), rules: known[bool]{}}
	// The memory limit makes the garbage collector work harder before the budget is used up.
	k.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", w.Budget.Memory/4*3))
	k.cmd.Stderr = &k.errs
	stdin, err := k.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	k.stdin, k.pipe = stdin, newPipe(stdout, stdin)
	if k.ended, err = childprocess.Start(k.cmd); err != nil {
		return nil, err
	}
	_, _ = io.ReadFull(stdout, make([]byte, 1)) // ready; if the worker has ended, ask finds out, and run starts another one
	k.meter, _ = childprocess.NewMeter(k.cmd.Process.Pid)
	return k, nil
}

// endWorker ends the worker and returns why it had ended before, if it had.
func (k *worker) endWorker() (reason string) {
	_ = k.cmd.Process.Kill()
	if k.ended != nil {
		if err := <-k.ended; err != nil {
			reason = err.Error()
		}
	}
	k.stdin.Close()
	if k.meter != nil {
		k.meter.Close()
	}
	return strings.TrimSpace(reason + " " + k.errs.String())
}

// newRequest returns the request for a page. It has the rules that the worker does not know.
func (k *worker) newRequest(p *scraper.Page, rules *scraper.Source) request {
	r := request{Page: *p, Rules: rules.ID}
	if !k.rules[rules.ID] {
		r.New = rules
		k.rules.addRules(rules.ID, true)
	}
	return r
}

// sendRequest sends a request. It kills the worker if the page exceeds its budget or the batch is
// over.
func (k *worker) sendRequest(r request, b Budget, w watch) (x scraper.Output, err error) {
	done, killed := make(chan struct{}), make(chan error, 1)
	go func() { killed <- k.watchBudget(b, w, done) }()
	if err = k.pipe.sendRequest(&r); err == nil {
		x, err = k.pipe.receiveResult()
	}
	close(done)
	if cause := <-killed; cause != nil {
		err = cause
	}
	return x, err
}

// overBudget says what a page exceeded.
type overBudget struct {
	message string
	time    bool // processor time
}

func (o overBudget) Error() string { return o.message }

// watchBudget looks at the worker until done is closed. It returns why it killed the worker, or nil.
func (k *worker) watchBudget(b Budget, w watch, done <-chan struct{}) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	start := time.Now()
	clock := &waitClock{pid: k.cmd.Process.Pid, last: start}
	var first childprocess.Usage
	var over time.Time
	slow := false
	for looks := 0; ; looks++ {
		select {
		case <-done:
			return nil
		case <-ticker.C:
		}
		used, err := k.checkBudget(b, clock.tickTime(time.Now()), &first)
		if err == nil && w.over() {
			if over.IsZero() {
				over = time.Now()
			} else if time.Since(over) >= stopGrace {
				err = errOver
			}
		}
		if err != nil {
			_ = k.cmd.Process.Kill()
			return err
		}
		if !slow && (used >= slowAfter || time.Since(start) >= patience) {
			slow = true
			w.slow()
		}
		if !k.reniced && used >= slowAfter {
			k.reniced = true
			_ = syscall.Setpriority(syscall.PRIO_PGRP, k.cmd.Process.Pid, lowPriority)
		}
	}
}

// checkBudget returns the processor time of the page so far, and an overBudget if the page exceeds its budget.
// first is the usage at the first look.
func (k *worker) checkBudget(b Budget, clock time.Duration, first *childprocess.Usage) (used time.Duration, err error) {
	if clock > b.Clock {
		return 0, overBudget{message: fmt.Sprintf("the page waits for more than %v; max_item_time is %v", b.Clock, b.Time)}
	}
	if k.meter == nil {
		return clock, nil
	}
	now, err := k.meter.Read()
	if err != nil {
		return 0, nil // it ends
	}
	if first.RSS == 0 {
		*first = now
	}
	switch used = now.CPU - first.CPU; {
	case used >= b.Time:
		return used, overBudget{message: fmt.Sprintf("the page takes more processor time than max_item_time (%v)", b.Time), time: true}
	case now.RSS > b.Memory:
		return used, overBudget{message: fmt.Sprintf("the page takes more memory than max_item_memory (%d bytes)", b.Memory)}
	}
	return used, nil
}

// firstBytes keeps the beginning of what a worker writes to stderr: the reason of a crash
// comes first.
type firstBytes struct{ strings.Builder }

func (f *firstBytes) Write(text []byte) (int, error) {
	f.Builder.Write(text[:min(len(text), 2048-min(f.Len(), 2048))])
	return len(text), nil
}
