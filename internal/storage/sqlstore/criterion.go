package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// clauses are the parts of a checked criterion.
type clauses struct {
	where, order expr.SQL
	limit        expr.Limit
	as           string // alias of the table, as " AS `name`"
	group        string // " GROUP BY ...", or ""
}

// buildQuery returns head with the conditions, the order and the limit, and its arguments.
func (c clauses) buildQuery(head string, conditions ...expr.SQL) (string, []any) {
	var s statement
	s.appendText(head)
	s.addConditions(append(conditions, c.where)...)
	s.appendText(c.group)
	if c.order.Text != "" {
		s.appendText(" ORDER BY "+c.order.Text, c.order.Args...)
	}
	limit := c.limit.SQL()
	s.appendText(limit.Text, limit.Args...)
	return s.text.String(), s.args
}

// orderOr sets the order if the criterion has none.
func (c *clauses) orderOr(text string) { c.order.Text = cmp.Or(c.order.Text, text) }

// tieBreak appends a key to the order, so that a LIMIT selects the same rows on each
// call and on both databases.
func (c *clauses) tieBreak(key string) {
	if c.order.Text != "" {
		c.order.Text += ", "
	}
	c.order.Text += key
}

// urlClauses checks a criterion on the URLs of a site. A criterion that names no table
// gets the same text for every site, so that the statement stays prepared.
func (t *tx) urlClauses(object, site string, scope expr.Scope, c wire.Criterion) (clauses, error) {
	scope.Table.Alias = "urls_" + site
	if len(c.SQL) == 0 && !strings.Contains(strings.ToLower(c.Where+c.OrderBy), "urls_") {
		scope.Table.Alias = "urls"
	}
	return t.buildClauses(object, scope, c)
}

// rowsClauses checks a criterion on one of the tables of a site.
func (t *tx) rowsClauses(database, object, site string, c wire.Criterion) (clauses, error) {
	scope := t.rowsScope(database, site)
	if database == sqldb.URLs {
		return t.urlClauses(object, site, scope, c)
	}
	return t.buildClauses(object, scope, c)
}

// buildClauses checks a criterion. The error is a *wire.FieldError with the clause.
func (t *tx) buildClauses(object string, scope expr.Scope, c wire.Criterion) (p clauses, err error) {
	if p.where, err = scope.Where(c.Where); err != nil {
		return p, &wire.FieldError{Object: object, Field: "WHERE", Value: clipText(c.Where), Reason: err.Error()}
	}
	if p.order, err = scope.OrderBy(c.OrderBy); err != nil {
		return p, &wire.FieldError{Object: object, Field: "ORDER BY", Value: clipText(c.OrderBy), Reason: err.Error()}
	}
	if p.limit, err = expr.ParseLimit(c.Limit); err != nil {
		return p, &wire.FieldError{Object: object, Field: "LIMIT", Value: clipText(c.Limit), Reason: err.Error()}
	}
	p.as = asAlias(scope.Table.Alias)
	return p, nil
}

func asAlias(name string) string { return " AS `" + name + "`" }

// pageRows is the number of rows that one transaction of a large request changes. This
// bounds the memory and the time of a lock on a site of a million rows. Each transaction
// is complete, with its counters, and stays if a later one fails: the client can repeat
// the request. A request for fewer rows is one transaction.
const pageRows = 2000

// keyPages reads the keys that a criterion selects, a page at a time. Without a LIMIT
// the pages follow the order of the keys. With a LIMIT the first page selects all keys.
// It is a value: a transaction that runs again starts with the same copy.
type keyPages struct {
	database, site string
	object         string // name of the criterion in errors
	criterion      wire.Criterion
	ordered        bool // pages follow ORDER BY, so the first one selects all keys

	begun, done bool
	left        []string // selected keys of later pages
	after       string   // last key of the page, in the order of the keys
	purged      int      // keys that URL_PURGE has deleted
}

// changePages calls do, each time in a transaction, until p is done.
func (s *Store) changePages(ctx context.Context, op string, p keyPages, do func(*tx, *keyPages) error) (keyPages, error) {
	for !p.done {
		next, err := runForResult(ctx, s.runUpdateTx, op, func(t *tx) (keyPages, error) {
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

// nextKeys returns at most limit unique keys of rows that the condition selects at this
// moment. More pages may follow while p.done is false.
func (t *tx) nextKeys(p *keyPages, limit int) ([]string, error) {
	c, err := t.rowsClauses(p.database, p.object, p.site, p.criterion)
	if err != nil {
		return nil, err
	}
	if !c.limit.Set && !(p.ordered && c.order.Text != "") {
		var behind expr.SQL
		if p.begun {
			behind = expr.SQL{Text: "(URLMd5 > ?)", Args: []any{p.after}}
		}
		c.order, c.limit = expr.SQL{Text: "URLMd5"}, expr.Limit{Count: int64(limit), Set: true}
		keys, err := t.selectKeys(p, c, behind)
		p.begun, p.done = true, len(keys) < limit
		if len(keys) > 0 {
			p.after = keys[len(keys)-1]
		}
		return slices.Compact(keys), err
	}
	first := !p.begun
	if first {
		c.orderOr("URLMd5") // the same rows on both databases, found by the index
		keys, err := t.selectKeys(p, c, expr.SQL{})
		if err != nil {
			return nil, err
		}
		p.left, p.begun = keys, true
		if p.database == sqldb.Deleted { // several rows may have one key
			seen := map[string]bool{}
			p.left = slices.DeleteFunc(keys, func(md5 string) bool {
				was := seen[md5]
				seen[md5] = true
				return was
			})
		}
	}
	n := min(limit, len(p.left))
	keys := p.left[:n]
	p.left = p.left[n:]
	p.done = len(p.left) == 0
	if first {
		return keys, nil
	}
	return t.stillSelected(p, c, keys)
}

// selectKeys returns the keys of all rows that c selects, in its order.
func (t *tx) selectKeys(p *keyPages, c clauses, condition expr.SQL) ([]string, error) {
	text, args := c.buildQuery("SELECT URLMd5 FROM "+t.siteTable(p.database, p.site)+c.as, ofSite(p.site), condition)
	return readColumn[string](t, t.withNamedTables(p.site, text), args...)
}

// stillSelected returns the keys whose rows the condition selects at this moment.
func (t *tx) stillSelected(p *keyPages, c clauses, keys []string) ([]string, error) {
	found := make(map[string]bool, len(keys))
	c.order, c.limit = expr.SQL{}, expr.Limit{}
	err := forEachChunk(keys, func(in string, args []any) error {
		list, err := t.selectKeys(p, c, expr.SQL{Text: "(URLMd5 IN " + in + ")", Args: args})
		for _, md5 := range list {
			found[md5] = true
		}
		return err
	})
	return slices.DeleteFunc(slices.Clone(keys), func(md5 string) bool { return !found[md5] }), err
}

// Selection reads the keys of a site's URLs that a criterion selects, a page at a time.
// It is not safe for concurrent use.
type Selection struct {
	s *Store
	p keyPages
}

// Select starts a selection. Object names the owner of the criterion in refusals.
func (s *Store) Select(object, site string, c wire.Criterion) *Selection {
	return &Selection{s: s, p: keyPages{database: sqldb.URLs, site: site, object: object + ".criterions", criterion: c, ordered: true}}
}

// Check returns an error with the clause if the criterion is invalid.
func (l *Selection) Check(ctx context.Context) error {
	return l.s.runReadTx(ctx, "Select", func(t *tx) error {
		_, err := t.rowsClauses(sqldb.URLs, l.p.object, l.p.site, l.p.criterion)
		return err
	})
}

// Next returns the keys of the next page. It returns no keys at the end and for an
// unknown site.
func (l *Selection) Next(ctx context.Context) (md5s []string, err error) {
	for len(md5s) == 0 && !l.p.done {
		var next keyPages
		err := l.s.runReadTx(ctx, "Select", func(t *tx) error {
			next, md5s = l.p, nil
			site, err := t.storedID(next.site)
			if err != nil || site == "" {
				next.done = true
				return err
			}
			next.site = site
			md5s, err = t.nextKeys(&next, pageRows)
			return err
		})
		if err != nil {
			return nil, err
		}
		l.p = next
	}
	return md5s, nil
}
