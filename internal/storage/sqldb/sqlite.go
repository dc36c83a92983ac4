package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mattn/go-sqlite3"

	"hce/dc/internal/storage/expr"
)

// openSQLite makes the pools of one file, and its folder.
func (d *DB) openSQLite(context.Context) error {
	if d.cfg.Path == "" {
		return errors.New("no path is given")
	}
	if d.cfg.Readers == 0 {
		d.cfg.Readers = readersDefault
	}
	if d.cfg.CacheKB == 0 {
		d.cfg.CacheKB = 16384
	}
	if err := os.MkdirAll(filepath.Dir(d.cfg.Path), 0o755); err != nil {
		return err
	}
	options := FileOptions{Synchronous: d.cfg.Synchronous, Busy: writerBusy, CacheKB: d.cfg.CacheKB}
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
	d.readers.SetMaxOpenConns(d.cfg.Readers)
	d.readers.SetMaxIdleConns(d.cfg.Readers)
	return nil
}

// FileOptions says how OpenFile opens a file.
type FileOptions struct {
	ReadOnly    bool          // the file must be there already
	Synchronous string        // "FULL" when empty, or "NORMAL", "OFF"
	Busy        time.Duration // how long to wait for another process; 30 s when 0
	Conns       int           // connections at once; 1 when 0
	CacheKB     int           // page cache of one connection; 2048 when 0

	queryOnly bool // may make the file, but not change it
}

// OpenFile opens one SQLite file in WAL mode, for stores beside the SQL
// database (key-value files). The file is made when it is not there, its folder
// is not. The caller closes the pool. Errors can be asked with Critical.
func OpenFile(path string, o FileOptions) (*sql.DB, error) {
	c, err := newConnector(path, o)
	if err != nil {
		return nil, fmt.Errorf("db.OpenFile: %w", err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(max(o.Conns, 1))
	pool.SetMaxIdleConns(max(o.Conns, 1))
	if err := pool.Ping(); err != nil {
		pool.Close()
		return nil, fmt.Errorf("db.OpenFile: %s: %w", path, err)
	}
	return pool, nil
}

// connector makes SQLite connections that are set up alike.
type connector struct {
	driver *sqlite3.SQLiteDriver
	dsn    string
}

func (c *connector) Driver() driver.Driver { return c.driver }

// Connect opens one connection. Turning WAL on needs the file alone, and SQLite
// gives up on it without waiting: other processes that open the file at the same
// moment are waited for here.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	deadline := time.Now().Add(busyDefault)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := c.driver.Open(c.dsn)
		if err == nil || !Busy(err) || time.Now().After(deadline) {
			return conn, err
		}
		if err := sleep(ctx, pause); err != nil {
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
	q := url.Values{
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
		q.Set("_journal_mode", "WAL")
	}
	location := url.URL{Scheme: "file", Path: full, RawQuery: q.Encode()}
	return &connector{driver: &sqlite3.SQLiteDriver{ConnectHook: o.setUp}, dsn: location.String()}, nil
}

// setUp prepares a new connection: MySQL's functions for the texts of package
// expr, and what no DSN parameter sets.
func (o FileOptions) setUp(c *sqlite3.SQLiteConn) error {
	for _, f := range expr.SQLiteFunctions() {
		register := c.RegisterFunc
		if f.Aggregate {
			register = c.RegisterAggregator
		}
		if err := register(f.Name, f.Impl, true); err != nil {
			return fmt.Errorf("function %s: %w", f.Name, err)
		}
	}
	pragmas := "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864;"
	if o.ReadOnly || o.queryOnly {
		pragmas += "PRAGMA query_only = 1;"
	}
	_, err := c.Exec(pragmas, nil)
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
