package tables

import (
	"context"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// Transact is RunReadTx or RunUpdateTx. X is the transaction.
type Transact[X any] func(ctx context.Context, op string, do func(X) error) error

// RunForResult returns what do computes in a transaction.
func RunForResult[X, T any](ctx context.Context, run Transact[X], op string, do func(X) (T, error)) (T, error) {
	var value T
	err := run(ctx, op, func(t X) (err error) {
		value, err = do(t)
		return err
	})
	return value, err
}

// StoredID returns the id of a site as stored, or "" for an unknown site. In an update
// it locks the site's row. Lock a site before its rows: this serialises the changes of
// one site.
func (t *Tx) StoredID(id string) (string, error) {
	text := "SELECT Id FROM " + t.SitesTable() + " WHERE Id = ?"
	if t.lock {
		text += t.DB.ForUpdate()
	}
	var stored string
	_, err := t.Row(text, []any{id}, &stored)
	return stored, err
}

// OpenSite is StoredID for operations of task programs: an unknown site is an error with
// CodeNotFound.
func (t *Tx) OpenSite(id string) (string, error) {
	site, err := t.StoredID(id)
	if err == nil && site == "" {
		err = &wire.Error{Op: "open site", Code: wire.CodeNotFound, Err: UnknownSite("site", "", id)}
	}
	return site, err
}

// UnknownSite is the error of a request that names no known site.
func UnknownSite(object, field, id string) *lenient.FieldError {
	return &lenient.FieldError{Object: object, Field: field, Value: ClipText(id), Reason: "is no known site"}
}
