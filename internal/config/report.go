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

// Report is what --check-config of a program says: the effective configuration on
// stdout; on stderr, a line for each, what nobody knows, what is wrong with values,
// and the faults that the program found itself. It reports whether nothing was wrong. Call it when everything was read.
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

// Unwritable are the folders of the section that cannot be written: data_dir and
// that of the log. It makes nothing.
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

// Writable refuses a folder that is there and cannot be written, or that is
// missing and could not be made. It makes nothing.
func Writable(folder string) error {
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
