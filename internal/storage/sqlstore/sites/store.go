// Package sites has the requests about sites: new, status, find, update, delete and cleanup; their root URLs and
// lists, proxies, dates of recrawls, and the site of a new URL.
//
// It imports tables, limits and counters.
package sites

import (
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db       *tables.DB
	run      tables.Runner[*Tx]
	counters *counters.Store
}

// New returns a Store on db.
func New(db *tables.DB, counters *counters.Store) *Store {
	return &Store{db: db, run: tables.NewRunner(db, NewTx), counters: counters}
}

type (
	tableTx   = tables.Tx
	limitTx   = limits.Tx
	counterTx = counters.Tx
)

// Tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type Tx struct {
	*tableTx
	*limitTx
	*counterTx
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx) *Tx {
	return &Tx{tableTx: t, limitTx: limits.NewTx(t), counterTx: counters.NewTx(t)}
}
