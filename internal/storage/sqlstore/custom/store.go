// Package custom runs SQL_CUSTOM: statements of clients, in the dialect and with the table names of the
// specification (docs/spec/storage.md 4.21).
//
// It imports tables and counters.
package custom

import (
	"context"

	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db *tables.DB
}

// New returns a Store on db.
func New(db *tables.DB) *Store { return &Store{db: db} }

type (
	tableTx   = tables.Tx
	counterTx = counters.Tx
)

// tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type tx struct {
	*tableTx
	*counterTx
	s *Store
}

func (s *Store) newTx(t *tables.Tx) *tx {
	counter := counters.NewTx(t)
	return &tx{tableTx: t, counterTx: counter, s: s}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
