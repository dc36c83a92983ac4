package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NoSpace is the error of a full disk, in one line for a person.
type NoSpace struct {
	Folder string
	Free   int64 // bytes; -1: unknown
	Err    error
}

func (e *NoSpace) Error() string {
	text := "no space left in " + e.Folder
	if errors.Is(e.Err, syscall.EDQUOT) {
		text = "the disk quota is used up in " + e.Folder
	}
	if e.Free >= 0 {
		text += ": " + Bytes(e.Free) + " free"
	}
	return text + "; make room there"
}

func (e *NoSpace) Unwrap() error { return e.Err }

// ExplainFull returns a *NoSpace for an error of a full disk. Other errors, and nil, are returned unchanged. folder is
// where the program works; it is named if err names no file.
func ExplainFull(err error, folder string) error {
	var known *NoSpace
	if err == nil || errors.As(err, &known) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	e := &NoSpace{Folder: folderOf(err, folder), Free: -1, Err: err}
	if e.Folder == "" {
		return err
	}
	for dir := e.Folder; ; dir = filepath.Dir(dir) { // the folder itself may be what could not be made
		if free, failed := Free(dir); failed == nil {
			e.Free = free
			return e
		}
		if dir == filepath.Dir(dir) {
			return e
		}
	}
}

// folderOf returns the folder of the file that could not be written, another one if err names no file, and "" for
// standard output, which may be any file.
func folderOf(err error, other string) string {
	var path *fs.PathError
	var link *os.LinkError
	name := ""
	switch {
	case errors.As(err, &path):
		name = path.Path
	case errors.As(err, &link):
		name = link.New
	default:
		return other
	}
	name, failed := filepath.Abs(name)
	if dir := filepath.Dir(name); failed == nil && dir != "/dev" {
		return dir
	}
	return ""
}

// CheckFolder reports whether a file can be made in a folder. It leaves nothing behind. Programs call it before long
// work whose output they write there.
func CheckFolder(dir string) error {
	probe, err := os.CreateTemp(dir, ".hce-probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// CheckOutput reports whether a file can be written: it exists as a file that may be changed, or can be made. It changes
// nothing.
func CheckOutput(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // opening a pipe waits for its reader
	case err == nil:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return file.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := CheckFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return nil
}

var units = []string{"B", "kB", "MB", "GB", "TB"}

// Bytes formats a number of bytes for a person: "12.3 kB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
