package tables

import (
	"cmp"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// Clauses are the parts of a checked criterion.
type Clauses struct {
	Where, Order expr.SQL
	Limit        expr.Limit
	As           string // alias of the table, as " AS `name`"
	group        string // " GROUP BY ...", or ""
}

// BuildQuery returns head with the conditions, the order and the limit, and its arguments.
func (c Clauses) BuildQuery(head string, conditions ...expr.SQL) (string, []any) {
	var s Statement
	s.AppendText(head)
	s.AddConditions(append(conditions, c.Where)...)
	s.AppendText(c.group)
	if c.Order.Text != "" {
		s.AppendText(" ORDER BY "+c.Order.Text, c.Order.Args...)
	}
	limit := c.Limit.SQL()
	s.AppendText(limit.Text, limit.Args...)
	return s.Text.String(), s.Args
}

// OrderOr sets the order if the criterion has none.
func (c *Clauses) OrderOr(text string) { c.Order.Text = cmp.Or(c.Order.Text, text) }

// TieBreak appends a key to the order, so that a LIMIT selects the same rows on each
// call and on both databases.
func (c *Clauses) TieBreak(key string) {
	if c.Order.Text != "" {
		c.Order.Text += ", "
	}
	c.Order.Text += key
}

// URLClauses checks a criterion on the URLs of a site. A criterion that names no table
// gets the same text for every site, so that the statement stays prepared.
func (t *Tx) URLClauses(object, site string, scope expr.Scope, c wire.Criterion) (Clauses, error) {
	scope.Table.Alias = "urls_" + site
	if len(c.SQL) == 0 && !strings.Contains(strings.ToLower(c.Where+c.OrderBy), "urls_") {
		scope.Table.Alias = "urls"
	}
	return t.BuildClauses(object, scope, c)
}

// RowsClauses checks a criterion on one of the tables of a site.
func (t *Tx) RowsClauses(database, object, site string, c wire.Criterion) (Clauses, error) {
	scope := t.RowsScope(database, site)
	if database == sqldb.URLs {
		return t.URLClauses(object, site, scope, c)
	}
	return t.BuildClauses(object, scope, c)
}

// BuildClauses checks a criterion. The error is a *lenient.FieldError with the clause.
func (t *Tx) BuildClauses(object string, scope expr.Scope, c wire.Criterion) (p Clauses, err error) {
	if p.Where, err = scope.Where(c.Where); err != nil {
		return p, &lenient.FieldError{Object: object, Field: "WHERE", Value: ClipText(c.Where), Reason: err.Error()}
	}
	if p.Order, err = scope.OrderBy(c.OrderBy); err != nil {
		return p, &lenient.FieldError{Object: object, Field: "ORDER BY", Value: ClipText(c.OrderBy), Reason: err.Error()}
	}
	if p.Limit, err = expr.ParseLimit(c.Limit); err != nil {
		return p, &lenient.FieldError{Object: object, Field: "LIMIT", Value: ClipText(c.Limit), Reason: err.Error()}
	}
	p.As = asAlias(scope.Table.Alias)
	return p, nil
}

func asAlias(name string) string { return " AS `" + name + "`" }

// PageRows is the number of rows that one transaction of a large request changes. This
// bounds the memory and the time of a lock on a site of a million rows. Each transaction
// is complete, with its counters, and stays if a later one fails: the client can repeat
// the request. A request for fewer rows is one transaction.
const PageRows = 2000

// KeyPages reads the keys that a criterion selects, a page at a time. Without a LIMIT
// the pages follow the order of the keys. With a LIMIT the first page selects all keys.
// It is a value: a transaction that runs again starts with the same copy.
type KeyPages struct {
	Database, Site string
	Object         string // name of the criterion in errors
	Criterion      wire.Criterion
	Ordered        bool // pages follow ORDER BY, so the first one selects all keys

	begun, Done bool
	Left        []string // selected keys of later pages
	after       string   // last key of the page, in the order of the keys
	Purged      int      // keys that URL_PURGE has deleted
}

// NextKeys returns at most limit unique keys of rows that the condition selects at this
// moment. More pages may follow while p.Done is false.
func (t *Tx) NextKeys(p *KeyPages, limit int) ([]string, error) {
	c, err := t.RowsClauses(p.Database, p.Object, p.Site, p.Criterion)
	if err != nil {
		return nil, err
	}
	if !c.Limit.Set && !(p.Ordered && c.Order.Text != "") {
		var behind expr.SQL
		if p.begun {
			behind = expr.SQL{Text: "(URLMd5 > ?)", Args: []any{p.after}}
		}
		c.Order, c.Limit = expr.SQL{Text: "URLMd5"}, expr.Limit{Count: int64(limit), Set: true}
		keys, err := t.selectKeys(p, c, behind)
		p.begun, p.Done = true, len(keys) < limit
		if len(keys) > 0 {
			p.after = keys[len(keys)-1]
		}
		return slices.Compact(keys), err
	}
	first := !p.begun
	if first {
		c.OrderOr("URLMd5") // the same rows on both databases, found by the index
		keys, err := t.selectKeys(p, c, expr.SQL{})
		if err != nil {
			return nil, err
		}
		p.Left, p.begun = keys, true
		if p.Database == sqldb.Deleted { // several rows may have one key
			seen := map[string]bool{}
			p.Left = slices.DeleteFunc(keys, func(md5 string) bool {
				was := seen[md5]
				seen[md5] = true
				return was
			})
		}
	}
	n := min(limit, len(p.Left))
	keys := p.Left[:n]
	p.Left = p.Left[n:]
	p.Done = len(p.Left) == 0
	if first {
		return keys, nil
	}
	return t.stillSelected(p, c, keys)
}

// selectKeys returns the keys of all rows that c selects, in its order.
func (t *Tx) selectKeys(p *KeyPages, c Clauses, condition expr.SQL) ([]string, error) {
	text, args := c.BuildQuery("SELECT URLMd5 FROM "+t.SiteTable(p.Database, p.Site)+c.As, OfSite(p.Site), condition)
	return ReadColumn[string](t, t.WithNamedTables(p.Site, text), args...)
}

// stillSelected returns the keys whose rows the condition selects at this moment.
func (t *Tx) stillSelected(p *KeyPages, c Clauses, keys []string) ([]string, error) {
	found := make(map[string]bool, len(keys))
	c.Order, c.Limit = expr.SQL{}, expr.Limit{}
	err := ForEachChunk(keys, func(in string, args []any) error {
		list, err := t.selectKeys(p, c, expr.SQL{Text: "(URLMd5 IN " + in + ")", Args: args})
		for _, md5 := range list {
			found[md5] = true
		}
		return err
	})
	return slices.DeleteFunc(slices.Clone(keys), func(md5 string) bool { return !found[md5] }), err
}

// PositiveCondition is the condition that an expression is above 0. The expression is first
// checked alone, so that it cannot close the parentheses around it.
func PositiveCondition(scope expr.Scope, text string) (expr.SQL, error) {
	if value, err := scope.Value(text); err != nil || value.Text == "" {
		return expr.SQL{}, err
	}
	return scope.Where("(" + text + ") > 0")
}
