package urls

import (
	"context"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// element is one element of a request that changes URLs of a site: the URL of md5, or
// the URLs of criterion if md5 is "".
type element struct {
	site, md5 string
	criterion wire.Criterion
	check     func(object string) error // refuses invalid ids and keys
	change    func(t *Tx, site string, md5s []string) error
}

// changeElements changes the URLs of all elements, PageRows in one transaction. Statuses
// has true for each element and false for a refused one; ErrorMessage has the first
// reason.
func (s *Store) changeElements(ctx context.Context, op string, list []element) (wire.GeneralResponse, error) {
	p := progress{answer: wire.GeneralResponse{Statuses: []any{}}}
	for p.at < len(list) {
		next, err := tables.RunForResult(ctx, s.run.Update, op, func(t *Tx) (progress, error) {
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
	keys   tables.KeyPages
	answer wire.GeneralResponse
}

// changeSome changes at most PageRows rows in one transaction.
func (t *Tx) changeSome(op string, list []element, p *progress) error {
	for rows := tables.PageRows; p.at < len(list) && rows > 0; {
		e, done := list[p.at], false
		var n int
		err := t.Try(func() (err error) {
			n, done, err = t.changePage(tables.ElementName(op, p.at), e, &p.keys, rows)
			return err
		})
		switch {
		case err == nil && !done:
			rows -= n
			continue
		case err != nil && !tables.IsRefusal(err):
			return err
		case err != nil:
			tables.ReportFirst(&p.answer, err)
		}
		p.answer.Statuses = append(p.answer.Statuses, err == nil)
		p.at, p.keys = p.at+1, tables.KeyPages{}
		rows -= max(n, 1)
	}
	return nil
}

// changePage changes at most limit rows of an element.
func (t *Tx) changePage(object string, e element, p *tables.KeyPages, limit int) (n int, done bool, err error) {
	if err := e.check(object); err != nil {
		return 0, false, err
	}
	site, err := t.StoredID(e.site)
	if err != nil {
		return 0, false, err
	}
	if site == "" {
		return 0, false, tables.UnknownSite(object, "siteId", e.site)
	}
	keys, done := []string{e.md5}, true
	if e.md5 == "" {
		if e.criterion.Empty() {
			return 0, false, &lenient.FieldError{Object: object, Field: "url", Reason: "is missing, and so is a clause of criterions"}
		}
		p.Database, p.Site, p.Object, p.Criterion = sqldb.URLs, site, object+".criterions", e.criterion
		if keys, err = t.NextKeys(p, limit); err != nil {
			return 0, false, err
		}
		done = p.Done
	}
	if len(keys) == 0 {
		return 0, done, nil
	}
	return len(keys), done, e.change(t, site, keys)
}
