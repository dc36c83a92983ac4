// Package urls has the requests about rows of URLs: new, status, update, verify, delete, cleanup, purge, ageing,
// history and statistics.
//
// It imports tables, limits, attributes, counters and sites.
package urls

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

// Tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type Tx struct {
	*tableTx
	*limitTx
	*attributeTx
	*counterTx
	*siteTx
	// size of the answer of URL_HISTORY or URL_STATS
	records, recordBytes int
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx, l *limits.Tx, a *attributes.Tx, c *counters.Tx, s *sites.Tx) *Tx {
	return &Tx{tableTx: t, limitTx: l, attributeTx: a, counterTx: c, siteTx: s}
}

func (s *Store) newTx(t *tables.Tx) *Tx {
	limit := limits.NewTx(t)
	attribute := attributes.NewTx(t)
	counter := counters.NewTx(t)
	site := sites.NewTx(t, limit, counter)
	return NewTx(t, limit, attribute, counter, site)
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*Tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*Tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
