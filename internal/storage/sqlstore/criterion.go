package sqlstore

import (
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// clauses are the parts of a checked criterion.
type clauses struct {
	where, order expr.SQL
	limit        expr.Limit
	as           string // of the table of URLs
}

// urlClauses checks a criterion on the URLs of a site. Most name no table: they
// all get the same text, whatever the site, which stays prepared.
func (t *tx) urlClauses(object, site string, scope expr.Scope, c wire.Criterion) (clauses, error) {
	name := "urls_" + site
	if len(c.SQL) == 0 && !strings.Contains(strings.ToLower(c.Where+c.OrderBy), "urls_") {
		name = "urls"
	}
	scope.Table.Alias = name
	p, err := t.clauses(object, scope, c)
	p.as = " AS `" + name + "`"
	return p, err
}

// rowsClauses checks a criterion on a site's table in one of siteTables.
func (t *tx) rowsClauses(database, object, site string, c wire.Criterion) (clauses, error) {
	scope := t.rowsScope(database, site)
	if database == sqldb.URLs {
		return t.urlClauses(object, site, scope, c)
	}
	p, err := t.clauses(object, scope, c)
	p.as = " AS `" + scope.Table.Alias + "`"
	return p, err
}

// clauses checks a criterion; an error names the clause.
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
	return p, nil
}

// statement collects the parts of one text and its values.
type statement struct {
	text strings.Builder
	args []any
}

func (s *statement) add(text string, args ...any) {
	s.text.WriteString(text)
	s.args = append(s.args, args...)
}

// where adds the conditions that are there, each in its parentheses.
func (s *statement) where(conditions ...expr.SQL) {
	word := " WHERE "
	for _, c := range conditions {
		if c.Text == "" {
			continue
		}
		s.add(word+c.Text, c.Args...)
		word = " AND "
	}
}

func (s *statement) order(o expr.SQL) {
	if o.Text != "" {
		s.add(" ORDER BY "+o.Text, o.Args...)
	}
}

// inOrder lets a key decide what an order leaves open, so that a LIMIT cuts the
// same rows each time, on both databases.
func inOrder(o expr.SQL, key string) expr.SQL {
	if o.Text != "" {
		key = o.Text + ", " + key
	}
	return expr.SQL{Text: key, Args: o.Args}
}

func (s *statement) limit(l expr.Limit) {
	q := l.SQL()
	s.add(q.Text, q.Args...)
}

// selection writes FROM, WHERE, ORDER BY and LIMIT for the URLs of a site that a
// criterion selects, of one key alone when md5 is not "".
func (t *tx) selection(object, site string, c wire.Criterion, md5 string) (string, []any, error) {
	p, err := t.urlClauses(object, site, t.urlScope(site), c)
	if err != nil {
		return "", nil, err
	}
	var key expr.SQL
	if md5 != "" {
		key = expr.SQL{Text: "(URLMd5 = ?)", Args: []any{md5}}
	}
	var s statement
	s.add(" FROM " + t.table(sqldb.URLs, site) + p.as)
	s.where(ofSite(site), key, p.where)
	s.order(p.order)
	s.limit(p.limit)
	return s.text.String(), s.args, nil
}
