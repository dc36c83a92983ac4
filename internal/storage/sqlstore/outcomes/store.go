// Package outcomes stores what finished tasks found: outcomes of rows, and links. It remembers links of the last
// pages, so that most known links need no query.
//
// It imports tables, limits, counters, sites and urls.
package outcomes

import (
	"hce/dc/internal/keyset"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/storage/sqlstore/urls"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db    *tables.DB
	run   tables.Runner[*tx]
	links linkMemory
	freq  freqMemory
}

// New returns a Store on db.
func New(db *tables.DB) *Store {
	s := &Store{db: db, links: linkMemory{keys: keyset.Set{Max: MaxRemembered}}, freq: freqMemory{FreqLimits: DefaultFreqLimits}}
	s.run = tables.NewRunner(db, s.newTx)
	return s
}

type (
	tableTx = tables.Tx
	urlTx   = urls.Tx
)

// tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type tx struct {
	*tableTx
	*urlTx
	s      *Store
	schema int64 // version in SQLite; 0: not read yet
}

func (s *Store) newTx(t *tables.Tx) *tx {
	return &tx{tableTx: t, urlTx: urls.NewTx(t), s: s}
}
