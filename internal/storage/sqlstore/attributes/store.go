// Package attributes reads and changes the attributes of URLs (docs/spec/storage.md 1.8).
//
//	err := t.FillAttributes(site, rows, names)
//
// It imports tables only.
package attributes

import (
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db  *tables.DB
	run tables.Runner[*Tx]
}

// New returns a Store on db.
func New(db *tables.DB) *Store {
	return &Store{db: db, run: tables.NewRunner(db, NewTx)}
}

type tableTx = tables.Tx

// Tx is a transaction of this package.
type Tx struct {
	*tableTx
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx) *Tx {
	return &Tx{tableTx: t}
}
