package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire/lenient"
)

func TestCritical(t *testing.T) {
	for _, err := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EIO, syscall.EDQUOT, fs.ErrPermission} {
		if !Critical(fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "x", Err: err})) {
			t.Errorf("%v is not critical", err)
		}
	}
	for _, err := range []error{nil, fs.ErrNotExist, errors.New("refused"), &lenient.FieldError{Object: "x"}} {
		if Critical(err) {
			t.Errorf("%v is critical", err)
		}
	}
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	c := Config{
		DB: sqldb.Config{Driver: sqldb.DriverSQLite, Path: filepath.Join(folder, "dc.db"), Names: map[string]string{}}, RawDir: filepath.Join(folder, "raw"),
		KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20,
	}
	repo, closeAll, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if repo.TrashLock == "" {
		t.Error("TrashLock is empty")
	}
	closeAll()
	c.KeyDir = filepath.Join(folder, "dc.db") // a file
	if _, _, err := Open(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened with a file as KeyDir")
	}
}
