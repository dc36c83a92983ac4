// Package realtime is BatchTasksManagerRealTime, which serves the operation BATCH. It crawls and
// processes a batch at once and answers with the contents of its URLs; nothing is stored
// (docs/spec/daemon.md 2.13, docs/spec/crawling.md 6.3).
//
//	m := realtime.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint}, realtime.Config{
//		Executor:  pool,
//		Crawler:   executor.Stage{Program: "crawler-task"},
//		Finalizer: executor.Stage{Program: "processor-task", Args: []string{"--finalize"}},
//	})
//	err := m.Run(ctx)
//
// Each batch has a worker. If MaxThreads of them run, a batch is refused as overloaded. The
// worker divides the items among the ready nodes and runs both stages on each of them. Items
// with a poor result run once more, if their site allows another fetch type and there is time.
// Items of a failed node are answered with an error.
//
// Raw files are in a folder per batch and node, named after this run of the manager. The last
// stage removes the folder. After a killed batch the worker requests the removal; after a killed
// daemon the next start does.
package realtime
