// processor-task processes batches of crawled URLs: a Batch on stdin, the Batch
// with its items as they are now on stdout, contents in the stores of the data
// node.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

const notes = `stdin holds Batch objects, one after the other, as crawler-task answers them; each
is answered with one line on stdout.

With --finalize the batches are those in real time (crawlerType 4): nothing is stored,
and the answer is an object with "contents", what a client of BATCH gets for each item,
"grades", how good each is, and "again", the batch of those that a browser may do
better. The raw files of the batch are removed.

Exit status: 0 every answer can be trusted, 1 a critical failure: ini file,
unreadable input, database, disk.`

func main() {
	var mode mode
	os.Exit(taskprogram.Run(taskprogram.Program{
		Name: "processor-task", Summary: "extracts the contents of crawled URLs", Notes: notes, Open: mode.open, Batches: true,
		Options: func(s *flags.Set) {
			s.Flag(&mode.finalize, "finalize", "", "be the last stage of batches in real time: answer with\ntheir contents")
		},
	}))
}

// mode is what the program is told beside the ini file.
type mode struct{ finalize bool }

func (m *mode) open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags taskprogram.Flags) (task.Job, func(), error) {
	s := f.Section("ProcessorTask")
	cfg := process.Config{
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		MaxContentSize:   s.Int("max_content_size", 16<<20, 1<<10, 1<<30),
	}
	if flags.MaxTime > 0 {
		cfg.MaxExecutionTime = flags.MaxTime
	}
	stores, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return nil, nil, err
	}
	data := storage.ReadConfig(stores, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return nil, nil, err
	}
	if err := stores.Err(); err != nil {
		return nil, nil, err
	}
	repo, closeAll, err := storage.Open(ctx, data, log)
	if err != nil {
		return nil, nil, err
	}
	job := process.Job{Data: repo, Config: cfg, Now: time.Now, Log: log}
	if !m.finalize {
		return &job, closeAll, nil
	}
	job.Scratch = storage.NewScratch(repo, data)
	return &process.Finalizer{Job: job}, closeAll, nil
}
