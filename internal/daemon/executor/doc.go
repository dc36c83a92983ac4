// Package executor runs programs somewhere and keeps track of them: run, submit,
// status, watch, result, cancel, delete, nodes.
//
// Environment is the interface; Local is its implementation on one machine, a
// pool that keeps task processes warm. A task is a pipeline of programs: one
// JSON value goes in as a line, each program answers with one line, which is
// the input of the next. What the JSON says is no business of this package;
// task is the loop on the other end, and the managers of batches and sites are
// the callers.
//
//	pool, err := executor.OpenLocal(executor.LocalConfig{Dir: "/var/lib/dc/env", DefaultSlots: 4})
//	...
//	defer pool.Close(ctx)
//	err = pool.Submit(ctx, executor.Task{
//		ID: "4f2a90c1", Type: "crawl", TimeLimit: 5 * time.Minute, Stdin: batch,
//		Stages: []executor.Stage{{Program: "crawler-task", Args: []string{"--config", "crawler-task.ini"}}},
//	})
//
// Tasks run at least once: a program must bear a second run of its input.
// Source: docs/spec/daemon.md 5.3.
package executor
