// Package contents stores processed contents in tables of the SQL database.
//
// It imports tables only.
package contents

import (
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

type tableTx = tables.Tx

// tx is a transaction of this package.
type tx struct {
	*tableTx
}

func newTx(t *tables.Tx) *tx {
	return &tx{tableTx: t}
}
