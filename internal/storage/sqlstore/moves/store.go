// Package moves takes rows from elsewhere and gives them away: hosts that change their node, imports of older
// databases, and rows with keys of an older version.
//
// It imports tables, attributes, counters and sites.
package moves

import (
	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db         *tables.DB
	run        tables.Runner[*tx]
	attributes *attributes.Store
	sites      *sites.Store
}

// New returns a Store on db.
func New(db *tables.DB, attributes *attributes.Store, sites *sites.Store) *Store {
	return &Store{db: db, run: tables.NewRunner(db, newTx), attributes: attributes, sites: sites}
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
