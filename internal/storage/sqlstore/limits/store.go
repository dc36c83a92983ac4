// Package limits says how many rows and resources of a site this node may have, and keeps what does not fit here:
// links that wait for a larger lease, and links that wait for the node that owns their host.
//
//	c, err := t.ReadCapacity(site)
//	kept, dropped, err := t.SelectFittingRows(site, c, fresh)
//
// It imports tables only.
package limits

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
