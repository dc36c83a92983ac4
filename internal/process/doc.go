// Package process is the job of processor-task: it extracts texts and tags from the raw
// contents of a batch.
//
//	job := process.Job{Repository: repo, Now: time.Now, Log: log, Config: process.Config{ChunkItems: 64}}
//	answer, err := job.Run(ctx, batchJSON) // the batch with the new state of its items
//
// An item passes these stages:
//
//	select   a batch that refills itself selects rows, until its time is over or nothing is left
//	plan     load the site; check state, limits and content types; mark the row Processing
//	extract  convert the raw content to tags, on all processors in parallel
//	save     store the results in chunks: contents first, then rows in one transaction
//
// The stages work side by side, with bounded queues between them.
//
// Each item ends in exactly one state: Processed; refused, which is Crawled with an error
// bit; or handed back as Crawled, because the time limit or a stop came first.
//
// [Finalizer] adds the last stage of a real-time batch: it answers with the contents
// instead of storing them. Package article extracts the text of a page. All stored data
// is behind [Repository]. What may not live here: requests to the web, SQL, managers. Source: docs/spec/steps.md 2, docs/spec/processing.md 1.
package process
