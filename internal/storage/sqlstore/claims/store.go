// Package claims takes rows for tasks and gives them back: the selection of rows that are due, their marks, and
// rows of a lost task.
//
// It imports tables, limits, attributes, counters and sites.
package claims

import (
	"context"

	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db *tables.DB
}

// New returns a Store on db.
func New(db *tables.DB) *Store { return &Store{db: db} }

type (
	tableTx     = tables.Tx
	limitTx     = limits.Tx
	attributeTx = attributes.Tx
	counterTx   = counters.Tx
	siteTx      = sites.Tx
)

// tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type tx struct {
	*tableTx
	*limitTx
	*attributeTx
	*counterTx
	*siteTx
}

func (s *Store) newTx(t *tables.Tx) *tx {
	limit := limits.NewTx(t)
	attribute := attributes.NewTx(t)
	counter := counters.NewTx(t)
	site := sites.NewTx(t, limit, counter)
	return &tx{tableTx: t, limitTx: limit, attributeTx: attribute, counterTx: counter, siteTx: site}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
