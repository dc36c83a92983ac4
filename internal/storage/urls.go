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

func (o *Owner) urlDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLDelete", wire.ReadURLDelete)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (wire.GeneralResponse, error) { return o.Store.URLDelete(ctx, list) })
}

func (o *Owner) urlCleanup(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLCleanup", wire.ReadURLCleanup)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (wire.GeneralResponse, error) { return o.Store.URLCleanup(ctx, list) })
}

func (o *Owner) urlPurge(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLPurge", wire.ReadURLPurge)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (wire.GeneralResponse, error) { return o.Store.URLPurge(ctx, list) })
}

func (o *Owner) urlAge(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLAge(raw, n)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (wire.GeneralResponse, error) { return o.Store.URLAge(ctx, list) })
}

// emptied runs a change, then removes what it left in the trash; also what its
// first steps left when a later one failed.
func (o *Owner) emptied(ctx context.Context, change func() (wire.GeneralResponse, error)) (any, error) {
	answer, err := change()
	if e := o.EmptyTrash(ctx); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (o *Owner) urlVerify(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLVerify", wire.ReadURLVerify)
	if err != nil {
		return nil, err
	}
	return o.Store.URLVerify(ctx, list)
}

func (o *Owner) urlHistory(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLHistoryRequest", wire.ReadURLHistory)
	if err != nil {
		return nil, err
	}
	return o.Store.URLHistory(ctx, list)
}

func (o *Owner) urlStats(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLStatsRequest", wire.ReadURLStats)
	if err != nil {
		return nil, err
	}
	return o.Store.URLStats(ctx, list)
}

func (o *Owner) fieldRecalc(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "FieldRecalculator", wire.ReadRecalc)
	if err != nil {
		return nil, err
	}
	return o.Store.Recalculate(ctx, list)
}
