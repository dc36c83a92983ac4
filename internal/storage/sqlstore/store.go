// Package sqlstore stores sites and their URLs in SQL: one method per request, from
// checked wire types to rows and back.
//
//	s := sqlstore.Open(database, sqlstore.Options{Log: log})
//	answer, err := s.SiteNew(ctx, request)
//	urls, err := s.URLFetch(ctx, fetches)
//	marks, err := s.MarkCrawling(ctx, site, batch, urls) // Status 3
//	err = s.FinishCrawl(ctx, site, batch, results)       // Status 4
//
// One batch at a time holds a row: Status 2, 3, 8 (crawling) or 5, 6 (processing)
// with its Batch_Id. Results of a batch that no longer holds the row are ignored.
//
// On SQLite one table holds the rows of all sites, so every statement here selects
// the site. Expressions in requests may use the names of the specification, such as
// urls_<site>, on both databases. They reach the database through package expr only.
//
// A method is one transaction, unless its comment says otherwise. An invalid request
// is reported in the answer if the answer has a field for it. An error means that the
// transaction changed nothing. Files of deleted contents are listed by Trash.
//
// Times are UTC, from Options.Now. Methods are safe for concurrent use.
// Sources: docs/spec/storage.md 1, 4.
package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/keyset"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// Options of a Store. STATS_* properties of a site override StatsFreq and StatsLog
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

// database is an open database with the options of its Store.
type database struct {
	*sqldb.DB
	options Options
}

// Store holds sites and URLs in an open database.
type Store struct {
	db    *database
	links linkMemory
	freq  freqMemory
}

// Open returns a Store on an open database. The caller closes the database.
func Open(d *sqldb.DB, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CustomTime == 0 {
		o.CustomTime = 30 * time.Second
	}
	return &Store{db: &database{DB: d, options: o}, links: linkMemory{keys: keyset.Set{Max: maxRemembered}}, freq: freqMemory{freqLimits: defaultFreqLimits}}
}

// tx is a transaction with a fixed time.
type tx struct {
	*sqldb.Tx
	s       *Store
	options *Options
	time    time.Time
	now     string // time in the format of the database
	lock    bool   // storedID locks the site
	// place has the owners of hosts. In a view it has none.
	place placement.Placement
	// size of the answer of URL_HISTORY or URL_STATS
	records, recordBytes int
	stats                map[string]*statistics // by site
	schema               int64                  // version in SQLite; 0: not read yet
}

func (s *Store) newTx(t *sqldb.Tx) *tx {
	now := s.db.options.Now().UTC().Truncate(time.Second)
	return &tx{Tx: t, s: s, options: &s.db.options, time: now, now: now.Format(wire.DateLayout), stats: map[string]*statistics{}}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	err := s.db.View(ctx, func(t *sqldb.Tx) error { return read(s.newTx(t)) })
	if err != nil {
		return fmt.Errorf("read the database for %s: %w", op, err)
	}
	return nil
}

// runUpdateTx runs change in a transaction. The database may run change several times, so
// change must reset its results first.
func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	var place placement.Placement
	var err error
	if s.db.options.Placement != nil {
		if place, err = s.db.options.Placement(); err != nil {
			return fmt.Errorf("change the database for %s: %w", op, err)
		}
	}
	err = s.db.Update(ctx, func(dt *sqldb.Tx) error {
		t := s.newTx(dt)
		t.lock, t.place = true, place
		return change(t)
	})
	if err != nil {
		return fmt.Errorf("change the database for %s: %w", op, err)
	}
	return nil
}

// transact is Store.runReadTx or Store.runUpdateTx. X is the transaction.
type transact[X any] func(ctx context.Context, op string, do func(X) error) error

// runForResult returns what do computes in a transaction.
func runForResult[X, T any](ctx context.Context, run transact[X], op string, do func(X) (T, error)) (T, error) {
	var value T
	err := run(ctx, op, func(t X) (err error) {
		value, err = do(t)
		return err
	})
	return value, err
}

// storedID returns the id of a site as stored, or "" for an unknown site. In an update
// it locks the site's row. Lock a site before its rows: this serialises the changes of
// one site.
func (t *tx) storedID(id string) (string, error) {
	text := "SELECT Id FROM " + t.sitesTable() + " WHERE Id = ?"
	if t.lock {
		text += t.DB.ForUpdate()
	}
	var stored string
	_, err := t.Row(text, []any{id}, &stored)
	return stored, err
}

// StoredID returns the id of a site as stored, or id for an unknown site.
func (s *Store) StoredID(ctx context.Context, id string) (string, error) {
	stored, err := runForResult(ctx, s.runReadTx, "StoredID", func(t *tx) (string, error) { return t.storedID(id) })
	if stored == "" {
		stored = id
	}
	return stored, err
}

// openSite is storedID for operations of task programs: an unknown site is an error with
// CodeNotFound.
func (t *tx) openSite(id string) (string, error) {
	site, err := t.storedID(id)
	if err == nil && site == "" {
		err = &wire.Error{Op: "open site", Code: wire.CodeNotFound, Err: unknownSite("site", "", id)}
	}
	return site, err
}

func unknownSite(object, field, id string) *wire.FieldError {
	return &wire.FieldError{Object: object, Field: field, Value: clipText(id), Reason: "is no known site"}
}

// ProcessedSites returns the ids of the sites that count processed contents.
func (s *Store) ProcessedSites(ctx context.Context) ([]string, error) {
	return runForResult(ctx, s.runReadTx, "ProcessedSites", func(t *tx) ([]string, error) { return namedColumn[string](t, "sites_processed") })
}

// SiteIDs returns the ids of all sites.
func (s *Store) SiteIDs(ctx context.Context) ([]string, error) {
	return runForResult(ctx, s.runReadTx, "SiteIDs", func(t *tx) ([]string, error) { return namedColumn[string](t, "sites_all") })
}
