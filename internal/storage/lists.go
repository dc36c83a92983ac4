package storage

import (
	"context"
	"encoding/json"

	"hce/dc/internal/wire"
)

// readChecked is checked for a reader that several operations share: it is told
// how errors call the list.
func readChecked[R interface{ Check(object string) error }](object string, raw json.RawMessage, n *wire.Notes, read func(string, json.RawMessage, *wire.Notes) ([]R, error)) ([]R, error) {
	return checked(raw, n, object, func(raw json.RawMessage, n *wire.Notes) ([]R, error) { return read(object, raw, n) })
}

func (repo *Repository) proxyNew(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("ProxyNew", raw, n, wire.ReadProxies)
	if err != nil {
		return nil, err
	}
	return repo.Store.ProxyNew(ctx, list)
}

func (repo *Repository) proxyUpdate(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("ProxyUpdate", raw, n, wire.ReadProxies)
	if err != nil {
		return nil, err
	}
	return repo.Store.ProxyUpdate(ctx, list)
}

func (repo *Repository) proxyDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("ProxyDelete", raw, n, wire.ReadProxySelections)
	if err != nil {
		return nil, err
	}
	return repo.Store.ProxyDelete(ctx, list)
}

func (repo *Repository) proxyStatus(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("ProxyStatus", raw, n, wire.ReadProxySelections)
	if err != nil {
		return nil, err
	}
	return repo.Store.ProxyStatus(ctx, list)
}

func (repo *Repository) proxyFind(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("ProxyFind", raw, n, wire.ReadProxyFind)
	if err != nil {
		return nil, err
	}
	return repo.Store.ProxyFind(ctx, list)
}

func (repo *Repository) attributeSet(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("AttributeSet", raw, n, wire.ReadAttributes)
	if err != nil {
		return nil, err
	}
	return repo.Store.AttributeSet(ctx, list)
}

func (repo *Repository) attributeUpdate(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("AttributeUpdate", raw, n, wire.ReadAttributes)
	if err != nil {
		return nil, err
	}
	return repo.Store.AttributeUpdate(ctx, list)
}

func (repo *Repository) attributeDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("AttributeDelete", raw, n, wire.ReadAttributeSelections)
	if err != nil {
		return nil, err
	}
	return repo.Store.AttributeDelete(ctx, list)
}

func (repo *Repository) attributeFetch(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := readChecked("AttributeFetch", raw, n, wire.ReadAttributeSelections)
	if err != nil {
		return nil, err
	}
	return repo.Store.AttributeFetch(ctx, list)
}

func (repo *Repository) sqlCustom(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadCustom(raw, n)
	if err != nil {
		return nil, err
	}
	return repo.Store.Custom(ctx, r, repo.SQLCustom)
}
