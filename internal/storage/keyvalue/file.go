package keyvalue

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/files"
)

// file is the key-value file of one site. turn admits one goroutine and guards db, conn and
// info.
type file struct {
	store *Store
	path  string
	turn  chan struct{}

	db   *sql.DB
	conn *sql.Conn   // the only connection of db; nil if closed
	info os.FileInfo // of the file open in conn

	refs int    // goroutines that use the file or wait for it; guarded by Store.mu
	used uint64 // Store.clock of the last use; guarded by Store.mu
}

// schema creates the table and index of docs/spec/storage.md 3.1. Files of the first
// implementation have the table; some of them lack the index.
const schema = `
CREATE TABLE IF NOT EXISTS articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS articles_CDate ON articles(CDate);`

// prepareConn opens conn on the file that currently has the name. It returns fs.ErrNotExist if the
// file is missing and create is false. If hold is true, it also holds the lock of the folder
// until unlock, so that no process deletes the file; else unlock does nothing.
func (f *file) prepareConn(ctx context.Context, create, hold bool) (unlock func(), err error) {
	open := f.conn != nil && f.hasName()
	if open && !hold {
		return func() {}, nil
	}
	if !open {
		_ = f.close() // a deleted file holds no data to keep
		if !create {
			if _, err := os.Stat(f.path); err != nil {
				return nil, err
			}
		}
	}
	if unlock, err = f.store.lockFolder(ctx); err != nil {
		return nil, err
	}
	if f.conn == nil || !f.hasName() {
		_ = f.close()
		if err := f.open(ctx, create); err != nil {
			unlock()
			return nil, err
		}
	}
	if !hold {
		unlock()
		return func() {}, nil
	}
	return unlock, nil
}

// open opens the file. The caller holds the lock of the folder.
func (f *file) open(ctx context.Context, create bool) error {
	_, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) && create {
		// A kill in DeleteSite may have left these files behind.
		err = removeFiles(f.path+"-wal", f.path+"-shm")
	}
	if err != nil {
		return err
	}
	db, err := f.store.o.Open(f.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	db.SetMaxOpenConns(1)
	f.db = db
	if f.conn, err = db.Conn(ctx); err == nil {
		// The first statement also opens -wal and -shm.
		if _, err = f.conn.ExecContext(ctx, schema); err == nil {
			f.info, err = os.Stat(f.path)
		}
	}
	if err != nil {
		_ = f.close()
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	return nil
}

// hasName reports whether the open file still has its name.
func (f *file) hasName() bool {
	info, err := os.Stat(f.path)
	return err == nil && os.SameFile(info, f.info)
}

// close closes the file if it is open. If the file was deleted, SQLite does not touch -wal
// and -shm, which may belong to a new file of the same name.
func (f *file) close() error {
	if f.db == nil {
		return nil
	}
	var err error
	if f.conn != nil {
		err = f.conn.Close()
	}
	err = errors.Join(err, f.db.Close())
	f.db, f.conn, f.info = nil, nil, nil
	return err
}

// maxTries limits the attempts of a step whose file was deleted or whose connection broke.
// From the second attempt on, the step holds the lock of the folder, so that deletions cannot
// starve it.
const maxTries = 5

// readSite runs fn on the file of a site. It does not run fn without a file.
func (s *Store) readSite(ctx context.Context, site string, fn func(*sql.Conn) error) error {
	return s.damageError(s.attemptStep(ctx, site, false, func(f *file) error { return fn(f.conn) }))
}

// damageError returns ErrDamaged for an error that says that a file is damaged. Other errors and nil are returned
// unchanged. A write does not use it: it must not be given up, so its error stays one of the machine.
func (s *Store) damageError(err error) error {
	if err == nil || s.o.Damaged == nil || !s.o.Damaged(err) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrDamaged, err) // %v: it is no error of the machine any more
}

// writeSite runs fn in one transaction on the file of a site, and again if another process
// deleted the file meanwhile. Without a file it creates one if create is true, and does
// nothing otherwise.
func (s *Store) writeSite(ctx context.Context, site string, create bool, fn func(*sql.Conn) error) error {
	return s.attemptStep(ctx, site, create, func(f *file) error {
		if err := f.runTransaction(ctx, fn); err != nil {
			return err
		}
		if !f.hasName() {
			return errDeleted
		}
		return nil
	})
}

// errDeleted means that a step changed a deleted file.
var errDeleted = errors.New("another process deleted the file during the write")

// attemptStep runs a step on the file of a site until the step succeeds or fails for good.
func (s *Store) attemptStep(ctx context.Context, site string, create bool, step func(*file) error) error {
	f, err := s.useFile(ctx, site)
	if err != nil {
		return err
	}
	defer s.releaseFile(f)
	for try := 1; ; try++ {
		unlock, err := f.prepareConn(ctx, create, try > 1)
		if errors.Is(err, fs.ErrNotExist) && !create {
			return nil
		}
		if err != nil {
			return err
		}
		err = step(f)
		unlock()
		if err == nil || !f.dropBroken(err) || try == maxTries {
			return nameFile(f.path, err)
		}
	}
}

// nameFile adds the file to an error.
func nameFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("file %s: %w", path, err)
}

// runTransaction runs fn in a transaction.
func (f *file) runTransaction(ctx context.Context, fn func(*sql.Conn) error) (err error) {
	if _, err := f.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		// ctx may have ended. Close a connection whose rollback fails.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if _, undone := f.conn.ExecContext(undo, "ROLLBACK"); undone != nil {
			_ = f.close()
		}
	}()
	if err := fn(f.conn); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // the driver does not always check
	}
	// An interrupted COMMIT would have an unknown result.
	_, err = f.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return err
}

// dropBroken closes the file if its connection broke or the file was deleted. It reports
// whether another attempt may succeed.
func (f *file) dropBroken(err error) bool {
	broken := errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
	if !broken && f.conn != nil && f.hasName() {
		return false
	}
	_ = f.close()
	return broken || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// lockFolder takes the lock of the folder, which excludes other stores and processes.
func (s *Store) lockFolder(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.LockWait)
	defer cancel()
	return files.Lock(ctx, filepath.Join(s.dir, ".lock"))
}

// Create creates the file of a site if it is missing.
func (s *Store) Create(ctx context.Context, site string) error {
	f, err := s.useFile(ctx, site)
	if err != nil {
		return err
	}
	defer s.releaseFile(f)
	_, err = f.prepareConn(ctx, true, false)
	return err
}

// DeleteSite removes the file of a site and <site>_fields.db, in which the first
// implementation kept further data of the pages. Other processes notice at their next
// operation. A site without files is not an error.
func (s *Store) DeleteSite(ctx context.Context, site string) error {
	f, err := s.useFile(ctx, site)
	if err != nil {
		return err
	}
	defer s.releaseFile(f)
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// Remove the file before closing it, so that SQLite writes nothing back. Remove
	// it before -wal and -shm, which are useless without it after a kill.
	defer f.close()
	names := []string{f.path, f.path + "-wal", f.path + "-shm"}
	fields := strings.TrimSuffix(f.path, ".db") + "_fields.db"
	// An error means that the file is not a database. A cancelled context must not cause one.
	if foreign, err := s.isStore(context.WithoutCancel(ctx), fields); err != nil || !foreign {
		names = append(names, fields, fields+"-wal", fields+"-shm")
	}
	return removeFiles(names...)
}

// isStore reports whether path is a key-value file. The id of a site may end in "_fields".
// The caller holds the lock of the folder.
func (s *Store) isStore(ctx context.Context, path string) (bool, error) {
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	db, err := s.o.Open(path)
	if err != nil {
		return false, err
	}
	defer db.Close()
	var n int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'articles'").Scan(&n)
	return n > 0, nameFile(path, err)
}

// removeFiles removes files and ignores missing ones.
func removeFiles(names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
