// Package batches runs the work of the cluster in batches. BatchTasksManager ([Crawl]) looks
// for due URLs, submits crawl tasks and handles their end; it also ages and purges old data.
// BatchTasksManagerProcess ([Process]) does the same for processing (docs/spec/daemon.md 2).
//
//	timer or hint -> look -> submit -> watch -> result -> URL_RETURN -> delete
//
// A batch is submitted without rows: its task takes them (package frontier). A free slot is filled again as
// soon as a look finds work; the configured periods only pace an idle daemon (docs/spec/DECISIONS.md 6.6).
//
// The stored rows, not the answer of a task, say what a batch did. At every end URL_RETURN
// returns the rows that the batch still holds, so that they can be selected again. So every URL
// leaves a batch once, in one state, and a lost answer loses nothing. A failed step of the end
// is retried until it succeeds. A batch whose rows cannot be returned keeps its slot. After a
// fault of the machine nothing starts for a while. A batch whose program died is halved until the
// failing item is isolated (suspects.go).
//
// With several nodes behind one daemon, the manager selects the rows, one node crawls and the others hold copies of
// them. They learn which rows were crawled before the rest is returned (nodes.go).
//
// Six schedules start work, each with its own timer, mode and limits (docs/spec/daemon.md 2.2):
//
//	crawl        due URLs; if configured, of a random fetch type
//	incremental  crawled pages that had time to change; one batch at a time, without a slot
//	return       rows that no active batch holds and that did not change for long
//	aging        db-task deletes old pages with delay, on the nodes in turn
//	purging      db-task removes what was deleted with delay, on a random node
//	process      pages that are crawled and not processed; of the other manager
//
// Each type of task has its own queue on the manager's loop. Tasks of aging and purging (sweep)
// hold no rows, so their end is only counted.
//
// The queue is as durable as the executor. After a restart the managers list the known tasks,
// continue with running tasks, end the others, and return the rows of all other batches.
package batches
