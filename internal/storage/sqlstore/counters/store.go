// Package counters changes rows together with what depends on them: the counters of their site, its statistics
// and its journal.
//
//	err := t.RunCounted(site, md5s, change)   // counts the rows before and after change
//	err = t.StatisticsOf(site).RecordStatus(md5, status, row)
//
// It imports tables and limits.
package counters

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
	stats map[string]*Statistics // by site
}

// NewTx returns the operations of this package on a transaction.
func NewTx(t *tables.Tx) *Tx {
	return &Tx{tableTx: t, stats: map[string]*Statistics{}}
}
