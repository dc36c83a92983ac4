package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Report prints the result of --check-config: the effective configuration to stdout, and to
// stderr one line for each unknown key, invalid value and fault. faults are errors that the
// program found itself; nil is ignored. It returns true without errors. Call it after the
// program has read all values.
func (f *File) Report(program string, stdout, stderr io.Writer, faults ...error) (good bool) {
	fmt.Fprintf(stdout, "; Effective configuration of %s. File: %s\n\n", program, f.Path)
	if err := f.WriteEffective(stdout); err != nil {
		faults = append(faults, err)
	}
	for _, unknown := range f.Unknown() {
		fmt.Fprintln(stderr, "warning:", unknown)
	}
	good = true
	for _, err := range append(f.errs[:len(f.errs):len(f.errs)], faults...) {
		if err != nil {
			good = false
			fmt.Fprintln(stderr, "error:", err)
		}
	}
	return good
}

// Unwritable returns an error for each folder that Writable refuses: data_dir and the
// folder of the log.
func (a Application) Unwritable() (faults []error) {
	if err := Writable(a.DataDir); err != nil {
		faults = append(faults, fmt.Errorf("[Application] data_dir: %w", err))
	}
	if a.Log.File == "" {
		return faults
	}
	if err := Writable(filepath.Dir(a.Log.File)); err != nil {
		faults = append(faults, fmt.Errorf("[Application] log: %w", err))
	}
	return faults
}

// Writable returns an error if a folder cannot be written, or if it is missing and cannot
// be created. It does not create it.
func Writable(folder string) error {
	for path := filepath.Clean(folder); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
			continue // the program creates it if its parent is writable
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", path)
		}
		if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
		return nil
	}
}
