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
)

const (
	// maxChunkBytes bounds the bytes of files and links that wait for one transaction. A large
	// page does not wait, because others wait for its memory.
	maxChunkBytes = 4 << 20
	// statesEvery is the interval at which cookies and header counters are saved.
	statesEvery = 5 * time.Second
)

// save collects outcomes in chunks, while another goroutine stores the chunk before. So at most
// two chunks wait, and nobody waits for a sync while there is room. ctx must outlive the batch's
// context: finished work is stored even if the task is told to stop.
func (r *batchRun) save(ctx context.Context) {
	chunks := make(chan []*outcome)
	var storing sync.WaitGroup
	storing.Go(func() { r.storeChunks(ctx, chunks) })
	var (
		chunk  []*outcome
		bytes  int
		late   bool // the chunk has waited long enough
		hunger <-chan struct{}
		open   = true
	)
	if r.flow != nil {
		hunger = r.flow.hunger
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for open || len(chunk) > 0 {
		in, out := r.saves, chan<- []*outcome(nil)
		full := len(chunk) >= r.Config.ChunkItems || bytes >= maxChunkBytes
		if full {
			in = nil
		}
		if len(chunk) > 0 && (full || late || !open || r.flow.starves()) {
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
		case <-hunger:
		}
	}
	close(chunks)
	storing.Wait()
	r.saveStates(ctx)
}

// storeChunks stores chunks with one call of the repository per site. After an error it stores
// nothing more and ends the batch.
func (r *batchRun) storeChunks(ctx context.Context, chunks <-chan []*outcome) {
	failed, saved := false, r.Now()
	for chunk := range chunks {
		if !failed {
			if err := r.store(ctx, chunk); err != nil {
				failed = true
				r.fail(err)
			}
		}
		for _, out := range chunk {
			out.item.releaseMemory()
		}
		r.flow.stored(chunk)
		if now := r.Now(); now.Sub(saved) > statesEvery {
			saved = now
			r.saveStates(ctx)
		}
	}
}

// store passes a chunk to the repository, site by site, in order of arrival.
func (r *batchRun) store(ctx context.Context, chunk []*outcome) error {
	for _, same := range wire.Groups(chunk, func(out *outcome) string { return out.item.SiteID }) {
		results := make([]wire.Fetched, len(same))
		for i, out := range same {
			results[i] = out.result
		}
		if err := r.keep(ctx, same[0].item.SiteID, results); err != nil {
			return err
		}
	}
	return nil
}

// keep passes results of one site to the repository. A batch that may not write rows keeps
// only the files, for the client that waits (docs/spec/crawling.md 1.4).
func (r *batchRun) keep(ctx context.Context, id string, results []wire.Fetched) error {
	if r.batch.DBMode == 0 {
		return nil
	}
	if r.writes() {
		return r.saveSite(ctx, id, results)
	}
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
	if err := put(ctx, id, files, r.Now()); err != nil && !gone(err) {
		return fmt.Errorf("save results of site %s: %w", id, err)
	}
	return nil
}

// addAttributes sets attributes in the URL of a real-time answer, because nothing is stored.
// An empty value removes an attribute.
func addAttributes(u *wire.URL, values map[string]string, now wire.Date) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		u.Attributes = slices.DeleteFunc(slices.Clone(u.Attributes), func(a wire.Attribute) bool { return a.Name == name })
		if value := values[name]; value != "" {
			u.Attributes = append(u.Attributes, wire.Attribute{SiteID: u.SiteID, Name: name, URLMd5: u.URLMd5, Value: value, CDate: now})
		}
	}
}

// saveSite stores results of one site.
func (r *batchRun) saveSite(ctx context.Context, id string, results []wire.Fetched) error {
	saved, err := r.Data.SaveCrawl(ctx, id, r.batch.ID, results)
	for _, reason := range saved.Refused {
		r.log.Warn("left out invalid property", "site", id, "reason", reason)
	}
	if saved.Skipped > 0 || saved.Removed > 0 {
		r.log.Info("site is full", "site", id, "skipped", saved.Skipped, "removed", saved.Removed)
	}
	if gone(err) {
		r.log.Warn("site was deleted; dropped its results", "site", id, "items", len(results))
		r.goneSites.Store(id, true) // its hosts get no more requests
		return nil
	}
	if err != nil {
		return fmt.Errorf("save results of site %s: %w", id, err)
	}
	return nil
}

// saveStates saves the state that batches share apart from rows: cookies and header counters.
// A kill may lose the last few seconds; that is harmless, and so is an error.
func (r *batchRun) saveStates(ctx context.Context) {
	if err := errors.Join(r.jars.Save(ctx), r.Rotator.Save(ctx)); err != nil {
		r.log.Warn("cannot save cookies or header counters", "error", err)
	}
}
