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
	"syscall"
	"time"
)

// file is the key-value file of one site. turn admits one goroutine; it guards
// db, conn and info.
type file struct {
	store *Store
	path  string
	turn  chan struct{}

	db   *sql.DB
	conn *sql.Conn   // the only connection of db; nil when closed
	info os.FileInfo // of the file that conn has open

	refs int    // goroutines that use it or wait; guarded by Store.mu
	used uint64 // Store.clock of the last use; guarded by Store.mu
}

// schema makes what docs/spec/storage.md 3.1 lists. Files of the first implementation have
// the table already, some of them no index.
const schema = `
CREATE TABLE IF NOT EXISTS articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS articles_CDate ON articles(CDate);`

// ready makes sure that conn is open on the file that now has the name. It
// reports fs.ErrNotExist when there is none and create is not set.
func (f *file) ready(ctx context.Context, create bool) error {
	unlock, err := f.prepare(ctx, create, false)
	if err == nil {
		unlock()
	}
	return err
}

// prepare is ready, with the lock of the folder held until unlock if hold is
// set: nobody deletes the file meanwhile.
func (f *file) prepare(ctx context.Context, create, hold bool) (unlock func(), err error) {
	open := f.conn != nil && f.alive()
	if open && !hold {
		return func() {}, nil
	}
	if !open {
		_ = f.close() // a dead file has nothing to lose
		if !create {
			if _, err := os.Stat(f.path); err != nil {
				return nil, err
			}
		}
	}
	if unlock, err = f.store.lock(ctx); err != nil {
		return nil, err
	}
	if f.conn == nil || !f.alive() {
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
		// A kill in DeleteSite may have left these to a file that is gone.
		err = remove(f.path+"-wal", f.path+"-shm")
	}
	if err != nil {
		return err
	}
	db, err := f.store.o.Open(f.path)
	if err != nil {
		return fmt.Errorf("kv: open %s: %w", f.path, err)
	}
	db.SetMaxOpenConns(1)
	f.db = db
	if f.conn, err = db.Conn(ctx); err == nil {
		// The first statement makes SQLite open -wal and -shm as well.
		if _, err = f.conn.ExecContext(ctx, schema); err == nil {
			f.info, err = os.Stat(f.path)
		}
	}
	if err != nil {
		_ = f.close()
		return fmt.Errorf("kv: open %s: %w", f.path, err)
	}
	return nil
}

// alive tells whether the open file is still the one that has the name.
func (f *file) alive() bool {
	info, err := os.Stat(f.path)
	return err == nil && os.SameFile(info, f.info)
}

// close closes the file if it is open. SQLite leaves -wal and -shm alone when
// the file has lost its name, so those of a successor are safe.
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

// maxTries bounds how often a step is repeated because its file was deleted or
// its connection broke. From the second try on the step holds the lock of the
// folder, so that deletions, however many, cannot outrun it.
const maxTries = 5

// read runs fn on the file of a site. Without a file fn does not run.
func (s *Store) read(ctx context.Context, site string, fn func(*sql.Conn) error) error {
	return s.attempt(ctx, site, false, func(f *file) error { return fn(f.conn) })
}

// write runs fn in one transaction on the file of a site, again if the file was
// deleted meanwhile. Without a file it is made when create is set, else fn does
// not run.
func (s *Store) write(ctx context.Context, site string, create bool, fn func(*sql.Conn) error) error {
	return s.attempt(ctx, site, create, func(f *file) error {
		if err := f.transact(ctx, fn); err != nil {
			return err
		}
		if !f.alive() {
			return errDeleted
		}
		return nil
	})
}

// errDeleted says that a step was done on a file that has lost its name.
var errDeleted = errors.New("kv: the file was deleted meanwhile")

// attempt runs a step on the file of a site until it held.
func (s *Store) attempt(ctx context.Context, site string, create bool, step func(*file) error) error {
	f, err := s.use(ctx, site)
	if err != nil {
		return err
	}
	defer s.release(f)
	for try := 1; ; try++ {
		unlock, err := f.prepare(ctx, create, try > 1)
		if errors.Is(err, fs.ErrNotExist) && !create {
			return nil
		}
		if err != nil {
			return err
		}
		err = step(f)
		unlock()
		if err == nil || !f.dropBroken(err) || try == maxTries {
			return err
		}
	}
}

// transact runs fn between BEGIN and COMMIT, or leaves no trace of it.
func (f *file) transact(ctx context.Context, fn func(*sql.Conn) error) (err error) {
	if _, err := f.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		// ctx may be what failed. Without a rollback the connection is lost.
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
		return err // the driver does not always look
	}
	// Not to be interrupted: nobody could tell then whether it was done.
	_, err = f.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return err
}

// dropBroken closes the file if err came with its connection or its deletion,
// and tells whether it may be worth another try.
func (f *file) dropBroken(err error) bool {
	broken := errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
	if !broken && f.conn != nil && f.alive() {
		return false
	}
	_ = f.close()
	return broken || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// lock takes the lock of the folder, for this process and against all others.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.LockWait)
	defer cancel()
	l, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("kv: lock: %w", err)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = l.Close() }, nil // and so unlocks
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = l.Close()
			return nil, fmt.Errorf("kv: lock: %w", err)
		}
		select {
		case <-ctx.Done():
			_ = l.Close()
			return nil, fmt.Errorf("kv: lock: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Create makes the file of a site when it is missing.
func (s *Store) Create(ctx context.Context, site string) error {
	f, err := s.use(ctx, site)
	if err != nil {
		return err
	}
	defer s.release(f)
	return f.ready(ctx, true)
}

// DeleteSite removes the file of a site and <site>_fields.db beside it, where
// the first implementation kept more of the site's pages. Other processes
// notice at their next operation. A site without files is no error.
func (s *Store) DeleteSite(ctx context.Context, site string) error {
	f, err := s.use(ctx, site)
	if err != nil {
		return err
	}
	defer s.release(f)
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// Removed before it is closed: then SQLite has nothing to write back. The
	// file goes first: what a kill leaves of the others is of no use to anyone.
	defer f.close()
	names := []string{f.path, f.path + "-wal", f.path + "-shm"}
	fields := strings.TrimSuffix(f.path, ".db") + "_fields.db"
	// An error says that it is no database at all; a cancelled context must not.
	if foreign, err := s.isStore(context.WithoutCancel(ctx), fields); err != nil || !foreign {
		names = append(names, fields, fields+"-wal", fields+"-shm")
	}
	return remove(names...)
}

// isStore tells whether path is a file of articles, as that of a site whose id
// happens to end in "_fields" is. The caller holds the lock of the folder.
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
	return n > 0, err
}

// remove removes files that may be missing.
func remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("kv: delete: %w", err)
		}
	}
	return nil
}
