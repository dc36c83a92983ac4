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
	"hce/dc/internal/frontier"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// Bounds of the batches, as in dc-daemon.ini.
const (
	crawlRows   = 500 // of one selection
	processRows = 300
	pace        = 10 * time.Second
	refillTime  = 5 * time.Second
	maxHostWait = 10 * time.Second
	batchTime   = 240 * time.Second

	firstPause = 20 * time.Millisecond // between two looks for due rows; it doubles while none is due
	lastPause  = time.Second
)

// ErrBusy means that another goroutine crawls the site.
var ErrBusy = errors.New("another call crawls the site")

// errFinished ends the tasks of a finished site.
var errFinished = errors.New("finished")

// Crawl crawls a site until none of its URLs waits, and calls each for every URL that is finished: fetched and
// processed, or failed. The URL is stored before that. It comes again if it is fetched again meanwhile. After an error of
// each, of ctx, or a *follow.Stalled, Crawl returns early: what was not fetched waits for the next crawl.
func (e *Engine) Crawl(ctx context.Context, site wire.Site, each func(*pages.Page) error) error {
	if !e.reserveSite(site.ID) {
		return fmt.Errorf("crawl site %s: %w", site.ID, ErrBusy)
	}
	defer e.releaseSite(site.ID)
	// A killed process left rows that no batch holds.
	if _, err := e.repo.URLReturn(ctx, wire.URLReturnRequest{Sites: []string{site.ID}}); err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &crawl{engine: e, site: site.ID, keys: make(chan string, queuedKeys), wake: make(chan struct{}, 1)}
	closeTasks, err := c.openTasks(ctx)
	if err != nil {
		return err
	}
	defer closeTasks()
	var tasks sync.WaitGroup
	for _, run := range []func(context.Context) error{c.crawlAll, c.processAll} {
		tasks.Go(func() {
			if err := run(working); err != nil {
				stop(err)
			}
		})
	}
	delivered := make(chan error, 1)
	go func() { // ends when keys is closed, below
		err := c.deliver(ctx, each)
		if err != nil {
			stop(err)
		}
		for range c.keys { // so that the tasks end
		}
		delivered <- err
	}()
	followed := (&follow.Follower{Service: e, Site: site.ID, Roots: len(site.URLs)}).Run(working)
	stop(cmp.Or(followed, errFinished))
	tasks.Wait()
	close(c.keys)
	return cmp.Or(<-delivered, followed)
}

// crawl is one call of Crawl.
type crawl struct {
	engine    *Engine
	site      string
	crawler   task.Job
	processor task.Job
	keys      chan string   // of stored rows
	wake      chan struct{} // a page waits to be processed
}

// openTasks opens the jobs of both kinds of batches.
func (c *crawl) openTasks(ctx context.Context) (closeTasks func(), err error) {
	e := c.engine
	crawler, closeCrawler, err := e.crawl.Open(ctx, e.repo, e.log)
	if err != nil {
		return nil, err
	}
	processor, closeProcessor, err := e.process.Open(e.repo, e.log)
	if err != nil {
		closeCrawler()
		return nil, err
	}
	watched := watchedStore{Repository: e.repo, stored: c.announce}
	crawler.Data, processor.Repository = watched, watched
	processor.Workers = &process.Workers{Evaluate: storage.Evaluate}
	c.crawler, c.processor = crawler, processor
	return func() { closeProcessor(); closeCrawler() }, nil
}

// rules of both kinds of batches.
func (c *crawl) rules(urls wire.Criterion, most int64) frontier.Rules {
	return frontier.Rules{Sites: []string{c.site}, URLs: urls, MaxURLs: most, Pace: pace, RefillTime: refillTime}
}

// crawlAll crawls what is due until ctx ends.
func (c *crawl) crawlAll(ctx context.Context) error {
	rules := c.rules(frontier.DefaultCrawl, crawlRows)
	more := map[string]any{"maxExecutionTime": int64(batchTime / time.Second), "maxHostWait": maxHostWait.Milliseconds(), "maxIterations": 1}
	return c.repeat(ctx, nil, c.crawler, func(id int64) (json.RawMessage, error) { return rules.CrawlBatch(id, more) })
}

// processAll processes what waits for it until ctx ends.
func (c *crawl) processAll(ctx context.Context) error {
	rules := c.rules(frontier.DefaultProcess, processRows)
	return c.repeat(ctx, c.wake, c.processor, rules.ProcessBatch)
}

// repeat runs batches until ctx ends. While none takes a row it pauses, at most until wake.
func (c *crawl) repeat(ctx context.Context, wake <-chan struct{}, job task.Job, batch func(id int64) (json.RawMessage, error)) error {
	for pause := firstPause; ctx.Err() == nil; {
		took, err := c.runBatch(ctx, job, batch)
		if err != nil {
			return err
		}
		if took > 0 {
			pause = firstPause
			continue
		}
		select {
		case <-ctx.Done():
		case <-wake:
			pause = firstPause
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
	return nil
}

// runBatch runs one batch and returns how many rows it took. Rows that it did not finish are due again.
func (c *crawl) runBatch(ctx context.Context, job task.Job, batch func(id int64) (json.RawMessage, error)) (took int64, err error) {
	id := frontier.NewBatchID()
	request, err := batch(id)
	if err != nil {
		return 0, err
	}
	answer, err := job.Run(ctx, request)
	if b, is := answer.(wire.Batch); is {
		took = b.Refilled
	}
	if took > 0 || err != nil {
		_, freed := c.engine.repo.URLReturn(context.WithoutCancel(ctx), wire.URLReturnRequest{BatchID: id})
		err = errors.Join(err, freed)
	}
	return took, err
}

// announce passes the keys of stored rows to deliver. It waits while the caller of Crawl is slow.
func (c *crawl) announce(site string, keys []string) {
	if site != c.site {
		return
	}
	for _, key := range keys {
		c.keys <- key
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
