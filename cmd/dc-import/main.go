// dc-import copies the data of the original service into the stores of this node, once:
// sites, URLs, lists, attributes, statistics, processed contents and proxies.
//
//	dc-import -c ini/db-task.ini --import-from reader@127.0.0.1:3306 --import-zone Europe/Berlin
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/legacyimport"
	"hce/dc/internal/task"
)

var text = command.Text{
	Name: "dc-import", Summary: "imports the data of the original service",
	Description: `Reads the MySQL databases of the original service and the ini file of db-task. Stop both
services first. Set the password in the environment variable ` + passwordVariable + `.
Stdout has one JSON line with the result. See docs/switching.md.`,
	Examples: `  dc-import -c db-task.ini --import-from reader@127.0.0.1:3306 --import-zone Europe/Berlin`,
	ExitStatus: `0 everything is imported; 1 not everything is imported; 4 interrupted. Start the command again and
it continues where it stopped.`,
}

func main() {
	var o options
	os.Exit(taskprogram.Run(taskprogram.Program{
		Text: text, Ini: "db-task", Open: openForCheck,
		Commands: []taskprogram.Command{{
			Option: "import-from", Value: "USER@HOST:PORT", Run: o.runImport, More: o.declareOptions,
			Help: "import all data in the MySQL databases of that server, or of USER@/SOCKET",
		}},
	}))
}

// openForCheck runs without --import-from: it only reads the configuration, for --check-config.
func openForCheck(_ context.Context, f *config.File, app config.Application, log *slog.Logger, _ time.Duration) (task.Job, func(), error) {
	storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return nil, nil, err
	}
	return nil, nil, errors.New("option --import-from is missing; try --help")
}

func (o *options) runImport(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, from string) error {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return err
	}
	parsed, err := o.parseOptions(from)
	if err != nil {
		return err
	}
	return legacyimport.Import(ctx, cfg, parsed, os.Stdout, os.Stderr, log)
}
