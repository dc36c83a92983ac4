package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/process/remote"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
)

// Repository is the part of storage.Repository that the job needs. A failed call has
// stored nothing and ends the batch. An error with wire.CodeNotFound means that the site
// was deleted, and ends only the items of that site. Several goroutines call it.
type Repository interface {
	// Site reads a site with its properties. It returns nil for an unknown site.
	Site(ctx context.Context, id string) (*wire.Site, error)
	// Take selects rows for a batch and marks them as MarkProcessing does.
	Take(ctx context.Context, selection []wire.URLFetchRequest, batch int64) ([]wire.URL, error)
	// Suspend suspends a site that exceeds a limit (docs/spec/steps.md 2 #5). It adds bits and
	// the number of refused items to the errors of the site.
	Suspend(ctx context.Context, id string, bits errormask.Mask, items int) error
	// MarkProcessing marks rows Processing for batch. It returns the rows as they were
	// before, by key, without those that another batch holds.
	MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error)
	// Condition evaluates an SQL expression over a row. The error of the verdict says why the
	// expression is refused.
	Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error)
	// RawContent reads the newest raw content of a type, such as wire.ContentRaw. It returns nil
	// without one. A critical error of package task is a fault of the machine and ends the
	// batch. Any other error concerns this item only.
	RawContent(ctx context.Context, site, md5 string, kind int) ([]byte, error)
	// FindRaw finds the raw contents of URLs of a site at once. It returns the keys in the order in
	// which the contents are stored, and a function that reads them as RawContent does.
	FindRaw(ctx context.Context, site string, md5s []string) (ordered []string, read wire.ReadRaw, err error)
	// SaveProcess stores results: contents first, then rows and counters.
	SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error
}

// Scratch gives access to the raw files of a real-time batch, and to stored contents of
// URLs that the batch did not fetch. storage.Scratch implements it.
type Scratch interface {
	// RawContent reads the newest raw content of a URL that the batch fetched.
	RawContent(ctx context.Context, folder, site, md5 string, kind int) ([]byte, error)
	// AddFiles adds the raw files that mask selects to answer, from the folder of the batch,
	// or from the node if folder is "".
	AddFiles(ctx context.Context, folder, site, md5 string, mask int64, answer *wire.URLContentResponse) error
	// Stored reads the stored processed content. It returns false if there is no content.
	Stored(ctx context.Context, site, md5 string) (wire.Entry, bool, error)
	// Processed returns the parts of a processed content that mask selects. An error says that it is damaged.
	Processed(e wire.Entry, mask int64) ([]any, error)
	// Remove removes the folder of a batch; RemoveOthers removes the folders of other runs.
	Remove(folder string) error
	RemoveOthers(run string) error
}

// Config holds the settings of processor-task.ini.
type Config struct {
	ChunkItems       int           // most results in one transaction
	MaxExecutionTime time.Duration // of a batch without a limit; 0: no limit
	MaxContentSize   int64         // bytes; the rest of a longer page is ignored; 0: no limit
}

// Job processes batches one after the other. Create it with all fields except Scratch and
// Remote. Without Remote, sources of templates and links give their error bits.
type Job struct {
	Repository Repository
	Workers    *Workers // extract the pages; not nil
	Remote     *remote.Reader
	Scratch    Scratch // for real-time batches; nil: their raw files are in Repository
	Config     Config
	Now        func() time.Time
	Log        *slog.Logger
}

// item is one URL of the batch on its way through the stages.
type item struct {
	wire.BatchItem
	row      wire.URL
	taken    bool // the row is marked Processing
	settings *settings
	read     wire.ReadRaw // of the raw contents; nil: RawContent of the Repository
	late     bool         // handed back, because it was not started in time
	result   wire.Extracted
	copies   []wire.File // raw contents for the rows of extra
	extra    []*item     // further items that the page gives
	parts    []*item     // pages in which this page continues

	answers   []remote.TemplateAnswer  // of TEMPLATE_SOURCE
	templates []scraper.SourceTemplate // those of answers

	live *live // nil: not a real-time batch
}

// leastTime is the minimum time for the last stage of a real-time batch, so that pages
// fetched at the last moment are not lost.
const leastTime = 2 * time.Second

// Run processes a Batch and returns it with the new state of its items
// (docs/spec/processing.md 1.1). A batch that refills itself also processes rows that it
// selects, which are not in the answer. Items of a real-time batch have their processed
// contents as urlPutObj. If ctx ends, Run stores the extracted results and
// hands the other items back. An error of the Repository is critical; URL_RETURN recovers
// the rows that were not stored.
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &lenient.Notes{}
	batch, err := wire.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("unknown keys ignored", "keys", notes.Unknown)
	}
	work, err := j.processBatch(ctx, &batch, log)
	for i, it := range work {
		if it.live != nil && it.live.content.Data != nil {
			batch.Items[i].Put = it.live.urlPutObject(it)
		}
	}
	return batch, err
}

// processBatch runs the stages within the time limit of the batch. It sets batch.Items and
// returns their items in the same order.
func (j *Job) processBatch(ctx context.Context, batch *wire.Batch, log *slog.Logger) ([]*item, error) {
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
	r := newRun(j, batch, start, deadline, log)
	work, err := r.runBatch(ctx)
	if err != nil {
		return nil, task.Critical(fmt.Errorf("process batch %d: %w", batch.ID, err))
	}
	if n := int64(len(work)) + batch.Refilled; n > 0 { // an idle daemon sends empty batches
		log.Info("batch processed", "items", n, "ms", j.Now().Sub(start).Milliseconds())
	}
	batch.Items = []wire.BatchItem{}
	kept := work[:0]
	for _, it := range work {
		if it.late && batch.RemoveUnprocessed {
			continue
		}
		it.URL = it.row
		batch.Items, kept = append(batch.Items, it.BatchItem), append(kept, it)
	}
	for _, it := range kept {
		for _, more := range it.extra {
			more.URL = more.row
			batch.Items, kept = append(batch.Items, more.BatchItem), append(kept, more)
		}
	}
	return kept, nil
}
