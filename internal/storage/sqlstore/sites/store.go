// Package sites has the requests about sites: new, status, find, update, delete and cleanup; their root URLs and
// lists, proxies, dates of recrawls, and the site of a new URL.
//
// It imports tables, limits and counters.
package sites

import (
	"context"

	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db       *tables.DB
	counters *counters.Store
}

// New returns a Store on db.
func New(db *tables.DB, counters *counters.Store) *Store { return &Store{db: db, counters: counters} }

type (
	tableTx   = tables.Tx
	limitTx   = limits.Tx
	counterTx = counters.Tx
)

// Tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type Tx struct {
	*tableTx
	*limitTx
	*counterTx
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx, l *limits.Tx, c *counters.Tx) *Tx {
	return &Tx{tableTx: t, limitTx: l, counterTx: c}
}

func (s *Store) newTx(t *tables.Tx) *Tx {
	limit := limits.NewTx(t)
	counter := counters.NewTx(t)
	return NewTx(t, limit, counter)
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*Tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*Tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
