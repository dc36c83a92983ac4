package sqlstore

import (
	"context"

	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
)

type (
	tableTx   = tables.Tx
	counterTx = counters.Tx
	siteTx    = sites.Tx
)

// tx is a transaction of a test, with operations of the packages.
type tx struct {
	*tableTx
	*counterTx
	*siteTx
}

func newTx(t *tables.Tx) *tx {
	counter := counters.NewTx(t)
	return &tx{t, counter, sites.NewTx(t, limits.NewTx(t), counter)}
}

func (s *Store) runReadTx(ctx context.Context, op string, read func(*tx) error) error {
	return s.db.RunReadTx(ctx, op, func(t *tables.Tx) error { return read(newTx(t)) })
}

func (s *Store) runUpdateTx(ctx context.Context, op string, change func(*tx) error) error {
	return s.db.RunUpdateTx(ctx, op, func(t *tables.Tx) error { return change(newTx(t)) })
}
