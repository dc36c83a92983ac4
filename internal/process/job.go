package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"hce/dc/internal/dc"
	"hce/dc/internal/task"
)

// Data is what the processor needs of the data owner. Errors mean that nothing
// of the call was stored.
type Data interface {
	// Site reads a site with its properties; nil when it is unknown.
	Site(ctx context.Context, id string) (*dc.Site, error)
	// Suspend stops a site that passed a limit (seed, processor step 5).
	Suspend(ctx context.Context, id string, bits dc.ErrorMask, items int) error
	// MarkProcessing takes rows into work and gives them; a key that is not in
	// the answer could not be taken.
	MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]dc.URL, error)
	// RawContent reads the newest raw content; nil when there is none.
	RawContent(ctx context.Context, site, md5 string) ([]byte, error)
	// SaveProcess stores outcomes: contents, then rows and counters.
	SaveProcess(ctx context.Context, site string, batch int64, results []dc.Extracted) error
}

// Config is what processor-task.ini says.
type Config struct {
	ChunkItems       int           // results in one transaction
	MaxExecutionTime time.Duration // of a batch that names none; 0: no limit
	MaxContentSize   int64         // bytes of a page that are extracted
}

// Job processes batches, one after the other.
type Job struct {
	Data   Data
	Config Config
	Now    func() time.Time
	Log    *slog.Logger
}

// item is one URL of the batch on its way through the stages.
type item struct {
	dc.BatchItem
	row    dc.URL
	site   *dc.Site
	taken  bool // its row is marked Processing
	late   bool // not started: handed back
	result dc.Extracted
}

// Run processes the Batch on stdin and answers with it, its items as they are
// now (processing 1.1).
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &dc.Notes{}
	batch, err := dc.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("unknown keys ignored", "keys", notes.Unknown)
	}
	start := j.Now()
	limit := time.Duration(batch.MaxExecutionTime) * time.Second
	if limit == 0 {
		limit = j.Config.MaxExecutionTime
	}
	var deadline time.Time
	if limit > 0 {
		deadline = start.Add(limit)
	}
	if err := j.run(ctx, &batch, deadline, log); err != nil {
		return nil, err
	}
	log.Info("batch processed", "items", len(batch.Items), "ms", j.Now().Sub(start).Milliseconds())
	return batch, nil
}

func (j *Job) run(ctx context.Context, batch *dc.Batch, deadline time.Time, log *slog.Logger) error {
	work, err := j.plan(ctx, batch, log)
	if err != nil {
		return task.Critical(err)
	}
	over := func() bool {
		return ctx.Err() != nil || (!deadline.IsZero() && !j.Now().Before(deadline))
	}
	var (
		queue = make(chan *item)
		ready = make(chan *item, j.Config.ChunkItems)
		group sync.WaitGroup
		save  sync.WaitGroup
	)
	var saveErr error
	save.Go(func() { saveErr = j.save(context.WithoutCancel(ctx), batch, ready) })
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for it := range queue {
				switch {
				case !it.taken:
				case over():
					it.handBack(dc.DateOf(j.Now()))
				default:
					j.extract(ctx, it, log)
				}
				ready <- it
			}
		})
	}
	for _, it := range work {
		queue <- it
	}
	close(queue)
	group.Wait()
	close(ready)
	save.Wait()
	if saveErr != nil {
		return task.Critical(fmt.Errorf("process.Run: batch %d: %w", batch.ID, saveErr))
	}
	left := []dc.BatchItem{}
	for _, it := range work {
		batch.ErrorMask |= it.row.ErrorMask
		if it.late && batch.RemoveUnprocessed {
			continue
		}
		it.URL = it.row
		left = append(left, it.BatchItem)
	}
	batch.Items = left
	return nil
}

// save stores results in chunks, one call of the data owner per site and chunk.
// After an error it stores nothing more and drains the stage.
func (j *Job) save(ctx context.Context, batch *dc.Batch, ready <-chan *item) error {
	var failed error
	chunk := map[string][]dc.Extracted{}
	var order []string
	count := 0
	flush := func() {
		for _, id := range order {
			if failed == nil && batch.DBMode&dc.DBWrite != 0 {
				failed = j.Data.SaveProcess(ctx, id, batch.ID, chunk[id])
			}
		}
		chunk, order, count = map[string][]dc.Extracted{}, nil, 0
	}
	for it := range ready {
		if it.result.URLMd5 == "" {
			continue
		}
		if chunk[it.SiteID] == nil {
			order = append(order, it.SiteID)
		}
		chunk[it.SiteID] = append(chunk[it.SiteID], it.result)
		if count++; count >= j.Config.ChunkItems {
			flush()
		}
	}
	flush()
	return failed
}
