package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/files"
	"hce/dc/internal/frontier"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

const (
	firstPause = 20 * time.Millisecond // between two looks for due rows; it doubles while none is due
	lastPause  = time.Second
	firstRest  = time.Second // after a fault of the machine; it doubles
	lastRest   = 30 * time.Second
)

// ErrBusy means that another goroutine crawls the site.
var ErrBusy = errors.New("another call crawls the site")

// errFinished ends the tasks of a finished site.
var errFinished = errors.New("finished")

// Crawl crawls a site until none of its URLs waits.
//
// each is called for every URL that is finished: fetched and processed, or failed. The URL is stored before that. It comes again
// if it is fetched again meanwhile. show is called after each look at the counters of the site; done is true for the last one.
// Both may be nil. After an error of them, of ctx, or a *follow.Stalled, Crawl returns early: what was not fetched waits for the
// next crawl.
func (e *Engine) Crawl(ctx context.Context, site wire.Site, each func(*pages.Page) error, show func(look follow.Look, done bool) error) error {
	if !e.reserveSite(site.ID) {
		return fmt.Errorf("crawl site %s: %w", site.ID, ErrBusy)
	}
	defer e.releaseSite(site.ID)
	// A killed process left rows that no batch holds.
	if _, err := e.repo.URLReturn(ctx, wire.URLReturnRequest{Sites: []string{site.ID}}); err != nil {
		return files.ExplainFull(err, e.Dir)
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &crawl{engine: e, site: site.ID, wake: make(chan struct{}, 1), faults: map[string]error{}}
	if each != nil {
		c.keys = make(chan string, queuedKeys)
	}
	closeTasks, err := c.openTasks(ctx)
	if err != nil {
		return files.ExplainFull(err, e.Dir)
	}
	defer closeTasks()
	var tasks sync.WaitGroup
	for _, b := range []*batches{c.crawlBatches(), c.processBatches()} {
		tasks.Go(func() {
			if err := b.runAll(working); err != nil {
				stop(files.ExplainFull(err, e.Dir))
			}
		})
	}
	delivered := make(chan error, 1)
	if each == nil {
		delivered <- nil
	} else {
		go func() { // ends when keys is closed, below
			err := c.deliver(ctx, each)
			if err != nil {
				stop(err)
			}
			for range c.keys { // so that the tasks end
			}
			delivered <- err
		}()
	}
	followed := (&follow.Follower{Service: e, Site: site.ID, Roots: len(site.URLs), Crawler: c, Show: show}).Run(working)
	stop(cmp.Or(followed, errFinished))
	tasks.Wait()
	if each != nil {
		close(c.keys)
	}
	return cmp.Or(<-delivered, followed)
}

// crawl is one call of Crawl.
type crawl struct {
	engine    *Engine
	site      string
	crawler   task.Job
	processor task.Job
	keys      chan string   // of stored rows; nil: no caller wants them
	wake      chan struct{} // a page waits to be processed

	mu     sync.Mutex
	faults map[string]error // of the machine, which batches wait for; by kind of batch
}

// Ended implements follow.Crawler: the crawl ends with this process.
func (c *crawl) Ended() <-chan struct{} { return nil }

// Reason implements follow.Crawler.
func (c *crawl) Reason(_ context.Context, site string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault := cmp.Or(c.faults["crawl"], c.faults["process"]); fault != nil {
		return files.ExplainFull(fault, c.engine.Dir).Error()
	}
	return c.engine.Fault(site)
}

// openTasks opens the jobs of both kinds of batches.
func (c *crawl) openTasks(ctx context.Context) (closeTasks func(), err error) {
	e := c.engine
	crawler, closeCrawler, err := e.crawl.Open(ctx, e.repo, e.crawlLog)
	if err != nil {
		return nil, err
	}
	processor, closeProcessor, err := e.process.Open(e.repo, e.processLog)
	if err != nil {
		closeCrawler()
		return nil, err
	}
	watched := watchedStore{Repository: e.repo, stored: c.announce}
	crawler.Data, processor.Repository = watched, watched
	crawler.Failed = e.recordFailed
	if !e.options.Workers {
		processor.Workers = &process.Workers{Evaluate: storage.Evaluate}
	}
	c.crawler, c.processor = crawler, processor
	return func() { closeProcessor(); closeCrawler() }, nil
}

// rules of both kinds of batches. They take nothing of a site that is not one of sites, such as one that is paused meanwhile.
func (c *crawl) rules(sites string, urls wire.Criterion, most int64) frontier.Rules {
	site := wire.Criterion{Where: "`Id`=" + wire.QuotedSQL(c.site) + " AND " + sites}
	return frontier.Rules{SitesCriterion: site, URLs: urls, MaxURLs: most, Pace: frontier.Pace, RefillTime: frontier.RefillTime}
}

// batches run the batches of one kind, one after the other.
type batches struct {
	*crawl
	kind    string
	job     task.Job
	request func(id int64) (json.RawMessage, error)
	wake    <-chan struct{} // nil: nothing ends a pause

	held int64 // the last batch, if its rows could not be freed
}

func (c *crawl) crawlBatches() *batches {
	rules := c.rules(wire.CrawledSites, frontier.DefaultCrawl, frontier.CrawlRows)
	more := map[string]any{"maxExecutionTime": int64(frontier.BatchTime / time.Second), "maxHostWait": frontier.MaxHostWait.Milliseconds(), "maxIterations": 1}
	return &batches{crawl: c, kind: "crawl", job: c.crawler, request: func(id int64) (json.RawMessage, error) { return rules.CrawlBatch(id, more) }}
}

func (c *crawl) processBatches() *batches {
	return &batches{crawl: c, kind: "process", job: c.processor, request: c.rules(wire.ProcessedSites, frontier.DefaultProcess, frontier.ProcessRows).ProcessBatch, wake: c.wake}
}

// runAll runs batches until ctx ends. While none takes a row it pauses, at most until wake. After a fault of the machine it waits
// longer, if the engine waits.
func (b *batches) runAll(ctx context.Context) error {
	pause, rest := firstPause, firstRest
	for ctx.Err() == nil {
		took, err := b.runBatch(ctx)
		switch {
		case err != nil && !(b.engine.options.Waits && storage.Machine(err)):
			return err
		case err != nil:
			b.setFault(ctx, err)
			awaitEvent(ctx, nil, rest)
			rest = min(2*rest, lastRest)
			continue
		case took > 0:
			pause = firstPause
		case awaitEvent(ctx, b.wake, pause):
			pause = firstPause
		default:
			pause = min(2*pause, lastPause)
		}
		b.setFault(ctx, nil)
		rest = firstRest
	}
	return nil
}

// awaitEvent waits until ctx ends, for an event, or for the given time. It reports whether there was an event.
func awaitEvent(ctx context.Context, events <-chan struct{}, most time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-events:
		return true
	case <-time.After(most):
	}
	return false
}

// setFault records what the batches wait for; nil: nothing.
func (b *batches) setFault(ctx context.Context, fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fault != nil && ctx.Err() == nil {
		b.engine.crawlLog.Error("the crawl waits after a fault", "kind", b.kind, "error", fault)
	}
	b.faults[b.kind] = fault
}

// runBatch runs one batch and returns how many rows it took. Rows that it did not finish are due again.
func (b *batches) runBatch(ctx context.Context) (took int64, err error) {
	if err := b.freeRows(ctx); err != nil {
		return 0, err
	}
	id := frontier.NewBatchID()
	request, err := b.request(id)
	if err != nil {
		return 0, err
	}
	answer, err := b.job.Run(ctx, request)
	if batch, is := answer.(wire.Batch); is {
		took = batch.Refilled
	}
	if took > 0 || err != nil {
		b.held = id
		err = errors.Join(err, b.freeRows(ctx))
	}
	return took, err
}

// freeRows lets the rows of the last batch be due again, if it holds some.
func (b *batches) freeRows(ctx context.Context) error {
	if b.held == 0 {
		return nil
	}
	_, err := b.engine.repo.URLReturn(context.WithoutCancel(ctx), wire.URLReturnRequest{BatchID: b.held})
	if err == nil {
		b.held = 0
	}
	return err
}

// announce passes the keys of stored rows to deliver. It waits while the caller of Crawl is slow.
func (c *crawl) announce(site string, keys []string) {
	if site != c.site {
		return
	}
	if c.keys != nil {
		for _, key := range keys {
			c.keys <- key
		}
	}
	select {
	case c.wake <- struct{}{}:
	default: // it is awake
	}
}

// watchedStore tells which rows were stored.
type watchedStore struct {
	*storage.Repository
	stored func(site string, keys []string)
}

func (w watchedStore) SaveCrawl(ctx context.Context, batch int64, list []wire.SiteFetched) ([]wire.Saved, error) {
	saved, err := w.Repository.SaveCrawl(ctx, batch, list)
	if err != nil {
		return saved, err
	}
	for _, site := range list {
		keys := make([]string, len(site.Results))
		for i := range site.Results {
			keys[i] = site.Results[i].URLMd5
		}
		w.stored(site.Site, keys)
	}
	return saved, nil
}

func (w watchedStore) SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error {
	if err := w.Repository.SaveProcess(ctx, site, batch, results); err != nil {
		return err
	}
	var keys []string
	for i := range results {
		keys = append(keys, results[i].URLMd5)
		for _, item := range results[i].Items {
			keys = append(keys, item.Row.URLMd5)
		}
	}
	w.stored(site, keys)
	return nil
}
