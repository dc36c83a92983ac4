// Package executor runs tasks and tracks them: run, submit, status, watch, result, cancel,
// delete, nodes.
//
// [Executor] is the interface; [Local] implements it on one machine with a pool of warm
// processes. A task is a pipeline of programs. Each program reads one line of JSON and answers
// with one line, which is the input of the next program. This package does not interpret the
// JSON. Package task is the loop inside the programs.
//
//	pool, err := executor.OpenLocal(executor.LocalConfig{Dir: "/var/lib/dc/env", DefaultSlots: 4})
//	...
//	defer pool.Close(ctx)
//	err = pool.Submit(ctx, executor.Task{
//		ID: "4f2a90c1", Type: "crawl", TimeLimit: 5 * time.Minute, Stdin: batch,
//		Stages: []executor.Stage{{Program: "crawler-task", Args: []string{"--config", "crawler-task.ini"}}},
//	})
//
// A task runs at least once: a program must tolerate a second run of its input.
// Source: docs/spec/daemon.md 5.3.
package executor
