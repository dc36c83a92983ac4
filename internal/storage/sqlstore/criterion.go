package sqlstore

import (
	"cmp"
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

// query returns head with the conditions, the order and the limit, and its arguments.
func (c clauses) query(head string, conditions ...expr.SQL) (string, []any) {
	var s statement
	s.add(head)
	s.where(append(conditions, c.where)...)
	s.add(c.group)
	if c.order.Text != "" {
		s.add(" ORDER BY "+c.order.Text, c.order.Args...)
	}
	limit := c.limit.SQL()
	s.add(limit.Text, limit.Args...)
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
	return t.clauses(object, scope, c)
}

// rowsClauses checks a criterion on one of the tables of a site.
func (t *tx) rowsClauses(database, object, site string, c wire.Criterion) (clauses, error) {
	scope := t.rowsScope(database, site)
	if database == sqldb.URLs {
		return t.urlClauses(object, site, scope, c)
	}
	return t.clauses(object, scope, c)
}

// clauses checks a criterion. The error is a *wire.FieldError with the clause.
func (t *tx) clauses(object string, scope expr.Scope, c wire.Criterion) (p clauses, err error) {
	if p.where, err = scope.Where(c.Where); err != nil {
		return p, &wire.FieldError{Object: object, Field: "WHERE", Value: clip(c.Where), Reason: err.Error()}
	}
	if p.order, err = scope.OrderBy(c.OrderBy); err != nil {
		return p, &wire.FieldError{Object: object, Field: "ORDER BY", Value: clip(c.OrderBy), Reason: err.Error()}
	}
	if p.limit, err = expr.ParseLimit(c.Limit); err != nil {
		return p, &wire.FieldError{Object: object, Field: "LIMIT", Value: clip(c.Limit), Reason: err.Error()}
	}
	p.as = alias(scope.Table.Alias)
	return p, nil
}

func alias(name string) string { return " AS `" + name + "`" }
