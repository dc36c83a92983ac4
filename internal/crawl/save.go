package crawl

import (
	"context"
	"fmt"
	"time"

	"hce/dc/internal/dc"
)

// maxChunkBytes bounds the file bytes that wait for one transaction.
const maxChunkBytes = 16 << 20

// save collects outcomes and stores them in chunks, one call of the data owner
// per site and chunk. After an error it stores nothing more, ends the batch and
// drains the stage. ctx must outlive the batch's: what is done is stored even
// when the task is told to stop.
func (r *batchRun) save(ctx context.Context) {
	var (
		chunk  []*outcome
		bytes  int
		failed bool
	)
	flush := func() {
		if !failed && len(chunk) > 0 {
			if err := r.store(ctx, chunk); err != nil {
				failed = true
				r.fail(err)
			}
		}
		clear(chunk) // lets go of the files
		chunk, bytes = chunk[:0], 0
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case out, open := <-r.saves:
			if !open {
				flush()
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
	if !r.writes() {
		return nil
	}
	bySite := map[string][]dc.Fetched{}
	var order []string
	for _, out := range chunk {
		id := out.item.SiteID
		if bySite[id] == nil {
			order = append(order, id)
		}
		bySite[id] = append(bySite[id], out.result)
	}
	for _, id := range order {
		if err := r.saveSite(ctx, id, bySite[id]); err != nil {
			return err
		}
	}
	return nil
}

// saveSite hands results of one site to the data owner.
func (r *batchRun) saveSite(ctx context.Context, id string, results []dc.Fetched) error {
	saved, err := r.Data.SaveCrawl(ctx, id, r.batch.ID, results)
	if gone(err) {
		r.log.Warn("the site is gone; its results are dropped", "site", id, "items", len(results))
		r.goneSites.Store(id, true) // its hosts are asked no more
		return nil
	}
	if err != nil {
		return fmt.Errorf("crawl.save: site %s: %w", id, err)
	}
	for _, refused := range saved.Refused {
		r.log.Warn("a property of the site is not followed", "site", id, "error", refused)
	}
	return nil
}
