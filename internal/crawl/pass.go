package crawl

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/wire"
)

// runPasses crawls the items of the batch, then the items that their pages brought, pass after
// pass (docs/spec/crawling.md 1.5). It returns the items of the answer: those of the batch in
// its order, then the others.
func (r *batchRun) runPasses(ctx context.Context) ([]wire.BatchItem, error) {
	var all []*item.Item
	next, err := r.applySchemas(ctx, r.Batch.Items)
	if err != nil {
		return nil, err
	}
	if most := r.Batch.MaxItems; most > 0 && int64(len(next)) > most {
		// The rows of the other items are new or selected. URL_RETURN frees the selected ones.
		next, r.cut = next[:most], true
	}
	for pass := int64(1); ; pass++ {
		r.reader.Last = pass >= r.Batch.MaxIterations
		// A selected row has to be taken before it can be handed back, even if the task is told
		// to stop.
		work, err := r.planBatch(context.WithoutCancel(ctx), next)
		if err != nil {
			return nil, err
		}
		for _, it := range work {
			it.Single = pass > 1
			it.ChainOf = r.reader.FirstOfChain(it.Key())
		}
		all = append(all, work...)
		if err := r.runPass(ctx, work); err != nil {
			return nil, err
		}
		if r.reader.Last || r.IsOver(ctx) {
			break
		}
		if next, err = r.nextPassItems(context.WithoutCancel(ctx), all, work); err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
	}
	if err := r.keepResults(context.WithoutCancel(ctx), r.reader.ListChains(all, r.Now())); err != nil {
		return nil, fmt.Errorf("store the lists of chains: %w", err)
	}
	return r.answerItems(all), nil
}

// runPass sends items through the stages, and those that the batch selects meanwhile. It returns
// when the outcome of each is saved.
//
// The stages bound the memory: a body belongs to a running request, to a reader or its
// queue, or to the chunk that is saved next. The budgets of the run bound all of them.
func (r *batchRun) runPass(ctx context.Context, work []*item.Item) error {
	pages := make(chan reader.Page, runtime.GOMAXPROCS(0))     // fetched, not yet read
	saves := make(chan *item.Outcome, 2*runtime.GOMAXPROCS(0)) // read, not yet saved
	chunks := make(chan []*item.Outcome)                       // saved next
	var reading, saving sync.WaitGroup
	saving.Go(func() { r.storeChunks(context.WithoutCancel(ctx), chunks) })
	saving.Go(func() { r.collectChunks(saves, chunks) })
	for range runtime.GOMAXPROCS(0) {
		reading.Go(func() {
			for p := range pages {
				saves <- r.reader.ReadOutcome(ctx, p)
			}
		})
	}
	fetching := r.newFetchStage(ctx, pages, saves)
	fetching.addItems(work)
	if r.flow != nil {
		r.refillQueues(ctx, fetching)
	}
	fetching.workers.Wait()
	close(pages)
	reading.Wait()
	close(saves)
	saving.Wait()
	return r.BrokenBy()
}

// nextPassItems returns the items of the next pass: URLs that the pages of work brought, each once,
// within maxItems. A link that did not become a row, because the site is full, is left out.
func (r *batchRun) nextPassItems(ctx context.Context, all, work []*item.Item) ([]wire.BatchItem, error) {
	met := make(map[item.Key]bool, len(all))
	for _, it := range all {
		met[it.Key()] = true
	}
	var list []wire.BatchItem
	for _, it := range work {
		stored, err := r.findStored(ctx, it)
		if err != nil {
			return nil, fmt.Errorf("read new links of site %s: %w", it.SiteID, err)
		}
		for _, found := range it.Found {
			if met[item.Key{Site: found.SiteID, URL: found.URLID}] || r.MayWrite() && !stored[found.URLID] {
				continue
			}
			if r.Batch.MaxItems > 0 && int64(len(all)+len(list)) >= r.Batch.MaxItems {
				r.cut = true
				continue
			}
			met[item.Key{Site: found.SiteID, URL: found.URLID}] = true
			list = append(list, found)
		}
		it.Found = nil
	}
	return list, nil
}

// findStored reports which of the URLs that an item brought have rows.
func (r *batchRun) findStored(ctx context.Context, it *item.Item) (map[string]bool, error) {
	if !r.MayWrite() || len(it.Found) == 0 {
		return nil, nil
	}
	keys := make([]string, len(it.Found))
	for i, found := range it.Found {
		keys[i] = found.URLID
	}
	known, err := r.data.KnownURLs(ctx, it.SiteID, keys)
	if item.IsSiteGone(err) {
		return nil, nil
	}
	return known, err
}
