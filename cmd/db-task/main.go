// db-task answers operations on the stored sites, URLs and contents of a data
// node: pairs [operation, object] on stdin, one line each on stdout.
package main

import (
	"context"
	"log/slog"
	"os"

	"hce/dc/internal/config"
	"hce/dc/internal/dbtask"
	"hce/dc/internal/task"
	"hce/dc/internal/taskmain"
)

const notes = `stdin holds requests like ["SITE_STATUS", {"id": "..."}] or [3, {"id": "..."}], one
after the other. Each is answered with one line on stdout.

Exit status: 0 every answer can be trusted, 1 a critical failure: ini file,
unreadable input, database, disk.`

func main() {
	os.Exit(taskmain.Run(taskmain.Program{
		Name: "db-task", Summary: "answers operations on the stored sites and URLs", Notes: notes,
		Open: open, ErrorAnswer: dbtask.ErrorAnswer,
	}))
}

func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ taskmain.Flags) (task.Job, func(), error) {
	cfg := dbtask.ReadConfig(f, app.DataDir)
	if err := taskmain.Checked(f, log); err != nil {
		return nil, nil, err
	}
	owner, closeAll, err := dbtask.Open(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	return dbtask.Job{Owner: owner, Critical: dbtask.Critical}, closeAll, nil
}
