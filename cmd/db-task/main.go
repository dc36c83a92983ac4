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

With one of the commands --move-contents, --move-raw, --check, --repair, --compact-raw, --vacuum and --space it
reads no requests, and stdout has one line:
  --move-contents  {"sites":n,"moved":n,"bytes":n,"kept":n}
  --move-raw       {"urls":n,"moved":n,"bytes":n,"kept":n}
  --check          {"segments":n,"runs":n,"bytes":n,"faults":n,"fixed":n,"without":n}
  --repair         {"files":n,"process":n,"fetch":n,"lost":n}
  --compact-raw    {"segments":n,"copied":n,"freed":n,"left":n,"dead":n}
  --vacuum         {"before":n,"after":n}: bytes of the SQLite file
  --space SITE     {"now":n,"later":n}: bytes that the deletion of a site frees
Stop the daemon before a move or a repair; after a move set content_storage_type or raw_store.
--check prints each fault on stderr, --repair each URL that it gives back.`,
	Examples: `  echo '["SITE_STATUS",{"id":"0"}]' | db-task
  db-task --move-contents sql
  db-task --check
  db-task --repair`,
	ExitStatus: `0 every answer can be trusted; 1 critical failure: ini file, unreadable input, database,
disk. With a move: 0 everything is moved; 1 not everything is moved.
Nothing is lost; start the command again and it continues; 4 interrupted.
With --check: 0 no fault is left; 1 there are faults.`,
}

// fix is the option --fix of --check.
var fix bool

func main() {
	os.Exit(taskprogram.Run(taskprogram.Program{
		Text: text, Open: openStorageTask, ErrorAnswer: storage.ErrorAnswer,
		Options: func(c *command.Command) { c.Removed("import-from", "use dc-import") },
		Commands: []taskprogram.Command{{
			Option: "move-contents", Value: "files|sql", Run: onStores(moveContents),
			Help: "move the processed contents of all sites to files (one for each site) or to the SQL database, then exit",
		}, {
			Option: "move-raw", Value: "files|segments", Run: onStores(moveRaw),
			Help: "move the raw contents of all sites to files (one for each content) or to segments, then exit",
		}, {
			Option: "check", Run: onStores(checkRaw),
			Help: "compare the raw and processed contents with the database and print all faults, then exit",
			More: func(c *command.Command) {
				c.Flag(&fix, "fix", "", "with --check: correct wrong counters; stop the daemon first")
			},
		}, {
			Option: "check-database", Run: onStores(checkDatabase),
			Help: "look whether the database of old contents is lost, open nothing, then exit",
		}, {
			Option: "repair", Run: onStores(repairDatabases),
			Help: "give back to processing what is damaged and has a whole raw content, and to the next crawl what has none, then exit; stop the daemon first",
		}, {
			Option: "compact-raw", Run: onStores(compactRaw),
			Help: "free the space of deleted raw contents in all segments, then exit; URL_PURGE does so where most is deleted",
		}, {
			Option: "vacuum", Run: onStores(vacuumDatabases),
			Help: "rewrite the SQLite database without the room of deleted rows and with a checksum in each page, then exit",
		}, {
			Option: "space", Value: "SITE", Run: onStores(printSpace),
			Help: "print how many bytes the deletion of a site frees at once, and how many with --compact-raw, then exit",
		}},
	}))
}

func openStorageTask(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ time.Duration) (task.Job, func(), error) {
	cfg, err := readSettings(f, app, log)
	if err != nil {
		return nil, nil, err
	}
	repo, closeAll, err := storage.Open(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	storage.LogFaults(ctx, repo, cfg, log)
	return storage.Job{Repository: repo}, closeAll, nil
}

func readSettings(f *config.File, app config.Application, log *slog.Logger) (storage.Config, error) {
	cfg := storage.ReadConfig(f, app.DataDir)
	return cfg, taskprogram.Checked(f, log)
}

// onStores is the Run of a command that needs the settings of the stores.
func onStores(do func(ctx context.Context, cfg storage.Config, log *slog.Logger, value string) error) func(context.Context, *config.File, config.Application, *slog.Logger, string) error {
	return func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, value string) error {
		cfg, err := readSettings(f, app, log)
		if err != nil {
			return err
		}
		return do(ctx, cfg, log, value)
	}
}

func moveContents(ctx context.Context, cfg storage.Config, log *slog.Logger, to string) error {
	return storage.MoveContents(ctx, cfg, to, os.Stdout, os.Stderr, log)
}

func moveRaw(ctx context.Context, cfg storage.Config, log *slog.Logger, to string) error {
	return storage.MoveRaw(ctx, cfg, to, os.Stdout, os.Stderr, log)
}

func checkRaw(ctx context.Context, cfg storage.Config, log *slog.Logger, _ string) error {
	return storage.CheckRaw(ctx, cfg, fix, os.Stdout, os.Stderr, log)
}

func checkDatabase(_ context.Context, cfg storage.Config, _ *slog.Logger, _ string) error {
	return storage.CheckDatabase(cfg, os.Stdout)
}

func repairDatabases(ctx context.Context, cfg storage.Config, log *slog.Logger, _ string) error {
	return storage.Repair(ctx, cfg, os.Stdout, os.Stderr, log)
}

func printSpace(ctx context.Context, cfg storage.Config, log *slog.Logger, site string) error {
	return storage.Space(ctx, cfg, site, os.Stdout, log)
}

func compactRaw(ctx context.Context, cfg storage.Config, log *slog.Logger, _ string) error {
	return storage.CompactRaw(ctx, cfg, os.Stdout, log)
}

func vacuumDatabases(ctx context.Context, cfg storage.Config, log *slog.Logger, _ string) error {
	return storage.Vacuum(ctx, cfg, os.Stdout, log)
}
