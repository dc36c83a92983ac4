// Package simulation runs the managers of the daemon through a week of simulated time, in
// minutes, and compares what happens with a model that knows nothing of them.
//
// It has tests alone. Real are the managers on inproc sockets, the operator's door,
// the stores on SQLite, the three jobs, and the pages that are fetched by HTTP. Only
// the clock is not: it stands still while anything is done and then jumps to the next
// time that a schedule names in STAT. The environment runs the jobs as functions
// instead of programs, since a program would look at the real clock.
//
// Neighbours: batches, sites and admin are what is looked at; crawl, process and
// storage do the work; e2e has the same parts as processes.
package simulation
