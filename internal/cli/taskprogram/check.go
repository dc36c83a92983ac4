package taskprogram

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"hce/dc/internal/config"
	"hce/dc/internal/task"
)

// checking is the ini file of --check-config, of which a process has one. Checked
// ends the start of the program with it.
var checking *config.File

// besides are the ini files that were read beside it.
var besides []*config.File

// errChecked says that everything was read and nothing is to be opened.
var errChecked = errors.New("the configuration is to be checked, no more")

// check is --check-config: it reads all that the program reads, and says what that
// is and what is wrong with it. Nothing is opened and no file made.
func (p Program) check(ctx context.Context, f *config.File, app config.Application, flags Flags) int {
	checking = f
	_, closeJob, err := p.Open(ctx, f, app, slog.New(slog.DiscardHandler), flags)
	if err == nil {
		closeJob()
	}
	faults := app.Unwritable()
	if err != nil && !errors.Is(err, errChecked) {
		faults = append(faults, err)
	}
	for _, other := range besides {
		faults = append(faults, other.Err())
	}
	if !f.Report(p.Name, os.Stdout, os.Stderr, faults...) {
		return task.ExitCritical
	}
	return task.ExitTrusted
}
