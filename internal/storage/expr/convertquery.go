package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"
)

func (c *converter) subquery(e ast.ExprNode, depth int) *query {
	sub, ok := e.(*ast.SubqueryExpr)
	if !ok {
		c.fail(refuse(construct(e)))
		return &query{}
	}
	switch q := sub.Query.(type) {
	case *ast.SelectStmt:
		return c.query(q, depth)
	case *ast.SubqueryExpr:
		return c.subquery(q, depth)
	}
	c.fail(refuse("UNION"))
	return &query{}
}

// clauses refuses the clauses of a SELECT that this package does not support.
func (c *converter) clauses(s *ast.SelectStmt) {
	switch {
	case s.Kind != ast.SelectStmtKindSelect:
		c.fail(refuse("TABLE or VALUES statement"))
	case s.SelectIntoOpt != nil:
		c.fail(refuse("INTO OUTFILE"))
	case s.LockInfo != nil:
		c.fail(refuse("locking clause"))
	case s.With != nil:
		c.fail(refuse("WITH"))
	case len(s.WindowSpecs) > 0:
		c.fail(refuse("WINDOW"))
	case len(s.TableHints) > 0:
		c.fail(refuse("optimizer hint"))
	case s.GroupBy != nil && s.GroupBy.Rollup:
		c.fail(refuse("WITH ROLLUP"))
	case s.Having != nil && s.GroupBy == nil:
		c.fail(refuse("HAVING without GROUP BY"))
	case s.From == nil && s.Where != nil:
		c.fail(refuse("WHERE without FROM"))
	}
}

func (c *converter) query(s *ast.SelectStmt, depth int) *query {
	q := &query{distinct: s.Distinct}
	if !c.enter(depth) {
		return q
	}
	if c.clauses(s); c.err != nil {
		return q
	}
	depth++
	for _, f := range s.Fields.Fields {
		if f.WildCard != nil {
			if f.WildCard.Schema.O != "" {
				c.fail(refuse("database name before *"))
			}
			q.fields = append(q.fields, field{table: f.WildCard.Table.O})
			continue
		}
		q.fields = append(q.fields, field{x: c.expr(f.Expr, depth), alias: f.AsName.O, label: strings.TrimSpace(f.OriginalText())})
	}
	if s.From != nil {
		c.from(q, s.From.TableRefs, depth)
	}
	if s.Where != nil {
		q.where = c.expr(s.Where, depth)
	}
	if s.GroupBy != nil {
		q.group = c.keys("GROUP BY", s.GroupBy.Items, depth)
	}
	if s.Having != nil {
		q.having = c.expr(s.Having.Expr, depth)
	}
	if s.OrderBy != nil {
		q.order = c.keys("ORDER BY", s.OrderBy.Items, depth)
	}
	if s.Limit != nil {
		q.limit = &Limit{Set: true, Count: c.number(s.Limit.Count)}
		if s.Limit.Offset != nil {
			q.limit.Offset = c.number(s.Limit.Offset)
		}
	}
	return q
}

func (c *converter) number(e ast.ExprNode) int64 {
	if v, ok := e.(*driver.ValueExpr); ok {
		switch {
		case v.Kind() == driver.KindInt64 && v.GetInt64() >= 0:
			return v.GetInt64()
		case v.Kind() == driver.KindUint64:
			return int64(min(v.GetUint64(), math.MaxInt64))
		}
	}
	c.fail(refuse("LIMIT that is not a number"))
	return 0
}

func (c *converter) keys(clause string, items []*ast.ByItem, depth int) []sortKey {
	if len(items) > maxSortKeys {
		c.fail(&Error{Part: clause, Reason: fmt.Sprintf("has more than %d items", maxSortKeys)})
		return nil
	}
	keys := make([]sortKey, 0, len(items))
	for _, item := range items {
		keys = append(keys, sortKey{x: c.expr(item.Expr, depth), desc: item.Desc})
	}
	return keys
}

// from appends the tables of a FROM from left to right.
func (c *converter) from(q *query, refs ast.ResultSetNode, depth int) {
	if !c.enter(depth) {
		return
	}
	depth++
	switch r := refs.(type) {
	case *ast.Join:
		c.from(q, r.Left, depth)
		if r.Right == nil {
			return
		}
		first := len(q.from)
		c.from(q, r.Right, depth)
		switch {
		case c.err != nil:
			return
		case r.NaturalJoin || r.StraightJoin || len(r.Using) > 0 || r.Tp == ast.RightJoin:
			c.fail(refuse("join other than JOIN ... ON and LEFT JOIN ... ON"))
			return
		case len(q.from) != first+1:
			c.fail(refuse("join in parentheses"))
			return
		}
		s := &q.from[first]
		s.join = " JOIN "
		if r.Tp == ast.LeftJoin {
			s.join = " LEFT JOIN "
		}
		if r.On != nil {
			s.on = c.expr(r.On.Expr, depth)
		}
	case *ast.TableSource:
		name, ok := r.Source.(*ast.TableName)
		if !ok {
			c.fail(refuse("sub-select in FROM"))
			return
		}
		if len(name.IndexHints) > 0 || len(name.PartitionNames) > 0 || name.TableSample != nil || name.AsOf != nil || r.Lateral {
			c.fail(refuse("index hint, partition, sample or time of a table"))
			return
		}
		q.from = append(q.from, source{database: name.Schema.O, name: name.Name.O, alias: r.AsName.O})
	default:
		c.fail(refuse("FROM clause"))
	}
}
