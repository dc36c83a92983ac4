// Package simulation runs the managers through a week of simulated time, in minutes, and
// compares the results with an independent model.
//
// It has only tests. The managers, the operators' interface, the stores (SQLite), the three jobs
// and the HTTP fetches are real. The clock is fake: it stands still while work runs, and then
// jumps to the next time of a schedule in STAT. The executor runs the jobs as functions, because
// a program would use the real clock.
package simulation
