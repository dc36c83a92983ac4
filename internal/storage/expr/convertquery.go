package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"
)

func (c *converter) convertSubquery(e ast.ExprNode, depth int) *query {
	sub, ok := e.(*ast.SubqueryExpr)
	if !ok {
		c.recordError(newRefusal(constructName(e)))
		return &query{}
	}
	switch q := sub.Query.(type) {
	case *ast.SelectStmt:
		return c.convertQuery(q, depth)
	case *ast.SubqueryExpr:
		return c.convertSubquery(q, depth)
	}
	c.recordError(newRefusal("UNION"))
	return &query{}
}

// checkClauses refuses the clauses of a SELECT that this package does not support.
func (c *converter) checkClauses(s *ast.SelectStmt) {
	switch {
	case s.Kind != ast.SelectStmtKindSelect:
		c.recordError(newRefusal("TABLE or VALUES statement"))
	case s.SelectIntoOpt != nil:
		c.recordError(newRefusal("INTO OUTFILE"))
	case s.LockInfo != nil:
		c.recordError(newRefusal("locking clause"))
	case s.With != nil:
		c.recordError(newRefusal("WITH"))
	case len(s.WindowSpecs) > 0:
		c.recordError(newRefusal("WINDOW"))
	case len(s.TableHints) > 0:
		c.recordError(newRefusal("optimizer hint"))
	case s.GroupBy != nil && s.GroupBy.Rollup:
		c.recordError(newRefusal("WITH ROLLUP"))
	case s.Having != nil && s.GroupBy == nil:
		c.recordError(newRefusal("HAVING without GROUP BY"))
	case s.From == nil && s.Where != nil:
		c.recordError(newRefusal("WHERE without FROM"))
	}
}

func (c *converter) convertQuery(s *ast.SelectStmt, depth int) *query {
	q := &query{distinct: s.Distinct}
	if !c.enterNode(depth) {
		return q
	}
	if c.checkClauses(s); c.err != nil {
		return q
	}
	depth++
	for _, f := range s.Fields.Fields {
		if f.WildCard != nil {
			if f.WildCard.Schema.O != "" {
				c.recordError(newRefusal("database name before *"))
			}
			q.fields = append(q.fields, field{table: f.WildCard.Table.O})
			continue
		}
		q.fields = append(q.fields, field{x: c.convertExpr(f.Expr, depth), alias: f.AsName.O, label: strings.TrimSpace(f.OriginalText())})
	}
	if s.From != nil {
		c.appendTables(q, s.From.TableRefs, depth)
	}
	if s.Where != nil {
		q.where = c.convertExpr(s.Where, depth)
	}
	if s.GroupBy != nil {
		q.group = c.convertSortKeys("GROUP BY", s.GroupBy.Items, depth)
	}
	if s.Having != nil {
		q.having = c.convertExpr(s.Having.Expr, depth)
	}
	if s.OrderBy != nil {
		q.order = c.convertSortKeys("ORDER BY", s.OrderBy.Items, depth)
	}
	if s.Limit != nil {
		q.limit = &Limit{Set: true, Count: c.convertNumber(s.Limit.Count)}
		if s.Limit.Offset != nil {
			q.limit.Offset = c.convertNumber(s.Limit.Offset)
		}
	}
	return q
}

func (c *converter) convertNumber(e ast.ExprNode) int64 {
	if v, ok := e.(*driver.ValueExpr); ok {
		switch {
		case v.Kind() == driver.KindInt64 && v.GetInt64() >= 0:
			return v.GetInt64()
		case v.Kind() == driver.KindUint64:
			return int64(min(v.GetUint64(), math.MaxInt64))
		}
	}
	c.recordError(newRefusal("LIMIT that is not a number"))
	return 0
}

func (c *converter) convertSortKeys(clause string, items []*ast.ByItem, depth int) []sortKey {
	if len(items) > maxSortKeys {
		c.recordError(&Error{Part: clause, Reason: fmt.Sprintf("has more than %d items", maxSortKeys)})
		return nil
	}
	keys := make([]sortKey, 0, len(items))
	for _, item := range items {
		keys = append(keys, sortKey{x: c.convertExpr(item.Expr, depth), desc: item.Desc})
	}
	return keys
}

// appendTables appends the tables of a FROM from left to right.
func (c *converter) appendTables(q *query, refs ast.ResultSetNode, depth int) {
	if !c.enterNode(depth) {
		return
	}
	depth++
	switch r := refs.(type) {
	case *ast.Join:
		c.appendTables(q, r.Left, depth)
		if r.Right == nil {
			return
		}
		first := len(q.from)
		c.appendTables(q, r.Right, depth)
		switch {
		case c.err != nil:
			return
		case r.NaturalJoin || r.StraightJoin || len(r.Using) > 0 || r.Tp == ast.RightJoin:
			c.recordError(newRefusal("join other than JOIN ... ON and LEFT JOIN ... ON"))
			return
		case len(q.from) != first+1:
			c.recordError(newRefusal("join in parentheses"))
			return
		}
		s := &q.from[first]
		s.join = " JOIN "
		if r.Tp == ast.LeftJoin {
			s.join = " LEFT JOIN "
		}
		if r.On != nil {
			s.on = c.convertExpr(r.On.Expr, depth)
		}
	case *ast.TableSource:
		name, ok := r.Source.(*ast.TableName)
		if !ok {
			c.recordError(newRefusal("sub-select in FROM"))
			return
		}
		if len(name.IndexHints) > 0 || len(name.PartitionNames) > 0 || name.TableSample != nil || name.AsOf != nil || r.Lateral {
			c.recordError(newRefusal("index hint, partition, sample or time of a table"))
			return
		}
		q.from = append(q.from, source{database: name.Schema.O, name: name.Name.O, alias: r.AsName.O})
	default:
		c.recordError(newRefusal("FROM clause"))
	}
}
