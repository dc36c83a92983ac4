package crawl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/wire"
)

const (
	// maxChunkBytes bounds the bytes of files and links that wait for one transaction. A large
	// page does not wait, because others wait for its memory.
	maxChunkBytes = 4 << 20
	// statesEvery is the interval at which cookies and header counters are saved.
	statesEvery = 5 * time.Second
)

// resultStore stores results of sites in the repository.
type resultStore struct {
	*visit.Environment
	data      Data
	scratch   Scratch  // nil: real-time batches use the raw files of the node
	goneSites sync.Map // ids of sites that were deleted since the batch began
	fullSites sync.Map // sites whose limits left out links
}

// collectChunks collects outcomes in chunks, while another goroutine stores the chunk before. So at most
// two chunks wait, and no stage waits for a sync while there is room. It closes chunks after the last one.
func (r *batchRun) collectChunks(saves <-chan *item.Outcome, chunks chan<- []*item.Outcome) {
	var (
		chunk []*item.Outcome
		bytes int
		late  bool // the chunk has waited long enough
		idle  = r.flow.Idle()
		open  = true
	)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for open || len(chunk) > 0 {
		in, out := saves, chan<- []*item.Outcome(nil)
		full := len(chunk) >= r.Config.ChunkItems || bytes >= maxChunkBytes
		if full {
			in = nil
		}
		if len(chunk) > 0 && (full || late || !open || r.flow.NeedsResults()) {
			out = chunks
		}
		if !open {
			in = nil
		}
		select {
		case o, more := <-in:
			if open = more; !more {
				continue
			}
			if len(chunk) == 0 {
				timer.Reset(r.Config.ChunkTime)
			}
			chunk, bytes = append(chunk, o), bytes+o.Bytes
		case out <- chunk:
			chunk, bytes, late = nil, 0, false
		case <-timer.C:
			late = true
		case <-idle:
		}
	}
	close(chunks)
}

// storeChunks stores chunks, each in one transaction, and the states that batches share. After an error it stores nothing
// more and ends the batch. ctx must outlive the batch's context: finished work is stored even if the task is told to stop.
func (r *batchRun) storeChunks(ctx context.Context, chunks <-chan []*item.Outcome) {
	failed, saved := false, r.Now()
	for chunk := range chunks {
		if !failed {
			if err := r.storeChunk(ctx, chunk); err != nil {
				failed = true
				r.FailBatch(err)
			}
		}
		if !failed {
			r.Tally.CountStored(chunk)
		}
		for _, out := range chunk {
			out.Item.ReleaseMemory()
		}
		r.countStored(chunk)
		if now := r.Now(); now.Sub(saved) > statesEvery {
			saved = now
			r.saveStates(ctx)
		}
	}
	r.saveStates(ctx)
}

// storeChunk passes a chunk to the repository, with the outcomes of each site in order of arrival.
func (r *batchRun) storeChunk(ctx context.Context, chunk []*item.Outcome) error {
	var list []wire.SiteFetched
	for _, same := range wire.Groups(chunk, func(out *item.Outcome) string { return out.Item.SiteID }) {
		one := wire.SiteFetched{Site: same[0].Item.SiteID, Results: make([]wire.Fetched, len(same))}
		for i, out := range same {
			out.EndRetries()
			one.Results[i] = out.Result
		}
		list = append(list, one)
	}
	return r.keepResults(ctx, list)
}

// keepResults passes results to the repository. A batch that may not write rows keeps only the files, for
// the client that waits (docs/spec/crawling.md 1.4).
func (r *resultStore) keepResults(ctx context.Context, list []wire.SiteFetched) error {
	if r.Batch.DBMode == 0 || len(list) == 0 {
		return nil
	}
	if r.MayWrite() {
		return r.saveSites(ctx, list)
	}
	for _, one := range list {
		if err := r.keepFiles(ctx, one.Site, one.Results); err != nil {
			return err
		}
	}
	return nil
}

// keepFiles stores the files of results of one site.
func (r *resultStore) keepFiles(ctx context.Context, id string, results []wire.Fetched) error {
	files := map[string][]wire.File{}
	for _, result := range results {
		if len(result.Files) > 0 {
			files[result.URLMd5] = result.Files
		}
		for _, l := range result.Links {
			if len(l.Files) > 0 {
				files[l.URL.URLMd5] = l.Files
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	put := r.data.PutRaw
	if r.Batch.Folder != "" && r.scratch != nil {
		put = func(ctx context.Context, id string, files map[string][]wire.File, at time.Time) error {
			return r.scratch.PutFiles(ctx, r.Batch.Folder, id, files, at)
		}
	}
	if err := put(ctx, id, files, r.Now()); err != nil && !item.IsSiteGone(err) {
		return fmt.Errorf("save results of site %s: %w", id, err)
	}
	return nil
}

// saveSites stores results of sites together. Nothing is stored if one of the sites was deleted:
// then each of them is stored alone.
func (r *resultStore) saveSites(ctx context.Context, list []wire.SiteFetched) error {
	saved, err := r.data.SaveCrawl(ctx, r.Batch.ID, list)
	for i := range saved {
		r.logSaved(list[i].Site, saved[i])
	}
	switch {
	case item.IsSiteGone(err) && len(list) > 1:
		for i := range list {
			if err := r.saveSites(ctx, list[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case item.IsSiteGone(err):
		r.Log.Warn("site was deleted; dropped its results", "site", list[0].Site, "items", len(list[0].Results))
		r.goneSites.Store(list[0].Site, true) // its hosts get no more requests
		return nil
	case err != nil:
		return fmt.Errorf("save results: %w", err)
	}
	return nil
}

// isGone reports whether a site was deleted since the batch began.
func (r *resultStore) isGone(site string) bool {
	_, gone := r.goneSites.Load(site)
	return gone
}

// logSaved logs side effects of storing results.
func (r *resultStore) logSaved(site string, saved wire.Saved) {
	for _, reason := range saved.Refused {
		r.Log.Warn("left out invalid property", "site", site, "reason", reason)
	}
	if saved.Removed > 0 {
		r.Log.Info("site is full; removed rows by AUTO_REMOVE_WHERE", "site", site, "removed", saved.Removed)
	}
	if saved.Skipped > 0 {
		if _, said := r.fullSites.LoadOrStore(site, true); !said {
			r.Log.Warn("site is full: maxURLs or maxResources leaves out new links", "site", site, "skipped", saved.Skipped)
		}
	}
}

// saveStates saves the state that batches share apart from rows: cookies and header counters.
// A kill may lose the last few seconds; that is harmless, and so is an error.
func (r *resultStore) saveStates(ctx context.Context) {
	if err := errors.Join(r.Jars.Save(ctx), r.Rotator.Save(ctx)); err != nil {
		r.Log.Warn("cannot save cookies or header counters", "error", err)
	}
}
