package dbtask

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/dc"
)

// checked reads a list and checks its elements by their names.
func checked[T interface{ Check(object string) error }](raw json.RawMessage, n *dc.Notes, object string, read func(json.RawMessage, *dc.Notes) ([]T, error)) ([]T, error) {
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

func (o *Owner) urlDelete(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLDelete", dc.ReadURLDelete)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (dc.GeneralResponse, error) { return o.Store.URLDelete(ctx, list) })
}

func (o *Owner) urlCleanup(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLCleanup", dc.ReadURLCleanup)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (dc.GeneralResponse, error) { return o.Store.URLCleanup(ctx, list) })
}

func (o *Owner) urlPurge(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLPurge", dc.ReadURLPurge)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (dc.GeneralResponse, error) { return o.Store.URLPurge(ctx, list) })
}

func (o *Owner) urlAge(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := dc.ReadURLAge(raw, n)
	if err != nil {
		return nil, err
	}
	return o.emptied(ctx, func() (dc.GeneralResponse, error) { return o.Store.URLAge(ctx, list) })
}

// emptied runs a change, then removes what it left in the trash; also what its
// first steps left when a later one failed.
func (o *Owner) emptied(ctx context.Context, change func() (dc.GeneralResponse, error)) (any, error) {
	answer, err := change()
	if e := o.EmptyTrash(ctx); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (o *Owner) urlVerify(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLVerify", dc.ReadURLVerify)
	if err != nil {
		return nil, err
	}
	return o.Store.URLVerify(ctx, list)
}

func (o *Owner) urlHistory(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLHistoryRequest", dc.ReadURLHistory)
	if err != nil {
		return nil, err
	}
	return o.Store.URLHistory(ctx, list)
}

func (o *Owner) urlStats(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "URLStatsRequest", dc.ReadURLStats)
	if err != nil {
		return nil, err
	}
	return o.Store.URLStats(ctx, list)
}

func (o *Owner) fieldRecalc(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	list, err := checked(raw, n, "FieldRecalculator", dc.ReadRecalc)
	if err != nil {
		return nil, err
	}
	return o.Store.Recalculate(ctx, list)
}
