// processor-task processes batches of crawled URLs: it reads Batch objects from stdin,
// writes one answer line for each to stdout, and stores contents in the storage of the
// data node.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

var text = command.Text{
	Name: "processor-task", Summary: "extracts the contents of crawled URLs",
	Description: `Reads Batch objects from stdin, one after the other, as crawler-task prints them, and
answers each with one line on stdout.

With --finalize the batches are real-time batches (crawlerType 4). Nothing is stored, and
the raw files of the batch are removed. The answer is an object with these members:
  contents  the answer to the client of BATCH, one element for each item
  grades    how good each content is
  again     a batch of the items that a browser may crawl better`,
	Examples: "  crawler-task < batch.json | processor-task",
	ExitStatus: `0 every answer can be trusted; 1 critical failure: ini file, unreadable input, database,
disk; 3 critical failure that the batch may have caused.`,
}

func main() {
	process.RunIfWorker()
	var m mode
	os.Exit(taskprogram.Run(taskprogram.Program{
		Text: text, Open: m.open, Batches: true, Machine: storage.Machine,
		Options: func(c *command.Command) {
			c.Flag(&m.finalize, "finalize", "", "process real-time batches: print their contents, store nothing")
		},
	}))
}

// mode is the options of the program.
type mode struct{ finalize bool }

func (m *mode) open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	s := f.Section("ProcessorTask")
	cfg := process.Config{
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		MaxContentSize:   s.Int("max_content_size", 16<<20, 1<<10, 1<<30),
	}
	itemTime := s.Duration("max_item_time", time.Millisecond, 5*time.Second, time.Millisecond, time.Hour)
	workers := &process.Workers{Budget: process.Budget{
		Time: itemTime, Clock: 10 * itemTime, Memory: s.Int("max_item_memory", 512<<20, 128<<20, 1<<40),
	}}
	if maxTime > 0 {
		cfg.MaxExecutionTime = maxTime
	}
	dbTask, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return nil, nil, err
	}
	data := storage.ReadConfig(dbTask, app.DataDir)
	if err := taskprogram.Checked(f, log, dbTask); err != nil {
		return nil, nil, err
	}
	repo, closeStores, err := storage.Open(ctx, data, log)
	if err != nil {
		return nil, nil, err
	}
	closeAll := func() { workers.Close(); closeStores() }
	job := process.Job{Repository: repo, Workers: workers, Config: cfg, Now: time.Now, Log: log}
	if !m.finalize {
		return &job, closeAll, nil
	}
	job.Scratch = storage.NewScratch(repo, data)
	return &process.Finalizer{Job: job}, closeAll, nil
}
