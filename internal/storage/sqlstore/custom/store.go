// Package custom runs SQL_CUSTOM: statements of clients, in the dialect and with the table names of the
// specification (docs/spec/storage.md 4.21).
//
// It imports tables and counters.
package custom

import (
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db  *tables.DB
	run tables.Runner[*tx]
}

// New returns a Store on db.
func New(db *tables.DB) *Store {
	s := &Store{db: db}
	s.run = tables.NewRunner(db, s.newTx)
	return s
}

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
	return &tx{tableTx: t, counterTx: counters.NewTx(t), s: s}
}
