// db-task answers operations on the stored sites, URLs and contents of a data
// node: pairs [operation, object] on stdin, one line each on stdout.
package main

import (
	"context"
	"log/slog"
	"os"

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
{"sites":n,"moved":n,"bytes":n,"kept":n}. Exit status: 0 all contents are there,
1 they are not, and nothing is lost: run it again. Then set content_storage_type.

--import-from reads no requests either, and wants the daemon stopped. Stdout has
one JSON line with what was done. Exit status: 0 all is here, 1 it is not: run it
again, it goes on where it was. docs/switching.md tells more.`

func main() {
	var imports importOptions
	os.Exit(taskprogram.Run(taskprogram.Program{
		Name: "db-task", Summary: "answers operations on the stored sites and URLs", Notes: notes,
		Open: open, ErrorAnswer: storage.ErrorAnswer,
		Commands: []taskprogram.Command{{
			Option: "move-contents", Value: "TO", Run: move,
			Help: "move the processed contents of all sites TO files (one for each\nsite) or sql (the SQL database), and end",
		}, {
			Option: "import-from", Value: "USER@HOST:PORT", Run: imports.run, More: imports.declare,
			Help: "import all that the original service has in its MySQL databases,\nand end; the password stands in " + importPassword,
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
