// db-task answers operations on the stored sites, URLs and contents of a data
// node: pairs [operation, object] on stdin, one line each on stdout.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

const notes = `stdin holds requests like ["SITE_STATUS", {"id": "..."}] or [3, {"id": "..."}], one
after the other. Each is answered with one line on stdout.

Exit status: 0 every answer can be trusted, 1 a critical failure: ini file,
unreadable input, database, disk.

With --move-contents it reads no requests. Stop the daemon first. Stdout has one line:
{"sites":n,"moved":n,"bytes":n,"kept":n}. Exit status: 0 all contents are moved,
1 they are not, and nothing is lost: run it again. Then set content_storage_type.`

func main() {
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), "import-from") && strings.HasPrefix(arg, "-") {
			fmt.Fprintln(os.Stderr, "db-task: option --import-from is now a program; use dc-import")
			os.Exit(task.ExitCritical)
		}
	}
	os.Exit(taskprogram.Run(taskprogram.Program{
		Name: "db-task", Summary: "answers operations on the stored sites and URLs", Notes: notes,
		Open: open, ErrorAnswer: storage.ErrorAnswer,
		Commands: []taskprogram.Command{{
			Option: "move-contents", Value: "TO", Run: move,
			Help: "move the processed contents of all sites TO files (one for each\nsite) or sql (the SQL database), and exit",
		}},
	}))
}

func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ taskprogram.Flags) (task.Job, func(), error) {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return nil, nil, err
	}
	repo, closeAll, err := storage.Open(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	return storage.Job{Repository: repo, Critical: storage.Critical}, closeAll, nil
}

func move(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, to string) error {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return err
	}
	return storage.MoveContents(ctx, cfg, to, os.Stdout, os.Stderr, log)
}
