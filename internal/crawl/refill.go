package crawl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/frontier/refill"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// A batch with a selection takes its rows by itself: a batch without items its first ones, and more while it fetches. When
// few of its items wait, the selection runs again, and its rows join the queues of their hosts. A batch of several passes or
// with maxItems needs the end of a pass, and one without refillTime takes rows once: they select between their rounds
// (Job.Run).

// selectsWhileFetching reports whether the batch selects more URLs while it fetches.
func selectsWhileFetching(batch wire.Batch) bool {
	return mayRefill(batch) && batch.RefillTime > 0 && batch.MaxIterations <= 1 && batch.MaxItems == 0
}

// mayRefill reports whether the batch may select more URLs at all.
func mayRefill(batch wire.Batch) bool {
	return len(batch.Refill) > 0 && batch.Writes()
}

// refillOver reports whether no selection may follow because of the time or a stop.
func (r *batchRun) refillOver(ctx context.Context) bool {
	return r.IsOver(ctx) || refillTimeOver(r.Batch, r.Now().Sub(r.Start))
}

// refillTimeOver reports whether a batch that has taken so long selects no more URLs.
func refillTimeOver(batch wire.Batch, spent time.Duration) bool {
	return spent >= time.Duration(batch.RefillTime)*time.Millisecond
}

// refillQueues selects URLs and adds them to the queues until the time is over, nothing is due, or the
// items since the last selection were all handed back: their rows are due, and would be selected
// again and again.
func (r *batchRun) refillQueues(ctx context.Context, fetching *fetchStage) {
	var planned time.Time
	for !r.IsOver(ctx) {
		now := r.Now()
		step := r.flow.Next(now, r.Slots.HasSlow(), r.refillOver(ctx))
		switch {
		case step.Ends:
			return
		case !step.Selects:
			r.flow.AwaitNews(ctx, step.Wait)
			continue
		}
		if now.Sub(planned) >= time.Duration(r.Batch.RefillTime)*time.Millisecond {
			planned = now
			clear(r.works) // sites may have changed
		}
		rows, err := r.selectMore(context.WithoutCancel(ctx), step.Demand, min(step.Room, maxActive-1-fetching.hostCount()))
		if err != nil && len(r.Batch.Items) == 0 && r.Batch.Refilled == 0 { // the batch has nothing to do
			r.FailBatch(fmt.Errorf("select URLs: %w", err))
			return
		}
		if err != nil { // URL_RETURN frees the rows that it may have marked
			r.Log.Warn("cannot select more URLs", "error", err)
			return
		}
		work, err := r.planMore(context.WithoutCancel(ctx), rows)
		if err != nil {
			r.FailBatch(err)
			return
		}
		fetching.addItems(work)
	}
}

// selectMore runs the selection of the batch, for the sites that d names. Without room for that
// many rows of other sites, only own sites are selected.
func (r *batchRun) selectMore(ctx context.Context, d refill.Demand, room int) ([]wire.URL, error) {
	selection := r.Batch.Refill[0]
	selection.Own = d.Own // SkipBusySites would skip them
	selection.Pace, selection.Hosts = r.flow.LastRequestTime, r.flow.MaxHosts
	switch {
	case d.Others && room > 0:
		selection.MaxURLs = min(selection.MaxURLs, int64(room))
	case len(d.Own)+len(d.Emptied) > 0:
		selection.Sites = slices.Concat(d.Own, d.Emptied)
	default:
		return nil, nil
	}
	return r.data.Take(ctx, []wire.URLFetchRequest{selection}, r.Batch.ID)
}

// planMore plans selected rows, which are marked already.
func (r *batchRun) planMore(ctx context.Context, rows []wire.URL) ([]*item.Item, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r.Batch.Refilled += int64(len(rows))
	clear(r.marked)
	for i := range rows {
		r.marked[item.Key{Site: rows[i].SiteID, URL: rows[i].URLMd5}] = true
	}
	items, err := r.applySchemas(ctx, wire.BatchItems(rows))
	if err != nil {
		return nil, err
	}
	work, err := r.planBatch(ctx, items)
	for _, it := range work {
		it.Refilled = true
		if !it.Todo {
			r.added.addErrors(it.AddedErrors())
		}
	}
	return work, err
}

// flowItem returns what the counts of a batch know of an item.
func flowItem(it *item.Item) refill.Item {
	return refill.Item{Site: it.SiteID, Host: it.Host, Delayed: it.View.RequestDelay > 0}
}

// countStored counts the items of a chunk.
func (r *batchRun) countStored(chunk []*item.Outcome) {
	if r.flow == nil {
		return
	}
	list := make([]refill.Stored, len(chunk))
	for i, out := range chunk {
		it := out.Item
		if it.Refilled {
			r.added.addErrors(it.AddedErrors())
		}
		list[i] = refill.Stored{Item: flowItem(it), Page: it.Row.Status == wire.StatusCrawled && !it.Empty, Held: out.Result.HeldUntil != ""}
	}
	r.flow.CountStored(list)
}

// errorSet joins the errors of items. Goroutines may share it.
type errorSet struct {
	mu   sync.Mutex
	mask errormask.Mask
}

// addErrors joins errors of an item.
func (s *errorSet) addErrors(bits errormask.Mask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mask |= bits
}
