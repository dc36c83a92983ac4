package urls

import (
	"context"

	"hce/dc/internal/storage/sqlstore/tables"
)

// changePages calls do, each time in a transaction, until p is done.
func (s *Store) changePages(ctx context.Context, op string, p tables.KeyPages, do func(*Tx, *tables.KeyPages) error) (tables.KeyPages, error) {
	for !p.Done {
		next, err := tables.RunForResult(ctx, s.run.Update, op, func(t *Tx) (tables.KeyPages, error) {
			next := p
			err := do(t, &next)
			return next, err
		})
		if err != nil {
			return p, err
		}
		p = next
	}
	return p, nil
}
