// processor-task processes batches of crawled URLs: a Batch on stdin, the Batch
// with its items as they are now on stdout, contents in the stores of the data
// node.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/dbtask"
	"hce/dc/internal/process"
	"hce/dc/internal/task"
	"hce/dc/internal/taskmain"
)

const notes = `stdin holds Batch objects, one after the other, as crawler-task answers them; each
is answered with one line on stdout.

Exit status: 0 every answer can be trusted, 1 a critical failure: ini file,
unreadable input, database, disk.`

func main() {
	os.Exit(taskmain.Run(taskmain.Program{
		Name: "processor-task", Summary: "extracts the contents of crawled URLs", Notes: notes, Open: open, Batches: true,
	}))
}

func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags taskmain.Flags) (task.Job, func(), error) {
	s := f.Section("ProcessorTask")
	cfg := process.Config{
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		MaxContentSize:   s.Int("max_content_size", 16<<20, 1<<10, 1<<30),
	}
	if flags.MaxTime > 0 {
		cfg.MaxExecutionTime = flags.MaxTime
	}
	stores, err := taskmain.DBTaskFile(f, s)
	if err != nil {
		return nil, nil, err
	}
	data := dbtask.ReadConfig(stores, app.DataDir)
	if err := taskmain.Checked(f, log); err != nil {
		return nil, nil, err
	}
	if err := stores.Err(); err != nil {
		return nil, nil, err
	}
	owner, closeAll, err := dbtask.Open(ctx, data, log)
	if err != nil {
		return nil, nil, err
	}
	return &process.Job{Data: owner, Config: cfg, Now: time.Now, Log: log}, closeAll, nil
}
