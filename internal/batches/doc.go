// Package batches is the work of the cluster in batches: BatchTasksManager
// selects URLs that are due, has them crawled and sees to their end;
// BatchTasksManagerProcess does the same for processing (daemon 2).
//
// Both are a loop over a queue of tasks in the execution environment:
//
//	timer or hint -> select -> submit -> watch -> result -> URL_RETURN -> delete
//
// A free slot is filled again as soon as a batch brought work; the periods of
// the configuration pace an idle daemon only (DECISIONS 6.6).
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
// (DECISIONS 3.3).
//
// The queue is durable because the environment is: after a restart the managers
// learn the tasks that are known, take up those that live, end the others, and
// return the rows of every batch that is not among them.
//
// Neighbours: manager below runs the loop; sites serves the operations on URLs;
// env runs the programs.
package batches
