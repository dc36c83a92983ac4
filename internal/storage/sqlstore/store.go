// Package sqlstore keeps sites and their URLs: each method is one request and one
// transaction, from checked dc types to rows and back.
//
//	s := sqlstore.Open(database, sqlstore.Options{Log: log})
//	answer, err := s.SiteNew(ctx, request)
//	urls, err := s.URLFetch(ctx, fetches)
//	marks, err := s.MarkCrawling(ctx, site, batch, urls) // Status 3
//	err = s.FinishCrawl(ctx, site, batch, results)       // Status 4
//
// A row is held by one batch at a time: Status 2, 3, 8 (crawling) or 5, 6
// (processing) with its Batch_Id. What a batch brings later than that is left
// alone, so that a lost task that comes back does no harm.
//
// The specification has tables urls_<site>. On SQLite the rows of all sites stand
// in one table (package sqldb says why): each of our texts chooses the site, and
// texts from outside may use those names on both databases.
//
// The counters of a site's row (docs/spec/storage.md 4.0.4) change in the same transaction as
// the rows that they count; counters.go says how, and what is lazy.
//
// What a request gets wrong, as an unknown site or an expression that package
// expr refuses, is part of its answer where the answer has a place for it; an
// error means that nothing was changed. Conditions from outside reach the
// database through package expr alone. Texts and tables are package sqldb's and
// live in sql/. Files of contents are other packages': what a change leaves to
// be removed is listed by Trash.
//
// Times are UTC, from Options.Now. Methods may be called by several goroutines.
package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Options of a Store.
type Options struct {
	Now       func() time.Time // time.Now when nil
	Log       *slog.Logger     // nothing is logged when nil
	StatsFreq bool             // keep freq_ where a site's properties do not say (docs/spec/storage.md 4.0.3)
	StatsLog  bool             // keep log_ where a site's properties do not say

	CustomTime time.Duration // how long one SQL_CUSTOM may take; 30 s when 0
}

// Store is sites and URLs in an open database.
type Store struct {
	db *sqldb.DB
	o  Options
}

// Open makes a Store of an open database, which stays the caller's to close.
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
	return &Store{db: d, o: o}
}

// tx is a transaction at one moment.
type tx struct {
	*sqldb.Tx
	s    *Store
	time time.Time
	now  string // time as dates are stored
	lock bool   // the transaction changes sites: one that it knows is locked
}

func (s *Store) tx(t *sqldb.Tx) *tx {
	now := s.o.Now().UTC().Truncate(time.Second)
	return &tx{Tx: t, s: s, time: now, now: now.Format(wire.DateLayout)}
}

func (s *Store) view(ctx context.Context, op string, read func(*tx) error) error {
	err := s.db.View(ctx, func(t *sqldb.Tx) error { return read(s.tx(t)) })
	if err != nil {
		return fmt.Errorf("store.%s: %w", op, err)
	}
	return nil
}

// update runs change in a transaction. It may run several times, when databases
// make it yield to another transaction: it begins with its results empty.
func (s *Store) update(ctx context.Context, op string, change func(*tx) error) error {
	err := s.db.Update(ctx, func(dt *sqldb.Tx) error {
		t := s.tx(dt)
		t.lock = true
		return change(t)
	})
	if err != nil {
		return fmt.Errorf("store.%s: %w", op, err)
	}
	return nil
}

// known gives the id of a site as it is stored, or "" for an unknown one. In a
// transaction that changes something it locks the site, which comes before any
// change of the site's rows: so changes of one site come one after the other.
func (t *tx) known(id string) (string, error) {
	text := "SELECT Id FROM " + t.DB.Table(sqldb.Sites, "sites") + " WHERE Id = ?"
	if t.lock {
		text += t.DB.ForUpdate()
	}
	var stored string
	_, err := t.Row(text, []any{id}, &stored)
	return stored, err
}
