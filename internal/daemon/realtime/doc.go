// Package realtime is BatchTasksManagerRealTime: the manager that clients reach
// with BATCH. It has a batch crawled and processed at once and answers with the
// contents of its URLs; nothing is stored (docs/spec/daemon.md 2.13, docs/spec/crawling.md 6.3).
//
//	m := realtime.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint}, realtime.Config{
//		Executor:     pool,
//		Crawler: executor.Stage{Program: "crawler-task"},
//		Finalizer: executor.Stage{Program: "processor-task", Args: []string{"--finalize"}},
//	})
//	err := m.Run(ctx)
//
// A batch is a worker, MaxThreads of them; who comes then is refused as overloaded.
// The worker divides the items among the nodes that are there, each item to exactly
// one, and runs both stages on each of them. Items whose result is poor go round once
// more, if their site leaves the way of fetching open and there is time. Items of a
// node that fails come back with an error; none is lost.
//
// Raw files live in a folder of the batch and the node, whose name begins with that
// of the manager's run. The last stage removes it; after a batch that was killed the
// worker has it removed; and what a killed daemon left goes when the next one starts.
//
// Neighbours: manager, env and finalize below; clients sends it the requests.
package realtime
