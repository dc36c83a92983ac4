package daemonprogram

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// checkConfig implements --check-config. It writes the effective configuration to stdout, errors and
// warnings to stderr, and reports whether the daemon could start. It starts and creates nothing.
func (p Program) checkConfig(f *config.File, app config.Application, cfg daemon.Config, stdout, stderr io.Writer) bool {
	faults := slices.Concat(faultyClasses(cfg.Sequence, p.managerClasses()), findProgramFaults(f.Programs()), app.Unwritable())
	if err := config.Writable(cfg.Executor.Dir); err != nil {
		faults = append(faults, fmt.Errorf("[Environment] spool_dir: %w", err))
	}
	return f.Report(p.Text.Name, stdout, stderr, faults...)
}

// urlManager is a class of old ini files (docs/spec/DECISIONS.md 8.1).
const urlManager = "URLManager"

// faultyClasses returns the faults of instantiateSequence.
func faultyClasses(sequence, known []string) (faults []error) {
	known = append([]string{urlManager}, known...)
	for i, class := range sequence {
		switch {
		case !slices.Contains(known, class):
			faults = append(faults, fmt.Errorf("[Application] instantiateSequence: class %s is unknown%s", class, config.Suggestion(config.Nearest(class, known))))
		case slices.Contains(sequence[:i], class):
			faults = append(faults, fmt.Errorf("[Application] instantiateSequence: class %s is there twice", class))
		}
	}
	return faults
}

// findProgramFaults returns a fault for each program that cannot be executed.
func findProgramFaults(list []config.Program) (faults []error) {
	for _, p := range list {
		if _, err := exec.LookPath(p.Path); err != nil && !errors.Is(err, exec.ErrDot) {
			faults = append(faults, fmt.Errorf("[%s] %s: %w", p.Section, p.Key, err))
		}
	}
	return faults
}
