package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/realtimeresponse"
)

// Data is what the processor needs of the data owner. Errors mean that nothing
// of the call was stored, and end the batch; but one with wire.CodeNotFound says
// that the site was deleted meanwhile, which ends only its items. It is used by
// several goroutines.
type Data interface {
	// Site reads a site with its properties; nil when it is unknown.
	Site(ctx context.Context, id string) (*wire.Site, error)
	// Suspend stops a site that passed a limit (docs/spec/steps.md 2 #5).
	Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error
	// MarkProcessing takes rows into work and gives them; a key that is not in
	// the answer could not be taken.
	MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error)
	// RawContent reads the newest raw content; nil when there is none. Its error
	// is that of one item.
	RawContent(ctx context.Context, site, md5 string) ([]byte, error)
	// SaveProcess stores outcomes: contents, then rows and counters.
	SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error
}

// Scratch is what the last stage of a batch in real time needs beside Data: the
// raw files of the batch, in its folder, and what the node has of a URL that the
// batch did not fetch; see storage.Scratch.
type Scratch interface {
	// RawContent reads the raw content of a URL that the batch fetched.
	RawContent(ctx context.Context, folder, site, md5 string) ([]byte, error)
	// AddFiles adds raw files to an answer; those of the node when folder is "".
	AddFiles(ctx context.Context, folder, site, md5 string, mask int64, answer *wire.URLContentResponse) error
	// Stored reads the processed content that the node has.
	Stored(ctx context.Context, site, md5 string) (wire.Entry, bool, error)
	// Processed gives what mask asks for of a processed content.
	Processed(e wire.Entry, mask int64) []any
	// Remove removes the folder of a batch; RemoveOthers those of other runs.
	Remove(folder string) error
	RemoveOthers(run string) error
}

// Config is what processor-task.ini says.
type Config struct {
	ChunkItems       int           // results in one transaction
	MaxExecutionTime time.Duration // of a batch that names none; 0: no limit
	MaxContentSize   int64         // bytes of a page that are extracted
}

// Job processes batches, one after the other.
type Job struct {
	Data    Data
	Scratch Scratch // of batches in real time; nil: their files are those of the node
	Config  Config
	Now     func() time.Time
	Log     *slog.Logger
}

// item is one URL of the batch on its way through the stages.
type item struct {
	wire.BatchItem
	row    wire.URL
	taken  bool // its row is taken; it is to be processed
	late   bool // not started: handed back
	result wire.Extracted

	live *live // of a batch in real time
}

// leastTime is what the last stage of a batch in real time has in any case: what was
// fetched at the last moment is not lost.
const leastTime = 2 * time.Second

// maxChunkBytes bounds the contents that wait for one transaction.
const maxChunkBytes = 16 << 20

// Run processes the Batch on stdin and answers with it, its items as they are
// now (docs/spec/processing.md 1.1). When ctx ends, what was extracted is stored and the rest
// is handed back. The error is critical when the data owner fails; what was not
// stored by then is left to URL_RETURN.
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &wire.Notes{}
	batch, err := wire.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("unknown keys ignored", "keys", notes.Unknown)
	}
	_, err = j.process(ctx, &batch, log)
	return batch, err
}

// process processes a batch and puts the items of the answer into it. It gives them
// with what is known of them beside, in the same order.
func (j *Job) process(ctx context.Context, batch *wire.Batch, log *slog.Logger) ([]*item, error) {
	start := j.Now()
	limit := time.Duration(batch.MaxExecutionTime) * time.Second
	if limit == 0 {
		limit = j.Config.MaxExecutionTime
	}
	var deadline time.Time
	if limit > 0 {
		deadline = start.Add(limit)
		if batch.Folder != "" { // the stages share the time
			left := limit + realtimeresponse.Reserve(limit) - time.Duration(batch.Spent)*time.Millisecond
			deadline = start.Add(max(left, leastTime))
		}
	}
	work, err := j.run(ctx, batch, deadline, log)
	if err != nil {
		return nil, task.Critical(fmt.Errorf("process.Run: batch %d: %w", batch.ID, err))
	}
	if len(batch.Items) > 0 { // an idle daemon asks every other second
		log.Info("batch processed", "items", len(batch.Items), "ms", j.Now().Sub(start).Milliseconds())
	}
	return work, nil
}

// run drives the stages and puts the items of the answer into batch, in order.
func (j *Job) run(ctx context.Context, batch *wire.Batch, deadline time.Time, log *slog.Logger) ([]*item, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Rows that are selected have to be taken before they can be handed back, and
	// what is done is stored, so both go on when the task is told to stop.
	storing := context.WithoutCancel(ctx)
	work, err := j.plan(storing, batch, log)
	if err != nil {
		return nil, err
	}
	over := func() bool {
		return ctx.Err() != nil || (!deadline.IsZero() && !j.Now().Before(deadline))
	}
	var (
		queue   = make(chan *item)
		ready   = make(chan *item, runtime.GOMAXPROCS(0))
		reading sync.WaitGroup
		saving  sync.WaitGroup
		saveErr error
	)
	saving.Go(func() {
		saveErr = j.save(storing, batch, ready, log, cancel)
	})
	for range runtime.GOMAXPROCS(0) {
		reading.Go(func() {
			for it := range queue {
				switch {
				case !it.taken:
				case over():
					it.handBack(wire.DateOf(j.Now()))
				default:
					j.extract(storing, it, log)
				}
				ready <- it
			}
		})
	}
	for _, it := range work {
		queue <- it
	}
	close(queue)
	reading.Wait()
	close(ready)
	saving.Wait()
	if saveErr != nil {
		return nil, saveErr
	}
	left, kept := []wire.BatchItem{}, work[:0]
	for _, it := range work {
		batch.ErrorMask |= it.row.ErrorMask
		if it.late && batch.RemoveUnprocessed {
			continue
		}
		it.URL = it.row
		left, kept = append(left, it.BatchItem), append(kept, it)
	}
	batch.Items = left
	return kept, nil
}

// save stores results in chunks, one call of the data owner per site and chunk.
// After an error, which it returns, it calls off the rest, stores nothing more
// and drains the stage.
func (j *Job) save(ctx context.Context, batch *wire.Batch, ready <-chan *item, log *slog.Logger, callOff func()) error {
	var failed error
	chunk := map[string][]wire.Extracted{}
	var order []string
	count, bytes := 0, 0
	flush := func() {
		for _, id := range order {
			if failed != nil || batch.DBMode&wire.DBWrite == 0 {
				break
			}
			err := j.Data.SaveProcess(ctx, id, batch.ID, chunk[id])
			switch {
			case gone(err):
				log.Warn("the site is gone; its results are dropped", "site", id, "items", len(chunk[id]))
			case err != nil:
				failed = fmt.Errorf("process.save: site %s: %w", id, err)
				callOff()
			}
		}
		chunk, order, count, bytes = map[string][]wire.Extracted{}, nil, 0, 0
	}
	for it := range ready {
		if it.result.URLMd5 == "" {
			continue
		}
		if chunk[it.SiteID] == nil {
			order = append(order, it.SiteID)
		}
		chunk[it.SiteID] = append(chunk[it.SiteID], it.result)
		count++
		bytes += len(it.result.Content)
		it.result = wire.Extracted{} // the chunk has it now
		if count >= j.Config.ChunkItems || bytes >= maxChunkBytes {
			flush()
		}
	}
	flush()
	return failed
}
