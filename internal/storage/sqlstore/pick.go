package sqlstore

import (
	"context"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// step is how many rows one transaction of a request that selects many changes,
// so that a site of a million rows neither fills the memory nor keeps the
// database. Each row changes whole, with its counters, and what is done is not
// taken back when a later step fails: the request can be asked again. Requests
// for fewer rows are one transaction.
const step = 2000

// pick is the selection of rows by a criterion, a part at a time. Without a LIMIT
// the parts go up the keys; the keys that a LIMIT chooses are all chosen with the
// first part, as few or many as it says. It is a value: a transaction that has to
// run again begins with the one that it was given.
type pick struct {
	database, site string
	object         string // how errors call the criterion
	criterion      wire.Criterion
	ordered        bool // the parts keep to ORDER BY, which costs the keys of all

	begun, done bool
	left        []string // keys that were chosen, still to come
	after       string   // the last key of the way up
}

// next gives the next keys, each once and at most most, of rows that the
// condition selects now. There may be more while p.done is false.
func (t *tx) next(p *pick, most int) ([]string, error) {
	c, err := t.rowsClauses(p.database, p.object, p.site, p.criterion)
	if err != nil {
		return nil, err
	}
	if !c.limit.Set && !(p.ordered && c.order.Text != "") {
		var own expr.SQL
		if p.begun {
			own = expr.SQL{Text: "(URLMd5 > ?)", Args: []any{p.after}}
		}
		c.order, c.limit = expr.SQL{Text: "URLMd5"}, expr.Limit{Count: int64(most), Set: true}
		keys, n, err := t.selectKeys(p, c, own)
		p.begun, p.done = true, n < most
		if len(keys) > 0 {
			p.after = keys[len(keys)-1]
		}
		return keys, err
	}
	first := !p.begun
	if first {
		if c.order.Text == "" { // the same rows on every database, found by the index
			c.order.Text = "URLMd5"
		}
		if p.left, _, err = t.selectKeys(p, c, expr.SQL{}); err != nil {
			return nil, err
		}
		p.begun = true
	}
	n := min(most, len(p.left))
	keys := p.left[:n]
	p.left = p.left[n:]
	p.done = len(p.left) == 0
	if first {
		return keys, nil
	}
	return t.still(p, c, keys)
}

// selectKeys reads keys in the order of c, each once; n counts the rows. Rows
// that wait for URL_PURGE may be several of one key.
func (t *tx) selectKeys(p *pick, c clauses, own expr.SQL) (keys []string, n int, err error) {
	var s statement
	s.add("SELECT URLMd5 FROM " + t.table(p.database, p.site) + c.as)
	s.where(ofSite(p.site), own, c.where)
	s.order(c.order)
	s.limit(c.limit)
	seen := map[string]bool{}
	err = t.Each(t.named(p.site, s.text.String()), s.args, func(scan func(...any) error) error {
		var md5 string
		if err := scan(&md5); err != nil {
			return err
		}
		n++
		if p.database == sqldb.Deleted {
			if seen[md5] {
				return nil
			}
			seen[md5] = true
		}
		keys = append(keys, md5)
		return nil
	})
	return keys, n, err
}

// still leaves the keys whose rows the condition selects now.
func (t *tx) still(p *pick, c clauses, keys []string) ([]string, error) {
	found := make(map[string]bool, len(keys))
	err := chunks(keys, func(in string, args []any) error {
		var s statement
		s.add("SELECT URLMd5 FROM " + t.table(p.database, p.site) + c.as)
		s.where(ofSite(p.site), expr.SQL{Text: "(URLMd5 IN (" + in + "))", Args: args}, c.where)
		return t.Each(t.named(p.site, s.text.String()), s.args, func(scan func(...any) error) error {
			var md5 string
			err := scan(&md5)
			found[md5] = true
			return err
		})
	})
	list := make([]string, 0, len(found))
	for _, md5 := range keys {
		if found[md5] {
			list = append(list, md5)
		}
	}
	return list, err
}

// element is one of a request that changes rows of a site: the one of md5, or
// when that is "" those of a criterion.
type element struct {
	object, site, md5 string
	criterion         wire.Criterion
	change            func(t *tx, site string, md5s []string) error
}

// progress is how far a request has come.
type progress struct {
	at     int // the element
	pick   pick
	answer wire.GeneralResponse
}

// changed does what it can of a request in one transaction.
func (t *tx) changed(list []element, p *progress) error {
	for room := step; p.at < len(list) && room > 0; {
		e, done := list[p.at], false
		var n int
		err := t.Try(func() (err error) {
			n, done, err = t.changeSome(e, &p.pick, room)
			return err
		})
		switch {
		case err == nil && !done:
			room -= n
			continue
		case err != nil && !refused(err):
			return err
		case err != nil:
			complain(&p.answer, err)
		}
		p.answer.Statuses = append(p.answer.Statuses, err == nil)
		p.at, p.pick = p.at+1, pick{}
		room -= max(n, 1)
	}
	return nil
}

// changeSome changes at most most rows of an element.
func (t *tx) changeSome(e element, p *pick, most int) (n int, done bool, err error) {
	site, err := t.known(e.site)
	if err != nil {
		return 0, false, err
	}
	if site == "" {
		return 0, false, &wire.FieldError{Object: e.object, Field: "siteId", Value: clip(e.site), Reason: errNoSite.Error()}
	}
	keys, done := []string{e.md5}, true
	if e.md5 == "" {
		if e.criterion.Empty() {
			return 0, false, &wire.FieldError{Object: e.object, Field: "url", Reason: "is missing, and so is a clause of criterions"}
		}
		p.database, p.site, p.object, p.criterion = sqldb.URLs, site, e.object+".criterions", e.criterion
		if keys, err = t.next(p, most); err != nil {
			return 0, false, err
		}
		done = p.done
	}
	if len(keys) == 0 {
		return 0, done, nil
	}
	return len(keys), done, e.change(t, site, keys)
}

// insertRows inserts rows of the same columns, several with one statement.
func (t *tx) insertRows(table, columns string, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		for _, size := range rowSizes {
			if size <= len(rows) {
				n = size
				break
			}
		}
		row := "(" + holes(len(rows[0])) + ")"
		args := make([]any, 0, n*len(rows[0]))
		for _, r := range rows[:n] {
			args = append(args, r...)
		}
		if _, err := t.Exec("INSERT INTO "+table+" ("+columns+") VALUES "+row+strings.Repeat(", "+row, n-1), args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Selection are the keys of a site's URLs that a criterion selects, read a part
// at a time. One goroutine uses it.
type Selection struct {
	s *Store
	p pick
}

// Select begins a selection; object is how refusals call what has the criterion.
func (s *Store) Select(object, site string, c wire.Criterion) *Selection {
	return &Selection{s: s, p: pick{database: sqldb.URLs, site: site, object: object + ".criterions", criterion: c, ordered: true}}
}

// Check tells whether the criterion is one that can be asked; a refusal names its
// clause.
func (l *Selection) Check(ctx context.Context) error {
	return l.s.view(ctx, "Select", func(t *tx) error {
		_, err := t.rowsClauses(sqldb.URLs, l.p.object, l.p.site, l.p.criterion)
		return err
	})
}

// Next gives the next keys, none when there are no more; an unknown site has
// none.
func (l *Selection) Next(ctx context.Context) (md5s []string, err error) {
	for len(md5s) == 0 && !l.p.done {
		var after pick
		err := l.s.view(ctx, "Select", func(t *tx) error {
			after, md5s = l.p, nil
			site, err := t.known(after.site)
			if err != nil || site == "" {
				after.done = true
				return err
			}
			after.site = site
			md5s, err = t.next(&after, step)
			return err
		})
		if err != nil {
			return nil, err
		}
		l.p = after
	}
	return md5s, nil
}
