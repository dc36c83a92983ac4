// Package tables is a transaction with a fixed time on the tables of sites and URLs, and what every
// operation on them needs: names of tables, scopes of expressions, criteria as clauses, pages of keys,
// selections of sites, reading rows, and inserts and updates by column.
//
//	err := db.RunUpdateTx(ctx, "NAME", func(t *tables.Tx) error {
//		rows, err := t.ReadURLs(site, md5s)
//		...
//	})
//
// It imports no other package below sqlstore. The packages of the operations embed its Tx in a transaction
// of their own.
package tables

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
)

// Options of a store. STATS_* properties of a site override StatsFreq and StatsLog
// (docs/spec/storage.md 4.0.3).
type Options struct {
	Now        func() time.Time // time.Now if nil
	Log        *slog.Logger     // no log if nil
	StatsFreq  bool             // count events in freq_<site>
	StatsLog   bool             // write events to the journal log_<site>
	CustomTime time.Duration    // time limit of one SQL_CUSTOM; 30 s if 0
	// FreqDelay is how long FinishCrawl may keep what it adds to the Freq of known links,
	// until a later FinishCrawl or Flush stores it; up to a minute for sites with many known
	// links. A kill loses what was kept. 0: it is stored at once. The owner then calls
	// FlushAll before it closes the database.
	FreqDelay time.Duration
	// Placement returns which node of a cluster owns which host, at the start of each change. Its
	// error is that of the change. Nil: there is no cluster.
	Placement func() (placement.Placement, error)
}

// DB is an open database with the options of its store. Goroutines may share it.
type DB struct {
	*sqldb.DB
	Options Options
}

// Open returns a DB on an open database, which the caller closes, with the defaults of o.
func Open(d *sqldb.DB, o Options) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CustomTime == 0 {
		o.CustomTime = 30 * time.Second
	}
	return &DB{DB: d, Options: o}
}

// Tx is a transaction with a fixed time. Only one goroutine may use it, and only within the function
// that received it.
type Tx struct {
	*sqldb.Tx
	Options *Options
	Time    time.Time
	Now     string // time in the format of the database
	lock    bool   // StoredID locks the site
	// Place has the owners of hosts. In a view it has none.
	Place placement.Placement
}

func (d *DB) newTx(t *sqldb.Tx) *Tx {
	now := d.Options.Now().UTC().Truncate(time.Second)
	return &Tx{Tx: t, Options: &d.Options, Time: now, Now: now.Format(schema.DateLayout)}
}

// RunReadTx runs read in a transaction that changes nothing. op names the operation in errors.
func (d *DB) RunReadTx(ctx context.Context, op string, read func(*Tx) error) error {
	err := d.View(ctx, func(t *sqldb.Tx) error { return read(d.newTx(t)) })
	if err != nil {
		return fmt.Errorf("read the database for %s: %w", op, err)
	}
	return nil
}

// RunUpdateTx runs change in a transaction. The database may run change several times, so
// change must reset its results first.
func (d *DB) RunUpdateTx(ctx context.Context, op string, change func(*Tx) error) error {
	var place placement.Placement
	var err error
	if d.Options.Placement != nil {
		if place, err = d.Options.Placement(); err != nil {
			return fmt.Errorf("change the database for %s: %w", op, err)
		}
	}
	err = d.Update(ctx, func(dt *sqldb.Tx) error {
		t := d.newTx(dt)
		t.lock, t.Place = true, place
		return change(t)
	})
	if err != nil {
		return fmt.Errorf("change the database for %s: %w", op, err)
	}
	return nil
}

// Runner runs operations in transactions of a package, which embed Tx. X is their type. Goroutines may share it.
type Runner[X any] struct {
	db   *DB
	open func(*Tx) X
}

// NewRunner returns a Runner on db. open puts the operations of a package on a transaction.
func NewRunner[X any](db *DB, open func(*Tx) X) Runner[X] { return Runner[X]{db, open} }

// Read is DB.RunReadTx.
func (r Runner[X]) Read(ctx context.Context, op string, read func(X) error) error {
	return r.db.RunReadTx(ctx, op, func(t *Tx) error { return read(r.open(t)) })
}

// Update is DB.RunUpdateTx.
func (r Runner[X]) Update(ctx context.Context, op string, change func(X) error) error {
	return r.db.RunUpdateTx(ctx, op, func(t *Tx) error { return change(r.open(t)) })
}
