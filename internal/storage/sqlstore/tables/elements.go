package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// OrEmpty returns *s, or "" if s is nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Statuses of an element that inserts a row (docs/spec/storage.md 4.7, 4.22, 4.23).
const (
	StatusInserted = 0
	StatusFailed   = 1
	StatusExists   = 2
	StatusNoSite   = 3
)

// trier is a transaction that can undo a part of itself.
type trier interface {
	Try(part func() error) error
}

// ChangeEach applies do to each element of a list request in one transaction. A refused
// element changes nothing: its status is refusal, and ErrorMessage has the first
// reason. Errors name an element op[i].
func ChangeEach[X trier, R, S any](ctx context.Context, run Transact[X], op string, list []R, refusal S, do func(t X, object string, r R) (S, error)) (wire.GeneralResponse, error) {
	return RunForResult(ctx, run, op, func(t X) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		for i, r := range list {
			status := refusal
			err := t.Try(func() (err error) {
				status, err = do(t, ElementName(op, i), r)
				return err
			})
			if err != nil {
				if !IsRefusal(err) {
					return answer, err
				}
				status = refusal
				ReportFirst(&answer, err)
			}
			answer.Statuses = append(answer.Statuses, status)
		}
		return answer, nil
	})
}

// ReadEach returns what do reads for each element, in the order of the list.
func ReadEach[X, R, T any](ctx context.Context, run Transact[X], op string, list []R, do func(t X, object string, r R) (T, error)) ([]T, error) {
	return RunForResult(ctx, run, op, func(t X) ([]T, error) {
		answers := make([]T, len(list))
		for i, r := range list {
			var err error
			if answers[i], err = do(t, ElementName(op, i), r); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

// ReadAll is ReadEach with all rows in one list, which is not nil.
func ReadAll[X, R, T any](ctx context.Context, run Transact[X], op string, list []R, do func(t X, object string, r R) ([]T, error)) ([]T, error) {
	parts, err := ReadEach(ctx, run, op, list, do)
	return append([]T{}, slices.Concat(parts...)...), err
}

// ReportFirst sets ErrorMessage if it is empty.
func ReportFirst(answer *wire.GeneralResponse, err error) {
	if answer.ErrorMessage == "" {
		answer.ErrorMessage = ClientMessage(err)
	}
}

// ElementName names element i of a list in errors.
func ElementName(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// siteFinder is a transaction that finds sites.
type siteFinder interface {
	StoredID(id string) (string, error)
}

// OfStored returns what read reads of a site. The map of an unknown site is empty.
func OfStored[X siteFinder, V any](ctx context.Context, run Transact[X], op, id string, read func(t X, site string) (map[string]V, error)) (map[string]V, error) {
	return RunForResult(ctx, run, op, func(t X) (map[string]V, error) {
		site, err := t.StoredID(id)
		if err != nil || site == "" {
			return map[string]V{}, err
		}
		return read(t, site)
	})
}

// MaxURL is the maximum length of a URL in bytes (docs/spec/storage.md 1.5).
const MaxURL = 4096

var (
	ErrLongURL   = errors.New("is longer than 4096 bytes")
	ErrDuplicate = errors.New("duplicate site")
)

// ClientMessage returns the part of an error that helps the client.
func ClientMessage(err error) string {
	var field *lenient.FieldError
	switch {
	case errors.As(err, &field):
		return field.Error()
	case sqldb.BadValue(err):
		return "an expression gives a value that does not fit its column"
	}
	return err.Error()
}

// ClipText shortens a text for a message to at most 100 bytes and "...".
func ClipText(s string) string { return clipTo(s, 100) }

// clipTo shortens a text for a message to at most size bytes and "...".
func clipTo(s string, size int) string {
	if len(s) > size {
		s = strings.ToValidUTF8(s[:size], "") + "..."
	}
	return s
}
