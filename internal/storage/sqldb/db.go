package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/storage/expr"
)

// Drivers of Config.
const (
	DriverSQLite = "sqlite"
	DriverMySQL  = "mysql" // MySQL 8 and MariaDB
)

const (
	busyDefault = 30 * time.Second
	readers     = 2                      // concurrent read connections of SQLite
	writerBusy  = 100 * time.Millisecond // of one attempt; Update retries until Config.Busy
)

// Config describes a database.
type Config struct {
	Driver string            // DriverSQLite or DriverMySQL; "" means SQLite
	Names  map[string]string // database names that differ from the specification
	Busy   time.Duration     // longest wait for the lock of another process; 0 means 30 s

	Server Server // for MySQL

	// For SQLite.
	Path        string // the file; Open creates its folder
	Synchronous string // "FULL" (the default): commits survive a power cut; "NORMAL": a crash
	CacheKB     int    // page cache of one connection; 0 means 16384
}

// DB is an open database. Goroutines may share it.
type DB struct {
	cfg      Config
	writers  *sql.DB
	readers  *sql.DB
	definers *sql.DB        // MySQL: one connection that creates and drops tables
	numbers  sync.Map       // MySQL: server-side connection ids by driver.Conn
	writer   chan *sql.Conn // SQLite: holds the write connection, nil until it is open
	steps    []step
	dialect  expr.Dialect
	texts    map[string]statement // named statements
	counts   struct{ transactions, statements, rows atomic.Int64 }
	copies   checkpoints // SQLite
}

// Counts returns the numbers of transactions, of their statements without those that begin
// and end a transaction, and of rows that these changed, since Open. Repeated attempts count.
func (d *DB) Counts() (transactions, statements, rows int64) {
	return d.counts.transactions.Load(), d.counts.statements.Load(), d.counts.rows.Load()
}

// Open opens the database and migrates its schema. Several processes may do so at the
// same time. Critical reports true for the error of an unusable file; the error is
// ErrNewer for the file of a newer program. The caller closes the database.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	d, err := openDB(ctx, cfg)
	if err != nil {
		where := cfg.Path
		if cfg.Driver == DriverMySQL {
			where = cfg.Server.driverConfig(0).Addr
		}
		return nil, fmt.Errorf("open database %s: %w", where, err)
	}
	return d, nil
}

func openDB(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Driver == "" {
		cfg.Driver = DriverSQLite
	}
	if cfg.Busy == 0 {
		cfg.Busy = busyDefault
	}
	d := &DB{cfg: cfg}
	openPools := d.openSQLite
	switch cfg.Driver {
	case DriverSQLite:
		d.dialect = expr.SQLite
	case DriverMySQL:
		d.dialect = expr.MySQL
		openPools = d.openMySQL
	default:
		return nil, fmt.Errorf("unknown driver %q; expected %q or %q", cfg.Driver, DriverSQLite, DriverMySQL)
	}
	var err error
	d.steps, err = loadSteps(cfg.Driver)
	if err != nil {
		return nil, err
	}
	texts, err := loadTexts(cfg.Driver)
	if err != nil {
		return nil, err
	}
	d.setTexts(texts)
	err = openPools(ctx)
	if err == nil {
		err = d.migrateSchema(ctx)
	}
	if err != nil {
		d.Close()
		return nil, d.convertAwayError(err)
	}
	return d, nil
}

// Close waits for the current write transaction and closes the connections.
func (d *DB) Close() error {
	var list []error
	if d.writer != nil {
		if conn, open := <-d.writer; open {
			close(d.writer)
			if conn != nil {
				list = append(list, conn.Close())
			}
		}
	}
	d.copies.running.Wait()
	for _, pool := range []*sql.DB{d.readers, d.writers, d.definers} {
		if pool != nil {
			list = append(list, pool.Close())
		}
	}
	return errors.Join(list...)
}
