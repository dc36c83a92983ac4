// Package crawl is the job of crawler-task: it takes a Batch, fetches its URLs
// and hands what came back to the data owner (docs/spec/steps.md 1).
//
// One batch goes through four stages, each of one shape: items in, items out. What
// pages bring may go through them again, in further passes. docs/architecture.md describes them.
//
//	plan     per site: state, limits, properties, filters; rows marked Crawling
//	fetch    per host in turn, hosts side by side: robots.txt, gate, request
//	page     response to row, files and outlinks
//	save     chunks to the data owner: files first, then one transaction
//
// Every item leaves by exactly one of: saved with its outcome, or handed back as
// New because the time was over or the task was told to stop. A page that breaks
// a parser fails alone. What the data owner cannot store ends the task (exit 1),
// and the batch is a fault.
//
// A host's turn and a slot are two things. Each host of the batch waits for its
// own gate, as long as its delay asks; only then does it need one of the slots
// (Config.MaxHosts), which bound the requests under way and with them the memory.
// So hosts that wait never keep others from being asked.
//
//	job := &crawl.Job{Data: owner, Fetch: client, Gates: gates, Config: cfg, Now: time.Now, Log: log}
//	answer, err := job.Run(ctx, batchJSON) // a wire.Batch
//
// Neighbours: fetch makes requests behind the egress guard, hostgate keeps hosts
// apart across processes, robots and filter judge, extract reads pages. The
// stored data is behind the Data interface, which cmd fills.
package crawl
