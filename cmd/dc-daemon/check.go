package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// check is --check-config: it writes the effective configuration to stdout and
// all that is wrong, or odd, to stderr, and reports whether the daemon could start
// with it. It starts nothing and makes no file.
func check(f *config.File, app config.Application, cfg daemon.Config, stdout, stderr io.Writer) bool {
	fmt.Fprintf(stdout, "; Effective configuration of dc-daemon. File: %s\n\n", f.Path)
	good := true
	wrong := func(err error) {
		good = false
		fmt.Fprintln(stderr, "error:", err)
	}
	if err := f.WriteEffective(stdout); err != nil {
		wrong(err)
	}
	for _, idle := range f.Idle() {
		fmt.Fprintln(stderr, "note:", idle)
	}
	for _, unknown := range f.Unknown() {
		fmt.Fprintln(stderr, "warning:", unknown)
	}
	for _, err := range split(f.Err()) {
		wrong(err)
	}
	for _, err := range slices.Concat(classes(cfg.Sequence), programs(f.Programs())) {
		wrong(err)
	}
	folders := []struct{ key, path string }{
		{"[Application] data_dir", app.DataDir}, {"[Environment] spool_dir", cfg.Env.Dir},
	}
	if app.Log.File != "" {
		folders = append(folders, struct{ key, path string }{"[Application] log", filepath.Dir(app.Log.File)})
	}
	for _, folder := range folders {
		if err := writable(folder.path); err != nil {
			wrong(fmt.Errorf("%s: %w", folder.key, err))
		}
	}
	return good
}

// split takes joined errors apart, one for a line.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// urlManager is a class that old files name (DECISIONS 8.1).
const urlManager = "URLManager"

// classes are the faults of instantiateSequence.
func classes(sequence []string) (faults []error) {
	known := append([]string{urlManager}, daemon.DefaultSequence...)
	for i, class := range sequence {
		switch {
		case !slices.Contains(known, class):
			err := fmt.Errorf("[Application] instantiateSequence: class %s is unknown", class)
			if near := config.Nearest(class, known); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
			faults = append(faults, err)
		case slices.Contains(sequence[:i], class):
			faults = append(faults, fmt.Errorf("[Application] instantiateSequence: class %s stands there twice", class))
		}
	}
	return faults
}

// programs are those of the file that cannot be executed.
func programs(list []config.Program) (faults []error) {
	for _, p := range list {
		if _, err := exec.LookPath(p.Path); err != nil && !errors.Is(err, exec.ErrDot) {
			faults = append(faults, fmt.Errorf("[%s] %s: %w", p.Section, p.Key, err))
		}
	}
	return faults
}

// writable refuses a folder that is there and cannot be written, or that is
// missing and could not be made.
func writable(folder string) error {
	for path := filepath.Clean(folder); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
			continue // it is made at the start, if its own folder allows
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no folder", path)
		}
		if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
		return nil
	}
}
