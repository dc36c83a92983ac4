package taskprogram

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/task"
)

// State of --check-config, which runs at most once in a process.
var (
	checkedFile *config.File   // the program's own ini file
	dbTaskFiles []*config.File // loaded by DBTaskFile
)

// errCheckOnly ends Open before it opens anything.
var errCheckOnly = errors.New("only the configuration is checked")

// checkConfig is --check-config. It reads all that the program reads, prints the effective
// configuration and reports its errors. It creates no file. It returns the exit status.
func (p Program) checkConfig(ctx context.Context, f *config.File, app config.Application, maxTime time.Duration) int {
	checkedFile = f
	_, closeJob, err := p.Open(ctx, f, app, slog.New(slog.DiscardHandler), maxTime)
	if err == nil {
		closeJob()
	}
	faults := app.Unwritable()
	if err != nil && !errors.Is(err, errCheckOnly) {
		faults = append(faults, err)
	}
	for _, file := range dbTaskFiles {
		faults = append(faults, file.Err())
	}
	if !f.Report(p.Name, os.Stdout, os.Stderr, faults...) {
		return task.ExitCritical
	}
	return task.ExitTrusted
}
