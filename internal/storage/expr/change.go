package expr

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// Change is an INSERT of values, an UPDATE or a DELETE on one table. Text joins its
// parts.
type Change struct {
	Verb    string // INSERT, UPDATE or DELETE
	Table   *Table
	Columns []string // the set columns, spelled as in the table
	Rows    [][]SQL  // values of Columns: one list for each row of an INSERT, one for an UPDATE
	Where   SQL      // in parentheses; zero selects every row
}

// Change parses a statement that changes one table of the scope (SQL_CUSTOM). Its
// expressions may read only that table, and no table in an INSERT.
func (s Scope) Change(text string) (Change, error) {
	stmt, err := parseOne(text, text)
	if err != nil {
		return Change{}, err
	}
	c := &converter{}
	p := c.convertChange(stmt)
	if c.err != nil {
		return Change{}, c.err
	}
	return s.resolveChange(p)
}

// parsedChange is a Change with unresolved names.
type parsedChange struct {
	verb    string
	table   source
	columns []string
	rows    [][]node
	where   node
}

func (c *converter) convertChange(stmt ast.StmtNode) (p parsedChange) {
	var tables *ast.TableRefsClause
	switch s := stmt.(type) {
	case *ast.InsertStmt:
		p.verb, tables = "INSERT", s.Table
		switch {
		case s.IsReplace:
			c.recordError(newRefusal("REPLACE"))
		case s.IgnoreErr || len(s.OnDuplicate) > 0 || s.Select != nil || len(s.PartitionNames) > 0 || len(s.TableHints) > 0 || len(s.Columns) == 0:
			c.recordError(newRefusal("INSERT other than INSERT INTO table (columns) VALUES"))
		}
		for _, name := range s.Columns {
			p.columns = append(p.columns, name.Name.O)
		}
		for _, list := range s.Lists {
			if len(list) != len(p.columns) {
				c.recordError(&Error{Part: "VALUES", Reason: "must be as many as the columns"})
			}
			p.rows = append(p.rows, c.convertList(list, 0))
		}
	case *ast.UpdateStmt:
		p.verb, tables = "UPDATE", s.TableRefs
		if s.MultipleTable || s.IgnoreErr || s.Order != nil || s.Limit != nil || s.With != nil || len(s.TableHints) > 0 {
			c.recordError(newRefusal("UPDATE other than UPDATE table SET columns WHERE condition"))
		}
		row := []node{}
		for _, a := range s.List {
			p.columns = append(p.columns, a.Column.Name.O)
			row = append(row, c.convertExpr(a.Expr, 0))
		}
		p.rows = [][]node{row}
		p.where = c.convertOptional(s.Where)
	case *ast.DeleteStmt:
		p.verb, tables = "DELETE", s.TableRefs
		if s.IsMultiTable || s.IgnoreErr || s.Quick || s.Order != nil || s.Limit != nil || s.With != nil || len(s.TableHints) > 0 {
			c.recordError(newRefusal("DELETE other than DELETE FROM table WHERE condition"))
		}
		p.where = c.convertOptional(s.Where)
	default:
		c.recordError(newRefusal("statement other than SELECT, INSERT, UPDATE and DELETE"))
		return p
	}
	q := &query{}
	if c.appendTables(q, tables.TableRefs, 0); len(q.from) != 1 {
		c.recordError(newRefusal(p.verb + " of several tables"))
		return p
	}
	p.table = q.from[0]
	return p
}

func (c *converter) convertOptional(e ast.ExprNode) node {
	if e == nil {
		return nil
	}
	return c.convertExpr(e, 0)
}

// resolveChange resolves the names and writes the parts.
func (s Scope) resolveChange(p parsedChange) (Change, error) {
	if p.table.alias != "" {
		return Change{}, newRefusal("alias of a changed table")
	}
	w := newWriter(s)
	table := w.findTable(&p.table)
	if table == nil {
		return Change{}, w.err
	}
	change := Change{Verb: p.verb, Table: table}
	inner := Scope{Dialect: s.Dialect, Now: s.Now, Quote: s.Quote, Table: *table}
	kinds := make([]Kind, len(p.columns))
	for i, name := range p.columns {
		kind, spelled, ok := table.findColumn(name)
		switch {
		case !ok:
			return Change{}, &Error{Part: "column " + quoteBackticks(name), Reason: "is not known"}
		case slices.Contains(change.Columns, spelled):
			return Change{}, &Error{Part: "column " + quoteBackticks(name), Reason: "is set twice"}
		}
		kinds[i] = kind
		change.Columns = append(change.Columns, spelled)
	}
	for _, row := range p.rows {
		values := make([]SQL, len(row))
		for i, n := range row {
			w := newWriter(inner)
			if p.verb == "INSERT" {
				w.levels = nil // the row does not exist yet
			}
			var err error
			if values[i], err = w.finishSQL(w.emit.writeAssigned(kinds[i], n)); err != nil {
				return Change{}, err
			}
		}
		change.Rows = append(change.Rows, values)
	}
	if p.where == nil {
		return change, nil
	}
	w = newWriter(inner)
	condition := w.emit.writeCondition(p.where)
	var err error
	change.Where, err = w.finishSQL(w.newPiece(condition.class, "(", condition, ")"))
	return change, err
}

// Text writes the statement. table is the quoted name of the table in the database.
// own is an additional condition of the caller for UPDATE and DELETE. extra holds
// columns that each row of an INSERT gets unless the statement sets them.
func (c Change) Text(table string, own SQL, extra map[string]any) SQL {
	var text strings.Builder
	var args []any
	switch c.Verb {
	case "INSERT":
		return c.writeInsert(table, extra)
	case "UPDATE":
		text.WriteString("UPDATE " + table + " SET ")
		for i, name := range c.Columns {
			if i > 0 {
				text.WriteString(", ")
			}
			text.WriteString(quoteBackticks(name) + " = " + c.Rows[0][i].Text)
			args = append(args, c.Rows[0][i].Args...)
		}
	default:
		text.WriteString("DELETE FROM " + table)
	}
	word := " WHERE "
	for _, condition := range []SQL{own, c.Where} {
		if condition.Text != "" {
			text.WriteString(word + condition.Text)
			args = append(args, condition.Args...)
			word = " AND "
		}
	}
	return SQL{Text: text.String(), Args: args}
}

func (c Change) writeInsert(table string, extra map[string]any) SQL {
	var columns, more []string
	for name := range extra {
		if !slices.Contains(c.Columns, name) {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	for _, name := range append(slices.Clone(c.Columns), more...) {
		columns = append(columns, quoteBackticks(name))
	}
	var rows []string
	var args []any
	for _, row := range c.Rows {
		var values []string
		for _, v := range row {
			values = append(values, v.Text)
			args = append(args, v.Args...)
		}
		for _, name := range more {
			values = append(values, "?")
			args = append(args, extra[name])
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	return SQL{Text: "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + strings.Join(rows, ", "), Args: args}
}
