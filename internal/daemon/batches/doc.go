// Package batches is the work of the cluster in batches: BatchTasksManager
// selects URLs that are due, has them crawled and sees to their end, and clears
// away what is old; BatchTasksManagerProcess does the same for processing (docs/spec/daemon.md
// 2).
//
// Both are a loop over queues of tasks in the execution environment:
//
//	timer or hint -> select -> submit -> watch -> result -> URL_RETURN -> delete
//
// A free slot is filled again as soon as a batch brought work; the periods of
// the configuration pace an idle daemon only (docs/spec/DECISIONS.md 6.6).
//
// What a batch did is known from the stored rows, not from its answer: at its
// end, whatever the end was, URL_RETURN sends the rows that it still holds back
// to where they can be selected again. So every URL leaves a batch once, in one
// state, and a lost answer loses nothing. What fails of an end is tried again
// until it is done; a batch whose rows cannot be returned keeps its slot, and
// after a task that would fail again nothing starts for a while.
//
// With several nodes the one that runs the task crawls; the others hold copies
// of its rows meanwhile, and learn of those it crawled before the rest goes back
// (docs/spec/DECISIONS.md 3.3).
//
// Six schedules begin work, each by its own timer, mode and limits (docs/spec/daemon.md 2.2):
//
//	crawl        URLs that are due; with a draw of the fetch type, when one is set
//	incremental  crawled pages that have had time to change; one batch at a time,
//	             beside the slots of crawling
//	return       rows that no living batch holds and nobody touched for long
//	aging        db-task deletes old pages with delay, on the nodes in turn
//	purging      db-task clears away what was deleted with delay, on any node
//	process      pages that are crawled and not processed; the other manager's
//
// Each type of task has a queue of its own on the manager's loop; those of aging
// and purging (sweep) hold no rows, so that their end is counted and no more.
//
// The queue is durable because the environment is: after a restart the managers
// learn the tasks that are known, take up those that live, end the others, and
// return the rows of every batch that is not among them.
//
// Neighbours: manager below runs the loop; sites serves the operations on URLs;
// env runs the programs.
package batches
