// db-task answers operations on the stored sites, URLs and contents of a data node: it
// reads pairs [operation, object] from stdin and writes one answer line for each to stdout.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

var text = command.Text{
	Name: "db-task", Summary: "answers operations on the stored sites and URLs",
	Description: `Reads requests from stdin, one after the other, and answers each with one line on stdout.
A request is a pair of an operation, by name or number, and an object:
  ["SITE_STATUS", {"id": "..."}]
  [3, {"id": "..."}]

With --move-contents it reads no requests. Stop the daemon first, and set
content_storage_type afterwards. Stdout has one line:
  {"sites":n,"moved":n,"bytes":n,"kept":n}`,
	Examples: `  echo '["SITE_STATUS",{"id":"0"}]' | db-task
  db-task --move-contents sql`,
	ExitStatus: `0 every answer can be trusted; 1 critical failure: ini file, unreadable input, database,
disk. With --move-contents: 0 all contents are moved; 1 not all contents are moved.
Nothing is lost; start the command again and it continues.`,
}

func main() {
	os.Exit(taskprogram.Run(taskprogram.Program{
		Text: text, Open: open, ErrorAnswer: storage.ErrorAnswer,
		Options: func(c *command.Command) { c.Removed("import-from", "use dc-import") },
		Commands: []taskprogram.Command{{
			Option: "move-contents", Value: "files|sql", Run: move,
			Help: "move the processed contents of all sites to files (one for each site) or to the SQL database, then exit",
		}},
	}))
}

func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ time.Duration) (task.Job, func(), error) {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return nil, nil, err
	}
	repo, closeAll, err := storage.Open(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	return storage.Job{Repository: repo}, closeAll, nil
}

func move(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, to string) error {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return err
	}
	return storage.MoveContents(ctx, cfg, to, os.Stdout, os.Stderr, log)
}
