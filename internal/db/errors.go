package db

import (
	"errors"
	"io/fs"

	"github.com/mattn/go-sqlite3"
)

// ErrNewer says that the file was written by a newer program: its schema has
// steps that this one does not know.
var ErrNewer = errors.New("the database has a newer schema than this program knows")

// Critical reports whether err means that the database itself is unusable (it
// cannot be opened, is read-only, full, damaged, newer, or fails on input and
// output), so that every other request would fail as well.
func Critical(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		switch e.Code {
		case sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrFull, sqlite3.ErrCorrupt,
			sqlite3.ErrNotADB, sqlite3.ErrIoErr, sqlite3.ErrPerm:
			return true
		}
	}
	var file *fs.PathError // of the folder or the file, when it is opened
	return errors.Is(err, ErrNewer) || errors.As(err, &file)
}

// Busy reports whether err means that another process held the database for
// longer than Config.Busy; the request may be tried again.
func Busy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}
