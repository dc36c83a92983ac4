package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/wire"
)

const (
	// maxChunkBytes bounds the bytes of files and links that wait for one
	// transaction. Large pages do not wait: others wait for their memory.
	maxChunkBytes = 4 << 20
	// statesEvery is how often cookies and header counts are written down.
	statesEvery = 5 * time.Second
)

// save collects outcomes and stores them in chunks, one call of the data owner
// per site and chunk. After an error it stores nothing more, ends the batch and
// drains the stage. ctx must outlive the batch's: what is done is stored even
// when the task is told to stop.
func (r *batchRun) save(ctx context.Context) {
	var (
		chunk  []*outcome
		bytes  int
		failed bool
		saved  = r.Now()
	)
	flush := func() {
		if !failed && len(chunk) > 0 {
			if err := r.store(ctx, chunk); err != nil {
				failed = true
				r.fail(err)
			}
		}
		for _, out := range chunk {
			out.item.letGo()
		}
		clear(chunk) // lets go of the files
		chunk, bytes = chunk[:0], 0
		if now := r.Now(); now.Sub(saved) > statesEvery {
			saved = now
			r.saveStates(ctx)
		}
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case out, open := <-r.saves:
			if !open {
				flush()
				r.saveStates(ctx)
				return
			}
			if len(chunk) == 0 {
				timer.Reset(r.Config.ChunkTime)
			}
			chunk = append(chunk, out)
			bytes += out.bytes
			if len(chunk) >= r.Config.ChunkItems || bytes >= maxChunkBytes {
				flush()
			}
		case <-timer.C:
			flush()
		}
	}
}

// store hands a chunk to the data owner, site by site, in order of arrival.
func (r *batchRun) store(ctx context.Context, chunk []*outcome) error {
	bySite := map[string][]wire.Fetched{}
	var order []string
	for _, out := range chunk {
		id := out.item.SiteID
		if bySite[id] == nil {
			order = append(order, id)
		}
		bySite[id] = append(bySite[id], out.result)
	}
	for _, id := range order {
		if err := r.keep(ctx, id, bySite[id]); err != nil {
			return err
		}
	}
	return nil
}

// keep hands results of one site to the data owner. Of a batch that may not write
// rows only the files are kept: who waits for it reads them (docs/spec/crawling.md 1.4).
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
		return fmt.Errorf("crawl.save: site %s: %w", id, err)
	}
	return nil
}

// addAttributes gives a URL of a batch in real time what would be stored as its
// attributes; an empty value takes one away.
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
		r.log.Warn("a property is left out", "site", id, "reason", reason)
	}
	if saved.Skipped > 0 || saved.Removed > 0 {
		r.log.Info("the site is full", "site", id, "skipped", saved.Skipped, "removed", saved.Removed)
	}
	if gone(err) {
		r.log.Warn("the site is gone; its results are dropped", "site", id, "items", len(results))
		r.goneSites.Store(id, true) // its hosts are asked no more
		return nil
	}
	if err != nil {
		return fmt.Errorf("crawl.save: site %s: %w", id, err)
	}
	return nil
}

// saveStates writes down what batches share beside the rows: cookies, and which
// header values were used. That they are a little behind after a kill does no
// harm, nor does an error.
func (r *batchRun) saveStates(ctx context.Context) {
	if err := errors.Join(r.jars.Save(ctx), r.Rotator.Save(ctx)); err != nil {
		r.log.Warn("cookies or header counts are not saved", "error", err)
	}
}
