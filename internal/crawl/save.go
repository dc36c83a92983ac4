package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
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
	*environment
	goneSites sync.Map // ids of sites that were deleted since the batch began
	fullSites sync.Map // sites whose limits left out links
}

// saveOutcomes collects outcomes in chunks, while another goroutine stores the chunk before. So at most
// two chunks wait, and no stage waits for a sync while there is room. ctx must outlive the batch's
// context: finished work is stored even if the task is told to stop.
func (r *batchRun) saveOutcomes(ctx context.Context) {
	chunks := make(chan []*outcome)
	var storing sync.WaitGroup
	storing.Go(func() { r.storeChunks(ctx, chunks) })
	var (
		chunk []*outcome
		bytes int
		late  bool // the chunk has waited long enough
		idle  <-chan struct{}
		open  = true
	)
	if r.flow != nil {
		idle = r.flow.idle
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for open || len(chunk) > 0 {
		in, out := r.saves, chan<- []*outcome(nil)
		full := len(chunk) >= r.Config.ChunkItems || bytes >= maxChunkBytes
		if full {
			in = nil
		}
		if len(chunk) > 0 && (full || late || !open || r.flow.needsResults()) {
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
			chunk, bytes = append(chunk, o), bytes+o.bytes
		case out <- chunk:
			chunk, bytes, late = nil, 0, false
		case <-timer.C:
			late = true
		case <-idle:
		}
	}
	close(chunks)
	storing.Wait()
	r.saveStates(ctx)
}

// storeChunks stores chunks, each in one transaction. After an error it stores nothing more and
// ends the batch.
func (r *batchRun) storeChunks(ctx context.Context, chunks <-chan []*outcome) {
	failed, saved := false, r.Now()
	for chunk := range chunks {
		if !failed {
			if err := r.storeChunk(ctx, chunk); err != nil {
				failed = true
				r.failBatch(err)
			}
		}
		if !failed {
			r.tally.countStored(chunk)
		}
		for _, out := range chunk {
			out.item.releaseMemory()
		}
		r.flow.countStored(chunk)
		if now := r.Now(); now.Sub(saved) > statesEvery {
			saved = now
			r.saveStates(ctx)
		}
	}
}

// storeChunk passes a chunk to the repository, with the outcomes of each site in order of arrival.
func (r *batchRun) storeChunk(ctx context.Context, chunk []*outcome) error {
	var list []wire.SiteFetched
	for _, same := range wire.Groups(chunk, func(out *outcome) string { return out.item.SiteID }) {
		one := wire.SiteFetched{Site: same[0].item.SiteID, Results: make([]wire.Fetched, len(same))}
		for i, out := range same {
			out.endRetries()
			one.Results[i] = out.result
		}
		list = append(list, one)
	}
	return r.keepResults(ctx, list)
}

// keepResults passes results to the repository. A batch that may not write rows keeps only the files, for
// the client that waits (docs/spec/crawling.md 1.4).
func (r *resultStore) keepResults(ctx context.Context, list []wire.SiteFetched) error {
	if r.batch.DBMode == 0 || len(list) == 0 {
		return nil
	}
	if r.mayWrite() {
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
	put := r.Data.PutRaw
	if r.batch.Folder != "" && r.Scratch != nil {
		put = func(ctx context.Context, id string, files map[string][]wire.File, at time.Time) error {
			return r.Scratch.PutFiles(ctx, r.batch.Folder, id, files, at)
		}
	}
	if err := put(ctx, id, files, r.Now()); err != nil && !isSiteGone(err) {
		return fmt.Errorf("save results of site %s: %w", id, err)
	}
	return nil
}

// addAttributes sets attributes in the URL of a real-time answer, because nothing is stored.
// An empty value removes an attribute.
func addAttributes(u *wire.URL, values map[string]string, now schema.Date) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		u.Attributes = slices.DeleteFunc(slices.Clone(u.Attributes), func(a wire.Attribute) bool { return a.Name == name })
		if value := values[name]; value != "" {
			u.Attributes = append(u.Attributes, wire.Attribute{SiteID: u.SiteID, Name: name, URLMd5: u.URLMd5, Value: value, CDate: now})
		}
	}
}

// saveSites stores results of sites together. Nothing is stored if one of the sites was deleted:
// then each of them is stored alone.
func (r *resultStore) saveSites(ctx context.Context, list []wire.SiteFetched) error {
	saved, err := r.Data.SaveCrawl(ctx, r.batch.ID, list)
	for i := range saved {
		r.logSaved(list[i].Site, saved[i])
	}
	switch {
	case isSiteGone(err) && len(list) > 1:
		for i := range list {
			if err := r.saveSites(ctx, list[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case isSiteGone(err):
		r.log.Warn("site was deleted; dropped its results", "site", list[0].Site, "items", len(list[0].Results))
		r.goneSites.Store(list[0].Site, true) // its hosts get no more requests
		return nil
	case err != nil:
		return fmt.Errorf("save results: %w", err)
	}
	return nil
}

// logSaved logs side effects of storing results.
func (r *resultStore) logSaved(site string, saved wire.Saved) {
	for _, reason := range saved.Refused {
		r.log.Warn("left out invalid property", "site", site, "reason", reason)
	}
	if saved.Removed > 0 {
		r.log.Info("site is full; removed rows by AUTO_REMOVE_WHERE", "site", site, "removed", saved.Removed)
	}
	if saved.Skipped > 0 {
		if _, said := r.fullSites.LoadOrStore(site, true); !said {
			r.log.Warn("site is full: maxURLs or maxResources leaves out new links", "site", site, "skipped", saved.Skipped)
		}
	}
}

// saveStates saves the state that batches share apart from rows: cookies and header counters.
// A kill may lose the last few seconds; that is harmless, and so is an error.
func (r *environment) saveStates(ctx context.Context) {
	if err := errors.Join(r.jars.Save(ctx), r.Rotator.Save(ctx)); err != nil {
		r.log.Warn("cannot save cookies or header counters", "error", err)
	}
}
