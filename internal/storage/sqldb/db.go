package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/storage/expr"
)

// Drivers of Config.
const (
	DriverSQLite = "sqlite"
	DriverMySQL  = "mysql" // MySQL 8 and MariaDB
)

const (
	busyDefault    = 30 * time.Second
	readersDefault = 2
	writerBusy     = 100 * time.Millisecond // of one try; Update repeats it up to Config.Busy
)

// Config says which database to open.
type Config struct {
	Driver string            // DriverSQLite, or DriverMySQL; SQLite when ""
	Names  map[string]string // names of the databases that differ from the specification's
	Busy   time.Duration     // how long to wait for a lock of another process; 30 s when 0

	Server Server // of MySQL

	// Of SQLite.
	Path        string // the file; its folder is made when it is not there
	Readers     int    // connections that read at once; 2 when 0
	Synchronous string // "FULL" when empty: a committed transaction outlives a power cut; "NORMAL" a crash
	CacheKB     int    // page cache of one connection; 16384 when 0
}

// DB is an open database. Its methods may be called by several goroutines.
type DB struct {
	cfg      Config
	writers  *sql.DB
	readers  *sql.DB
	definers *sql.DB        // MySQL: one connection that makes and drops tables
	numbers  sync.Map       // MySQL: of connections, at the server
	writer   chan *sql.Conn // SQLite: holds the one writing connection; nil in it: not open yet
	steps    []step
	dialect  expr.Dialect
	texts    map[string]text // named statements
}

// Open opens the database and brings its schema up to date; several processes
// may do so at the same time. The error answers to Critical when the file cannot
// be used, and is ErrNewer for a file of a newer program. The caller closes.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	d, err := open(ctx, cfg)
	if err != nil {
		where := cfg.Path
		if cfg.Driver == DriverMySQL {
			where = cfg.Server.driverConfig(0).Addr
		}
		return nil, fmt.Errorf("db.Open: %s: %w", where, err)
	}
	return d, nil
}

func open(ctx context.Context, cfg Config) (*DB, error) {
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
		return nil, fmt.Errorf("driver %q is not known, %q and %q are", cfg.Driver, DriverSQLite, DriverMySQL)
	}
	var err error
	d.steps, err = loadSteps(cfg.Driver)
	if err != nil {
		return nil, err
	}
	templates, err := loadTexts(cfg.Driver)
	if err != nil {
		return nil, err
	}
	d.setTexts(templates)
	err = openPools(ctx)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err != nil {
		d.Close()
		return nil, d.away(err)
	}
	return d, nil
}

// Close waits for the transaction that writes, and closes the connections.
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
	for _, pool := range []*sql.DB{d.readers, d.writers, d.definers} {
		if pool != nil {
			list = append(list, pool.Close())
		}
	}
	return errors.Join(list...)
}
