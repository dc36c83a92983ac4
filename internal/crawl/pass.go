package crawl

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"hce/dc/internal/wire"
)

// run crawls the items of the batch, then those that their pages brought, pass
// after pass (docs/spec/crawling.md 1.5). It gives the items of the answer: those of the batch
// in its order, then the others.
func (r *batchRun) run(ctx context.Context) ([]wire.BatchItem, error) {
	var all []*item
	next, err := r.applySchemas(ctx, r.batch.Items)
	if err != nil {
		return nil, err
	}
	if most := r.batch.MaxItems; most > 0 && int64(len(next)) > most {
		// The rows of the others are new, or selected: URL_RETURN frees them.
		next, r.cut = next[:most], true
	}
	for pass := int64(1); ; pass++ {
		r.last = pass >= r.batch.MaxIterations
		// Rows that are selected have to be taken before they can be handed back,
		// so that this is done even when the task is told to stop.
		work, err := r.plan(context.WithoutCancel(ctx), next)
		if err != nil {
			return nil, err
		}
		for _, it := range work {
			it.single = pass > 1
			it.chainOf = r.chains.firstOf(chainKey{it.SiteID, it.URLID})
		}
		all = append(all, work...)
		if err := r.pass(ctx, work); err != nil {
			return nil, err
		}
		if r.last || r.over(ctx) {
			break
		}
		if next, err = r.further(context.WithoutCancel(ctx), all, work); err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
	}
	if err := r.endChains(context.WithoutCancel(ctx), all); err != nil {
		return nil, err
	}
	return r.answer(all), nil
}

// pass drives items through the stages and ends when the outcome of each of them
// is saved.
//
// Memory is bounded by the stages, not by the batch: a body is held by a request
// under way, by a reader or its queue, or by the chunk to be saved; all of them
// together by the budgets of the run.
func (r *batchRun) pass(ctx context.Context, work []*item) error {
	r.pages = make(chan page, runtime.GOMAXPROCS(0))
	r.saves = make(chan *outcome, 2*runtime.GOMAXPROCS(0))
	var fetching, reading, saving sync.WaitGroup
	saving.Go(func() { r.save(context.WithoutCancel(ctx)) })
	for range runtime.GOMAXPROCS(0) {
		reading.Go(func() {
			for p := range r.pages {
				r.saves <- r.read(ctx, p)
			}
		})
	}
	waiting := make(chan struct{}, maxWaiting)
	for _, h := range r.hosts(work) {
		waiting <- struct{}{}
		fetching.Go(func() {
			defer func() { <-waiting }()
			h.run(ctx)
		})
	}
	fetching.Wait()
	close(r.pages)
	reading.Wait()
	close(r.saves)
	saving.Wait()
	return r.brokenBy()
}

// further gives the items of the next pass: what the pages of work brought, each
// URL once in the batch, as many as maxItems leaves room for. A link that did not
// become a row, as the site is full, is no item either.
func (r *batchRun) further(ctx context.Context, all, work []*item) ([]wire.BatchItem, error) {
	type key struct{ site, url string }
	met := make(map[key]bool, len(all))
	for _, it := range all {
		met[key{it.SiteID, it.URLID}] = true
	}
	var list []wire.BatchItem
	for _, it := range work {
		stored, err := r.stored(ctx, it)
		if err != nil {
			return nil, fmt.Errorf("crawl.further: site %s: %w", it.SiteID, err)
		}
		for _, found := range it.found {
			if met[key{found.SiteID, found.URLID}] || r.writes() && !stored[found.URLID] {
				continue
			}
			if r.batch.MaxItems > 0 && int64(len(all)+len(list)) >= r.batch.MaxItems {
				r.cut = true
				continue
			}
			met[key{found.SiteID, found.URLID}] = true
			list = append(list, found)
		}
		it.found = nil
	}
	return list, nil
}

// stored tells which of the URLs that an item brought are rows.
func (r *batchRun) stored(ctx context.Context, it *item) (map[string]bool, error) {
	if !r.writes() || len(it.found) == 0 {
		return nil, nil
	}
	keys := make([]string, len(it.found))
	for i, found := range it.found {
		keys[i] = found.URLID
	}
	known, err := r.Data.KnownURLs(ctx, it.SiteID, keys)
	if gone(err) {
		return nil, nil
	}
	return known, err
}
