// Package outcomes stores what finished tasks found: outcomes of rows, and links. It remembers links of the last
// pages, so that most known links need no query.
//
// It imports tables, limits, attributes, counters, sites and urls.
package outcomes

import (
	"context"

	"hce/dc/internal/keyset"
	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/storage/sqlstore/urls"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db    *tables.DB
	links linkMemory
	freq  freqMemory
}

// New returns a Store on db.
func New(db *tables.DB) *Store {
	return &Store{db: db, links: linkMemory{keys: keyset.Set{Max: MaxRemembered}}, freq: freqMemory{FreqLimits: DefaultFreqLimits}}
}

type (
	tableTx     = tables.Tx
	limitTx     = limits.Tx
	attributeTx = attributes.Tx
	counterTx   = counters.Tx
	siteTx      = sites.Tx
	urlTx       = urls.Tx
)

// tx is a transaction of this package. A method that several of the embedded ones promote is that of tableTx.
type tx struct {
	*tableTx
	*limitTx
	*attributeTx
	*counterTx
	*siteTx
	*urlTx
	s      *Store
	schema int64 // version in SQLite; 0: not read yet
}

func (s *Store) newTx(t *tables.Tx) *tx {
	limit := limits.NewTx(t)
	attribute := attributes.NewTx(t)
	counter := counters.NewTx(t)
	site := sites.NewTx(t, limit, counter)
	url := urls.NewTx(t, limit, attribute, counter, site)
	return &tx{tableTx: t, limitTx: limit, attributeTx: attribute, counterTx: counter, siteTx: site, urlTx: url, s: s}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
