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
// drains the stage.
func (r *batchRun) save(ctx context.Context) error {
	var (
		chunk  []*outcome
		bytes  int
		failed error
	)
	// What is done is stored even when the task is told to stop.
	storing := context.WithoutCancel(ctx)
	flush := func() {
		if failed == nil && len(chunk) > 0 {
			if failed = r.store(storing, chunk); failed != nil {
				r.fail(failed)
			}
		}
		chunk, bytes = chunk[:0], 0
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case out, open := <-r.saves:
			if !open {
				flush()
				return failed
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

// store hands a chunk to the data owner, site by site, in order of arrival. A
// link met before in this batch is not offered again.
func (r *batchRun) store(ctx context.Context, chunk []*outcome) error {
	if r.batch.DBMode&dc.DBWrite == 0 {
		return nil
	}
	bySite := map[string][]dc.Fetched{}
	var order []string
	for _, out := range chunk {
		id := out.item.SiteID
		if bySite[id] == nil {
			order = append(order, id)
		}
		if site := r.sites[id]; site != nil {
			out.result.NewURLs = site.unseen(out.result.NewURLs)
		}
		bySite[id] = append(bySite[id], out.result)
	}
	for _, id := range order {
		if err := r.Data.SaveCrawl(ctx, id, r.batch.ID, bySite[id]); err != nil {
			return fmt.Errorf("crawl.save: site %s: %w", id, err)
		}
	}
	return nil
}

// unseen drops the URLs that this batch has offered already. The save stage
// alone calls it.
func (s *siteWork) unseen(urls []dc.URL) []dc.URL {
	kept := urls[:0]
	for _, u := range urls {
		if _, ok := s.seen[u.URLMd5]; ok {
			continue
		}
		s.seen[u.URLMd5] = struct{}{}
		kept = append(kept, u)
	}
	return kept
}
