package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/process/remote"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// run is the work on one batch. A feeder selects and plans items, workers extract them, a
// saver stores the results. The feeder plans the next items and the saver stores the last
// ones while the workers extract.
type run struct {
	*Job
	batch    *wire.Batch
	log      *slog.Logger
	start    time.Time
	deadline time.Time // zero: none
	planned  chan *item
	done     *results
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	slow     atomic.Int64          // pages that were replaced, see replaceSlow
	fault    atomic.Pointer[error] // why no page can be extracted
	remote   *remote.Batch
	web      context.Context // of requests for the pages; ends with a stop and at the deadline
	// storing does not end with a stop: rows must still be marked to hand them back, and
	// results must still be stored.
	storing context.Context
}

func newRun(j *Job, batch *wire.Batch, start, deadline time.Time, log *slog.Logger) *run {
	return &run{
		Job: j, batch: batch, remote: j.newRemoteReader(log).Batch(), log: log, start: start, deadline: deadline,
		planned: make(chan *item, max(j.Config.ChunkItems, 1)), done: newResults(max(j.Config.ChunkItems, 1)),
	}
}

// newRemoteReader returns the reader of templates and links.
func (j *Job) newRemoteReader(log *slog.Logger) *remote.Reader {
	return cmp.Or(j.Remote, &remote.Reader{Now: j.Now, Log: log})
}

// runBatch returns one item for each item of the batch, in order, and sets batch.ErrorMask and
// batch.Refilled.
func (r *run) runBatch(ctx context.Context) ([]*item, error) {
	r.storing = context.WithoutCancel(ctx)
	ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	r.web = ctx
	if !r.deadline.IsZero() {
		var cancel context.CancelFunc
		r.web, cancel = context.WithTimeout(ctx, r.deadline.Sub(r.start))
		defer cancel()
	}
	var saving sync.WaitGroup
	var mask errormask.Mask
	var saveErr error
	for range runtime.GOMAXPROCS(0) {
		r.workers.Go(func() { r.extractItems(ctx) })
	}
	tally := counting.Tally{}
	saving.Go(func() { mask, saveErr = r.saveResults(tally) })
	work, err := r.feedItems(ctx)
	close(r.planned)
	r.workers.Wait()
	r.done.closeResults()
	saving.Wait()
	r.batch.ErrorMask |= mask
	r.batch.Tally = tally
	if saveErr != nil {
		return nil, saveErr
	}
	if fault := r.fault.Load(); fault != nil {
		return nil, *fault
	}
	return work, err
}

// feedItems plans the items of the batch, and then those that the batch selects by itself.
func (r *run) feedItems(ctx context.Context) ([]*item, error) {
	work, err := r.planItems(r.storing, r.batch, false, r.log)
	if err != nil {
		return nil, err
	}
	r.pushItems(work)
	for r.mayRefill(ctx) {
		rows, err := r.Repository.Take(r.storing, r.batch.Refill, r.batch.ID)
		if err != nil { // URL_RETURN frees the rows that it may have marked
			return nil, fmt.Errorf("select URLs: %w", err)
		}
		more := *r.batch
		more.Items = wire.BatchItems(rows)
		r.batch.Refilled += int64(len(rows))
		items, err := r.planItems(r.storing, &more, true, r.log)
		if err != nil {
			return nil, err
		}
		taken := r.pushItems(items)
		if !taken { // the same rows could be selected again and again
			break
		}
	}
	return work, nil
}

// pushItems passes items to the workers, and reports whether one of them can be processed.
func (r *run) pushItems(items []*item) (taken bool) {
	for some := range slices.Chunk(items, findItems) {
		for _, same := range wire.Groups(some, func(it *item) string { return it.SiteID }) {
			for _, it := range r.findContents(same) {
				taken = taken || it.taken // before a worker changes it
				r.planned <- it
			}
		}
	}
	return taken
}

// findItems is the most items whose raw contents are found at once.
const findItems = 64

// findContents finds the raw contents of items of one site, and returns the items in the order in which they
// are read fastest. After an error each item reads its own, and has the error.
func (r *run) findContents(items []*item) []*item {
	var md5s []string
	byKey := map[string]*item{}
	for _, it := range items {
		if it.taken && it.live == nil && byKey[it.URLID] == nil {
			md5s, byKey[it.URLID] = append(md5s, it.URLID), it
		}
	}
	if len(md5s) < 2 {
		return items
	}
	ordered, read, err := r.Repository.FindRaw(r.storing, items[0].SiteID, md5s)
	if err != nil {
		return items
	}
	list := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return byKey[it.URLID] == it })
	for _, md5 := range ordered {
		it := byKey[md5]
		it.read = read
		list = append(list, it)
	}
	return list
}

// mayRefill reports whether the batch may select more URLs. A batch without items selects its
// first ones in any case.
func (r *run) mayRefill(ctx context.Context) bool {
	b := r.batch
	if len(b.Refill) == 0 || b.CrawlerType != wire.CrawlProcess || !b.Writes() || r.mustStop(ctx) {
		return false
	}
	return len(b.Items) == 0 && b.Refilled == 0 || r.Now().Sub(r.start) < time.Duration(b.RefillTime)*time.Millisecond
}

// mustStop reports whether no further item may be started.
func (r *run) mustStop(ctx context.Context) bool {
	return ctx.Err() != nil || !r.deadline.IsZero() && !r.Now().Before(r.deadline)
}

// maxSlow is the most slow pages that other goroutines take the place of.
const maxSlow = 8

// extractItems extracts items until there are no more, or until another goroutine took its place
// because an item was slow.
func (r *run) extractItems(ctx context.Context) {
	for it := range r.planned {
		replaced := false
		switch {
		case !it.taken:
		case r.mustStop(ctx):
			it.handBack(schema.DateOf(r.Now()))
		default:
			err := r.extractItem(r.storing, it, watch{
				over: func() bool { return r.mustStop(ctx) },
				slow: func() { replaced = replaced || r.replaceSlow(ctx) },
				web:  r.web, remote: r.remote,
			}, r.log)
			if err != nil && !errors.Is(err, errOver) {
				r.fault.Store(&err)
				r.cancel()
			}
		}
		r.done.putItem(it)
		if replaced {
			r.slow.Add(-1)
			return
		}
	}
}

// replaceSlow starts another goroutine for the items behind a slow one, and reports whether it
// did.
func (r *run) replaceSlow(ctx context.Context) bool {
	if r.slow.Add(1) > maxSlow {
		r.slow.Add(-1)
		return false
	}
	r.workers.Go(func() { r.extractItems(ctx) })
	return true
}

// saveResults stores results in chunks, joins the errors of their items and counts the new ones. After
// an error it cancels the batch, stores nothing more and returns the error.
func (r *run) saveResults(tally counting.Tally) (mask errormask.Mask, failed error) {
	for chunk := r.done.takeChunk(); len(chunk) > 0; chunk = r.done.takeChunk() {
		for _, it := range chunk {
			mask |= it.row.ErrorMask
			if !it.late {
				tally.Errors(it.row.ErrorMask &^ it.URL.ErrorMask)
			}
		}
		if failed == nil && r.batch.Writes() {
			if failed = r.saveChunk(chunk); failed != nil {
				r.cancel()
			}
		}
		for _, it := range chunk {
			it.result = wire.Extracted{} // releases the content
		}
	}
	return mask, failed
}

// saveChunk stores the results of one chunk, with one call of the Repository for each site.
func (r *run) saveChunk(chunk []*item) error {
	for _, same := range wire.Groups(chunk, func(it *item) string { return it.SiteID }) {
		id := same[0].SiteID
		var list []wire.Extracted
		for _, it := range same {
			if it.result.URLMd5 != "" {
				list = append(list, it.result)
			}
			for _, part := range it.parts {
				list = append(list, part.result)
			}
		}
		if len(list) == 0 {
			continue
		}
		err := r.Repository.SaveProcess(r.storing, id, r.batch.ID, list)
		if isSiteDeleted(err) {
			r.log.Warn("results dropped: the site was deleted", "site", id, "items", len(list))
		} else if err != nil {
			return fmt.Errorf("save %d results of site %s: %w", len(list), id, err)
		}
	}
	return nil
}

// maxChunkBytes is the most bytes of contents that wait for the saver.
const maxChunkBytes = 16 << 20

// results are the items between the workers and the saver.
type results struct {
	most int // items in one chunk

	mu      sync.Mutex
	changed sync.Cond
	items   []*item
	bytes   int
	closed  bool
}

func newResults(most int) *results {
	r := &results{most: most}
	r.changed.L = &r.mu
	return r
}

// putItem adds an item. It waits while the saver is two chunks behind.
func (r *results) putItem(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.items) >= 2*r.most || r.bytes >= maxChunkBytes {
		r.changed.Wait()
	}
	r.items = append(r.items, it)
	r.bytes += it.result.Weight()
	r.changed.Broadcast()
}

// closeResults says that no item follows.
func (r *results) closeResults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed.Broadcast()
}

// takeChunk waits for a whole chunk and returns it. After close it returns the rest in chunks,
// and then nil.
func (r *results) takeChunk() []*item {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.items) < r.most && r.bytes < maxChunkBytes && !r.closed {
		r.changed.Wait()
	}
	n := min(len(r.items), r.most)
	chunk := r.items[:n:n]
	r.items = append([]*item(nil), r.items[n:]...)
	for _, it := range chunk {
		r.bytes -= it.result.Weight()
	}
	r.changed.Broadcast()
	return chunk
}
