package sqlstore

import (
	"context"

	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
)

type (
	tableTx = tables.Tx
	siteTx  = sites.Tx
)

// tx is a transaction of a test, with operations of the packages.
type tx struct {
	*tableTx
	*siteTx
}

func newTx(t *tables.Tx) *tx { return &tx{t, sites.NewTx(t)} }

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return tables.NewRunner(s.db, newTx).Read(ctx, op, read)
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return tables.NewRunner(s.db, newTx).Update(ctx, op, change)
}
