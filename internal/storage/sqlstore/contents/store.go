// Package contents stores processed contents in tables of the SQL database.
//
// It imports tables only.
package contents

import (
	"context"

	"hce/dc/internal/storage/sqlstore/tables"
)

// Store runs the operations of this package. Goroutines may share it.
type Store struct {
	db *tables.DB
}

// New returns a Store on db.
func New(db *tables.DB) *Store { return &Store{db: db} }

type (
	tableTx = tables.Tx
)

// tx is a transaction of this package.
type tx struct {
	*tableTx
}

func (s *Store) newTx(t *tables.Tx) *tx {
	return &tx{tableTx: t}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(s.newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(s.newTx(t)) })
}
