package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Drivers of Config.
const DriverSQLite = "sqlite"

const (
	busyDefault    = 30 * time.Second
	readersDefault = 2
	writerBusy     = 100 * time.Millisecond // of one try; Update repeats it up to Config.Busy
)

// Config says which database to open.
type Config struct {
	Driver      string            // DriverSQLite, or ""
	Path        string            // the file; its folder is made when it is not there
	Names       map[string]string // names of the databases that differ from the specification's
	Busy        time.Duration     // how long to wait for a writer of another process; 30 s when 0
	Readers     int               // connections that read at once; 2 when 0
	Synchronous string            // "FULL" when empty: a committed transaction outlives a power cut; "NORMAL" a crash
	CacheKB     int               // page cache of one connection; 16384 when 0
}

// DB is an open database. Its methods may be called by several goroutines.
type DB struct {
	cfg     Config
	writers *sql.DB
	readers *sql.DB
	writer  chan *sql.Conn // holds the one writing connection; nil in it: not open yet
	steps   []step
	texts   map[string]string // named statements
}

// Open opens the database and brings its schema up to date; several processes
// may do so at the same time. The error answers to Critical when the file cannot
// be used, and is ErrNewer for a file of a newer program. The caller closes.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	d, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("db.Open: %s: %w", cfg.Path, err)
	}
	return d, nil
}

func open(ctx context.Context, cfg Config) (*DB, error) {
	switch cfg.Driver {
	case DriverSQLite, "":
		cfg.Driver = DriverSQLite
	default:
		return nil, fmt.Errorf("driver %q is not known, %q is", cfg.Driver, DriverSQLite)
	}
	if cfg.Path == "" {
		return nil, errors.New("no path is given")
	}
	if cfg.Busy == 0 {
		cfg.Busy = busyDefault
	}
	if cfg.Readers == 0 {
		cfg.Readers = readersDefault
	}
	if cfg.CacheKB == 0 {
		cfg.CacheKB = 16384
	}
	steps, err := loadSteps(cfg.Driver)
	if err != nil {
		return nil, err
	}
	templates, err := loadTexts(cfg.Driver)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o755); err != nil {
		return nil, err
	}
	d := &DB{cfg: cfg, steps: steps, texts: make(map[string]string, len(templates)), writer: make(chan *sql.Conn, 1)}
	d.writer <- nil
	for name, t := range templates {
		d.texts[name] = d.fill(t)
	}
	options := FileOptions{Synchronous: cfg.Synchronous, Busy: writerBusy, CacheKB: cfg.CacheKB}
	w, err := newConnector(cfg.Path, options)
	if err != nil {
		return nil, err
	}
	options.Busy, options.queryOnly = cfg.Busy, true
	r, err := newConnector(cfg.Path, options)
	if err != nil {
		return nil, err
	}
	d.writers, d.readers = sql.OpenDB(w), sql.OpenDB(r)
	d.writers.SetMaxOpenConns(1)
	d.readers.SetMaxOpenConns(cfg.Readers)
	d.readers.SetMaxIdleConns(cfg.Readers)
	if err := d.migrate(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close waits for the transaction that writes, and closes the connections.
func (d *DB) Close() error {
	var err error
	if conn, open := <-d.writer; open {
		close(d.writer)
		if conn != nil {
			err = conn.Close()
		}
	}
	return errors.Join(err, d.readers.Close(), d.writers.Close())
}
