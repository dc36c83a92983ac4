// Package crawl is the job of crawler-task: it takes a Batch, fetches its URLs and stores the
// results in the repository (docs/spec/steps.md 1).
//
// A batch passes four stages, which runPass connects. Links of pages may pass them again, in further passes;
// docs/architecture.md describes them.
//
//	plan     per site: state, limits, properties, filters; rows marked Crawling
//	fetch    per host in turn (frontier/hostqueue), hosts side by side: package visit has robots.txt, gate, request
//	read     package reader: response to row, files and outlinks
//	save     chunks to the repository: files first, then one transaction
//
// An item and its outcome, which the stages pass on, are package item. Package frontier/refill says when a batch takes
// more rows while it fetches.
//
// Every item leaves in exactly one way: saved with its outcome, or handed back as New because
// the time was over or the task was told to stop. A page is stored whole or handed back
// (docs/decisions/0009-page-whole-or-handed-back.md). A page that breaks a parser fails alone.
// If the repository fails, the task ends with exit status 1 and the batch is a fault.
//
// Gates and slots are separate. Each host of the batch waits for its own gate, as long as its
// delay asks; only then it needs one of the slots (Config.MaxHosts, MaxSlowHosts), which bound the
// running requests and their memory. So neither waiting nor slow hosts delay others.
//
// The state of a batch has four parts, each of which embeds the one before it:
//
//	visit.Environment    the batch, its time, slots and memory of bodies; visits and the reader of pages have it alone
//	resultStore          stores results of sites
//	planner              sites, settings and marked rows of items
//	batchRun             passes, selections and the answer
//
//	job := &crawl.Job{Data: repository, Fetch: client, Gates: gates, Config: cfg, Now: time.Now, Log: log}
//	answer, err := job.Run(ctx, batchJSON) // a wire.Batch
//
// The packages below this one serve the crawler alone. What may not live here: SQL and
// files of contents (package storage has them, behind the interface Data), managers and
// sockets, and rules about pages without I/O, which belong to web.
package crawl
