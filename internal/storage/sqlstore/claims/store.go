// Package claims takes rows for tasks and gives them back: the selection of rows that are due, their marks, and
// rows of a lost task.
//
// It imports tables, limits, attributes, counters and sites.
package claims

import (
	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db  *tables.DB
	run tables.Runner[*tx]
}

// New returns a Store on db.
func New(db *tables.DB) *Store {
	return &Store{db: db, run: tables.NewRunner(db, newTx)}
}

type (
	tableTx     = tables.Tx
	attributeTx = attributes.Tx
	siteTx      = sites.Tx
)

// tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type tx struct {
	*tableTx
	*attributeTx
	*siteTx
}

func newTx(t *tables.Tx) *tx {
	return &tx{tableTx: t, attributeTx: attributes.NewTx(t), siteTx: sites.NewTx(t)}
}
