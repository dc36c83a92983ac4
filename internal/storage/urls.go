package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
)

// checked reads a list and checks its elements by their names.
func checked[T interface{ Check(object string) error }](raw json.RawMessage, n *wire.Notes, object string, read func(json.RawMessage, *wire.Notes) ([]T, error)) ([]T, error) {
	list, err := read(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := r.Check(fmt.Sprintf("%s[%d]", object, i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (repo *Repository) urlDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLDelete", wire.ReadURLDelete)
	if err != nil {
		return nil, err
	}
	return repo.emptied(ctx, func() (wire.GeneralResponse, error) { return repo.Store.URLDelete(ctx, list) })
}

func (repo *Repository) urlCleanup(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLCleanup", wire.ReadURLCleanup)
	if err != nil {
		return nil, err
	}
	return repo.emptied(ctx, func() (wire.GeneralResponse, error) { return repo.Store.URLCleanup(ctx, list) })
}

func (repo *Repository) urlPurge(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLPurge", wire.ReadURLPurge)
	if err != nil {
		return nil, err
	}
	return repo.emptied(ctx, func() (wire.GeneralResponse, error) { return repo.Store.URLPurge(ctx, list) })
}

func (repo *Repository) urlAge(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLAge(raw, n)
	if err != nil {
		return nil, err
	}
	return repo.emptied(ctx, func() (wire.GeneralResponse, error) { return repo.Store.URLAge(ctx, list) })
}

// emptied runs a change, then removes what it left in the trash; also what its
// first steps left when a later one failed.
func (repo *Repository) emptied(ctx context.Context, change func() (wire.GeneralResponse, error)) (any, error) {
	answer, err := change()
	if e := repo.EmptyTrash(ctx); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (repo *Repository) urlVerify(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLVerify", wire.ReadURLVerify)
	if err != nil {
		return nil, err
	}
	return repo.Store.URLVerify(ctx, list)
}

func (repo *Repository) urlHistory(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLHistoryRequest", wire.ReadURLHistory)
	if err != nil {
		return nil, err
	}
	return repo.Store.URLHistory(ctx, list)
}

func (repo *Repository) urlStats(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLStatsRequest", wire.ReadURLStats)
	if err != nil {
		return nil, err
	}
	return repo.Store.URLStats(ctx, list)
}

func (repo *Repository) fieldRecalc(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "FieldRecalculator", wire.ReadRecalc)
	if err != nil {
		return nil, err
	}
	return repo.Store.Recalculate(ctx, list)
}
