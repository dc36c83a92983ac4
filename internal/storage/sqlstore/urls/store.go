// Package urls has the requests about rows of URLs: new, status, update, verify, delete, cleanup, purge, ageing,
// history and statistics.
//
// It imports tables, attributes, counters and sites.
package urls

import (
	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/sites"
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

type (
	tableTx     = tables.Tx
	attributeTx = attributes.Tx
	siteTx      = sites.Tx
)

// Tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type Tx struct {
	*tableTx
	*attributeTx
	*siteTx
	// size of the answer of URL_HISTORY or URL_STATS
	records, recordBytes int
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx) *Tx {
	return &Tx{tableTx: t, attributeTx: attributes.NewTx(t), siteTx: sites.NewTx(t)}
}
