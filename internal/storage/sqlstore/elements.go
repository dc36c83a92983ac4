package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Statuses of an element that inserts a row (docs/spec/storage.md 4.7, 4.22, 4.23).
const (
	statusInserted = 0
	statusFailed   = 1
	statusExists   = 2
	statusNoSite   = 3
)

// trier is a transaction that can undo a part of itself.
type trier interface {
	Try(part func() error) error
}

// changeEach applies do to each element of a list request in one transaction. A refused
// element changes nothing: its status is refusal, and ErrorMessage has the first
// reason. Errors name an element op[i].
func changeEach[X trier, R, S any](ctx context.Context, run transact[X], op string, list []R, refusal S, do func(t X, object string, r R) (S, error)) (wire.GeneralResponse, error) {
	return runForResult(ctx, run, op, func(t X) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		for i, r := range list {
			status := refusal
			err := t.Try(func() (err error) {
				status, err = do(t, elementName(op, i), r)
				return err
			})
			if err != nil {
				if !isRefusal(err) {
					return answer, err
				}
				status = refusal
				reportFirst(&answer, err)
			}
			answer.Statuses = append(answer.Statuses, status)
		}
		return answer, nil
	})
}

// readEach returns what do reads for each element, in the order of the list.
func readEach[X, R, T any](ctx context.Context, run transact[X], op string, list []R, do func(t X, object string, r R) (T, error)) ([]T, error) {
	return runForResult(ctx, run, op, func(t X) ([]T, error) {
		answers := make([]T, len(list))
		for i, r := range list {
			var err error
			if answers[i], err = do(t, elementName(op, i), r); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

// readAll is readEach with all rows in one list, which is not nil.
func readAll[X, R, T any](ctx context.Context, run transact[X], op string, list []R, do func(t X, object string, r R) ([]T, error)) ([]T, error) {
	parts, err := readEach(ctx, run, op, list, do)
	return append([]T{}, slices.Concat(parts...)...), err
}

// reportFirst sets ErrorMessage if it is empty.
func reportFirst(answer *wire.GeneralResponse, err error) {
	if answer.ErrorMessage == "" {
		answer.ErrorMessage = clientMessage(err)
	}
}

// element is one element of a request that changes URLs of a site: the URL of md5, or
// the URLs of criterion if md5 is "".
type element struct {
	site, md5 string
	criterion wire.Criterion
	check     func(object string) error // refuses invalid ids and keys
	change    func(t *tx, site string, md5s []string) error
}

// changeElements changes the URLs of all elements, pageRows in one transaction. Statuses
// has true for each element and false for a refused one; ErrorMessage has the first
// reason.
func (s *Store) changeElements(ctx context.Context, op string, list []element) (wire.GeneralResponse, error) {
	p := progress{answer: wire.GeneralResponse{Statuses: []any{}}}
	for p.at < len(list) {
		next, err := runForResult(ctx, s.runUpdateTx, op, func(t *tx) (progress, error) {
			next := p
			err := t.changeSome(op, list, &next)
			return next, err
		})
		if err != nil {
			return wire.GeneralResponse{}, err
		}
		p = next
	}
	return p.answer, nil
}

// progress is the state of changeElements between two transactions.
type progress struct {
	at     int // index of the element
	keys   keyPages
	answer wire.GeneralResponse
}

// changeSome changes at most pageRows rows in one transaction.
func (t *tx) changeSome(op string, list []element, p *progress) error {
	for rows := pageRows; p.at < len(list) && rows > 0; {
		e, done := list[p.at], false
		var n int
		err := t.Try(func() (err error) {
			n, done, err = t.changePage(elementName(op, p.at), e, &p.keys, rows)
			return err
		})
		switch {
		case err == nil && !done:
			rows -= n
			continue
		case err != nil && !isRefusal(err):
			return err
		case err != nil:
			reportFirst(&p.answer, err)
		}
		p.answer.Statuses = append(p.answer.Statuses, err == nil)
		p.at, p.keys = p.at+1, keyPages{}
		rows -= max(n, 1)
	}
	return nil
}

// changePage changes at most limit rows of an element.
func (t *tx) changePage(object string, e element, p *keyPages, limit int) (n int, done bool, err error) {
	if err := e.check(object); err != nil {
		return 0, false, err
	}
	site, err := t.storedID(e.site)
	if err != nil {
		return 0, false, err
	}
	if site == "" {
		return 0, false, unknownSite(object, "siteId", e.site)
	}
	keys, done := []string{e.md5}, true
	if e.md5 == "" {
		if e.criterion.Empty() {
			return 0, false, &wire.FieldError{Object: object, Field: "url", Reason: "is missing, and so is a clause of criterions"}
		}
		p.database, p.site, p.object, p.criterion = sqldb.URLs, site, object+".criterions", e.criterion
		if keys, err = t.nextKeys(p, limit); err != nil {
			return 0, false, err
		}
		done = p.done
	}
	if len(keys) == 0 {
		return 0, done, nil
	}
	return len(keys), done, e.change(t, site, keys)
}

// elementName names element i of a list in errors.
func elementName(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
