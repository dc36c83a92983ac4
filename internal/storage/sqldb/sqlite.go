package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb/pagesum"
)

// openSQLite creates the pools of one file, and its folder.
func (d *DB) openSQLite(context.Context) error {
	if d.cfg.Path == "" {
		return errors.New("Config.Path is empty")
	}
	if d.cfg.CacheKB == 0 {
		d.cfg.CacheKB = 16384
	}
	if err := os.MkdirAll(filepath.Dir(d.cfg.Path), 0o700); err != nil {
		return err
	}
	options := FileOptions{PageSums: true, Synchronous: d.cfg.Synchronous, Busy: writerBusy, CacheKB: d.cfg.CacheKB}
	w, err := newConnector(d.cfg.Path, options)
	if err != nil {
		return err
	}
	options.Busy, options.queryOnly = d.cfg.Busy, true
	r, err := newConnector(d.cfg.Path, options)
	if err != nil {
		return err
	}
	d.writer = make(chan *sql.Conn, 1)
	d.writer <- nil
	d.writers, d.readers = sql.OpenDB(w), sql.OpenDB(r)
	d.writers.SetMaxOpenConns(1)
	d.readers.SetMaxOpenConns(readers + 1) // and one for checkpoints
	d.readers.SetMaxIdleConns(readers + 1)
	return nil
}

const (
	// walPages is the number of pages in the log from which a commit copies them into the file.
	walPages = 16000
	// checkpointRows is the number of changed rows after which the log is copied while others write, so
	// that a commit finds little to copy. In a large table most changed rows are on pages of their own.
	checkpointRows = 2000
)

// checkpoints are the copies of the log into the file that run while others write.
type checkpoints struct {
	running sync.WaitGroup
	busy    atomic.Bool
	rows    int64 // counts.rows at the start of the last one; the writer guards it
}

// startCheckpoint starts a copy if enough rows were changed. A failed one leaves its work to a commit.
func (d *DB) startCheckpoint() {
	rows := d.counts.rows.Load()
	if rows-d.copies.rows < checkpointRows || !d.copies.busy.CompareAndSwap(false, true) {
		return
	}
	d.copies.rows = rows
	d.copies.running.Go(func() {
		defer d.copies.busy.Store(false)
		_, _ = d.readers.Exec("PRAGMA wal_checkpoint(PASSIVE)")
	})
}

// FileOptions are the options of OpenFile.
type FileOptions struct {
	ReadOnly    bool          // the file must exist
	Synchronous string        // "FULL" (the default), "NORMAL" or "OFF"
	Busy        time.Duration // longest wait for another process; 0 means 30 s
	CacheKB     int           // page cache of one connection; 0 means 2048
	PageSums    bool          // a new file gets checksums of pages (package pagesum), which every opener verifies

	queryOnly bool // may create the file but not change it
}

// OpenMemory opens an empty SQLite database in memory, with one connection, to evaluate
// expressions. The caller closes the pool.
func OpenMemory() *sql.DB {
	o := FileOptions{}
	pool := sql.OpenDB(&connector{driver: &sqlite3.SQLiteDriver{ConnectHook: o.setUp}, dsn: "file::memory:"})
	pool.SetMaxOpenConns(1)
	return pool
}

// OpenFile opens one SQLite file in WAL mode, with one connection, for other stores. It creates
// the file but not its folder. The caller closes the pool. Critical classifies errors.
func OpenFile(path string, o FileOptions) (*sql.DB, error) {
	c, err := newConnector(path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(1)
	if err := pool.Ping(); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open %s: %w", path, NameFull(err, path))
	}
	return pool, nil
}

// connector opens SQLite connections with equal settings.
type connector struct {
	driver *sqlite3.SQLiteDriver
	dsn    string
}

func (c *connector) Driver() driver.Driver { return c.driver }

// Connect opens one connection. The change to WAL mode needs exclusive access, and SQLite
// fails at once if another process has the file open. Connect therefore retries.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	deadline := time.Now().Add(busyDefault)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := c.driver.Open(c.dsn)
		if err == nil || !Busy(err) || time.Now().After(deadline) {
			return conn, err
		}
		if err := sleepContext(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func newConnector(path string, o FileOptions) (*connector, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Busy == 0 {
		o.Busy = busyDefault
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if o.CacheKB == 0 {
		o.CacheKB = 2048
	}
	if err := pagesum.Register(); err != nil {
		return nil, err
	}
	q := url.Values{
		"vfs":              {pagesum.Name},
		"_busy_timeout":    {strconv.FormatInt(o.Busy.Milliseconds(), 10)},
		"_synchronous":     {o.Synchronous},
		"_foreign_keys":    {"0"},
		"_cache_size":      {strconv.Itoa(-o.CacheKB)},
		"_stmt_cache_size": {"200"},
	}
	if o.ReadOnly {
		if _, err := os.Stat(full); err != nil {
			return nil, err
		}
	} else {
		if err := createFile(full); err != nil {
			return nil, err
		}
	}
	location := url.URL{Scheme: "file", Path: full, RawQuery: q.Encode()}
	return &connector{driver: &sqlite3.SQLiteDriver{ConnectHook: o.setUp}, dsn: location.String()}, nil
}

// createFile creates a missing file for its owner only: properties of sites may be passwords. SQLite gives
// its other files the same mode. An existing file is not opened, since closing it would drop the
// locks that this process has on it.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// fcntlReserveBytes is SQLITE_FCNTL_RESERVE_BYTES.
const fcntlReserveBytes = 38

// setUp registers the functions of package expr on a new connection and sets options that
// have no DSN parameter.
func (o FileOptions) setUp(c *sqlite3.SQLiteConn) error {
	for _, f := range expr.SQLiteFunctions() {
		register := c.RegisterFunc
		if f.Aggregate {
			register = c.RegisterAggregator
		}
		if err := register(f.Name, f.Impl, true); err != nil {
			return fmt.Errorf("register function %s: %w", f.Name, err)
		}
	}
	if o.PageSums {
		// Of a new file before its first write, of an older one with its next VACUUM.
		if err := c.SetFileControlInt("main", fcntlReserveBytes, pagesum.Size); err != nil {
			return fmt.Errorf("reserve room for the checksums of pages: %w", err)
		}
	}
	pragmas := ""
	if !o.ReadOnly {
		pragmas = "PRAGMA journal_mode = WAL;" // the first write to a new file
	}
	pragmas += fmt.Sprintf("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = %d;", walPages)
	if o.ReadOnly || o.queryOnly {
		pragmas += "PRAGMA query_only = 1;"
	}
	_, err := c.Exec(pragmas, nil)
	return err
}

func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
