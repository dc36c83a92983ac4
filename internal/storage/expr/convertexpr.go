package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"

	"hce/dc/internal/storage/expr/mysqlvalue"
)

// converter turns the tree of the parser into the tree of this package. It stops at
// the first refusal.
type converter struct {
	err          error
	nodes, logic int
}

func (c *converter) recordError(err *Error) node {
	if c.err == nil {
		c.err = err
	}
	return &literal{}
}

// enterNode counts a node and reports whether the walk may continue.
func (c *converter) enterNode(depth int) bool {
	c.nodes++
	switch {
	case c.err != nil:
	case depth > maxDepth:
		c.recordError(&Error{Part: "text", Reason: fmt.Sprintf("is nested deeper than %d levels", maxDepth)})
	case c.nodes > maxNodes:
		c.recordError(&Error{Part: "text", Reason: fmt.Sprintf("has more than %d parts", maxNodes)})
	}
	return c.err == nil
}

func (c *converter) convertExpr(e ast.ExprNode, depth int) node {
	for {
		inner, ok := e.(*ast.ParenthesesExpr)
		if !ok {
			break
		}
		e = inner.Expr
	}
	if !c.enterNode(depth) {
		return &literal{}
	}
	depth++
	switch e := e.(type) {
	case *driver.ValueExpr:
		return c.convertValue(e)
	case *ast.ColumnNameExpr:
		return &column{database: e.Name.Schema.O, table: e.Name.Table.O, name: e.Name.Name.O}
	case *ast.UnaryOperationExpr:
		return c.convertUnary(e, depth)
	case *ast.BinaryOperationExpr:
		return c.convertBinary(e, depth)
	case *ast.IsNullExpr:
		return &isNull{x: c.convertExpr(e.Expr, depth), not: e.Not}
	case *ast.BetweenExpr:
		return &between{x: c.convertExpr(e.Expr, depth), lo: c.convertExpr(e.Left, depth), hi: c.convertExpr(e.Right, depth), not: e.Not}
	case *ast.PatternInExpr:
		n := &in{x: c.convertExpr(e.Expr, depth), not: e.Not}
		if e.Sel != nil {
			n.sub = c.convertSubquery(e.Sel, depth)
			return n
		}
		n.list = c.convertList(e.List, depth)
		return n
	case *ast.PatternLikeOrIlikeExpr:
		return c.convertLike(e, depth)
	case *ast.FuncCallExpr:
		return c.convertCall(e, depth)
	case *ast.FuncCastExpr:
		return c.convertCast(e, depth)
	case *ast.AggregateFuncExpr:
		return c.convertAggregate(e, depth)
	case *ast.ExistsSubqueryExpr:
		return &exists{sub: c.convertSubquery(e.Sel, depth), not: e.Not}
	case *ast.SubqueryExpr:
		return &scalar{sub: c.convertSubquery(e, depth)}
	case *ast.CaseExpr:
		return c.convertCase(e, depth)
	}
	return c.recordError(newRefusal(constructName(e)))
}

// constructName names a part of the language that the package does not support.
func constructName(e ast.ExprNode) string {
	switch e := e.(type) {
	case *ast.VariableExpr:
		return "variable " + e.Name
	case *ast.WindowFuncExpr:
		return "window function " + strings.ToUpper(e.Name)
	case *ast.RowExpr:
		return "row (a, b)"
	case *ast.CompareSubqueryExpr:
		return "comparison with ANY or ALL"
	case *ast.PositionExpr:
		return "position number in an ORDER BY or GROUP BY"
	case *ast.MatchAgainst:
		return "MATCH ... AGAINST"
	case *ast.ValuesExpr:
		return "function VALUES"
	case *ast.DefaultExpr:
		return "function DEFAULT"
	case *driver.ParamMarkerExpr:
		return "parameter ?"
	case *ast.IsTruthExpr:
		return "operator IS TRUE or IS FALSE"
	case *ast.PatternRegexpExpr:
		return "operator REGEXP"
	case *ast.SetCollationExpr:
		return "operator COLLATE"
	}
	return "expression " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", e), "*ast."), "Expr")
}

func (c *converter) convertList(list []ast.ExprNode, depth int) []node {
	nodes := make([]node, len(list))
	for i, e := range list {
		nodes[i] = c.convertExpr(e, depth)
	}
	return nodes
}

func (c *converter) convertValue(v *driver.ValueExpr) node {
	switch v.Kind() {
	case driver.KindNull:
		return &literal{kind: litNull}
	case driver.KindInt64:
		return &literal{kind: litInt, i: v.GetInt64()}
	case driver.KindUint64:
		if u := v.GetUint64(); u > math.MaxInt64 {
			return c.recordError(&Error{Part: fmt.Sprintf("number %d", u), Reason: "is out of range"})
		}
		return &literal{kind: litInt, i: v.GetInt64()}
	case driver.KindFloat32, driver.KindFloat64:
		return &literal{kind: litReal, f: v.GetFloat64()}
	case driver.KindMysqlDecimal:
		text := v.GetMysqlDecimal().String()
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c.recordError(&Error{Part: "number " + text, Reason: "is out of range"})
		}
		_, digits, _ := strings.Cut(text, ".")
		return &literal{kind: litReal, f: f, decimal: true, scale: len(digits)}
	case driver.KindString:
		return &literal{kind: litText, s: v.GetString()}
	case driver.KindBytes, driver.KindBinaryLiteral:
		return c.recordError(newRefusal("hexadecimal or bit literal"))
	}
	return c.recordError(newRefusal("literal"))
}

func (c *converter) convertUnary(e *ast.UnaryOperationExpr, depth int) node {
	x := c.convertExpr(e.V, depth)
	switch e.Op {
	case opcode.Plus:
		return x
	case opcode.Minus:
		if l, ok := x.(*literal); ok && (l.kind == litInt || l.kind == litReal) {
			return &literal{kind: l.kind, i: -l.i, f: -l.f, decimal: l.decimal, scale: l.scale}
		}
		return &unary{op: "-", x: x}
	case opcode.BitNeg:
		return &unary{op: "~", x: x}
	case opcode.Not, opcode.Not2:
		return &unary{op: "NOT", x: x}
	}
	return c.recordError(refuseOperator(e.Op))
}

// refuseOperator refuses an operator by its sign.
func refuseOperator(op opcode.Op) *Error {
	var sign strings.Builder
	op.Format(&sign)
	return newRefusal("operator " + sign.String())
}

var binaryOps = map[opcode.Op]string{
	opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/", opcode.IntDiv: "DIV", opcode.Mod: "%",
	opcode.And: "&", opcode.Or: "|",
	opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
}

func (c *converter) convertBinary(e *ast.BinaryOperationExpr, depth int) node {
	if e.Op == opcode.LogicAnd || e.Op == opcode.LogicOr {
		n := &logic{op: "AND"}
		if e.Op == opcode.LogicOr {
			n.op = "OR"
		}
		for _, operand := range flattenOperands(e.Op, e) {
			if c.logic++; c.logic > maxLogic {
				return c.recordError(&Error{Part: "text", Reason: fmt.Sprintf("joins more than %d conditions", maxLogic)})
			}
			n.xs = append(n.xs, c.convertExpr(operand, depth))
		}
		return n
	}
	op, ok := binaryOps[e.Op]
	if !ok {
		return c.recordError(refuseOperator(e.Op))
	}
	return &binary{op: op, l: c.convertExpr(e.L, depth), r: c.convertExpr(e.R, depth)}
}

// flattenOperands flattens a chain of one operator in the order of the text. It does not
// recurse because the tree of the parser is as deep as the chain is long.
func flattenOperands(op opcode.Op, e ast.ExprNode) []ast.ExprNode {
	var flat []ast.ExprNode
	stack := []ast.ExprNode{e}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch t := top.(type) {
		case *ast.ParenthesesExpr:
			stack = append(stack, t.Expr)
			continue
		case *ast.BinaryOperationExpr:
			if t.Op == op {
				stack = append(stack, t.R, t.L)
				continue
			}
		}
		flat = append(flat, top)
	}
	return flat
}

func (c *converter) convertLike(e *ast.PatternLikeOrIlikeExpr, depth int) node {
	if !e.IsLike {
		return c.recordError(newRefusal("operator ILIKE"))
	}
	if e.Escape != '\\' {
		return c.recordError(newRefusal("ESCAPE"))
	}
	return &like{x: c.convertExpr(e.Expr, depth), pattern: c.convertExpr(e.Pattern, depth), not: e.Not}
}

// maxWhens limits the WHENs of a CASE, which become IFs within each other.
const maxWhens = 20

// convertCase turns CASE into IF. Each further WHEN is one level deeper.
func (c *converter) convertCase(e *ast.CaseExpr, depth int) node {
	if len(e.WhenClauses) > maxWhens {
		return c.recordError(&Error{Part: "CASE", Reason: fmt.Sprintf("has more than %d WHENs", maxWhens)})
	}
	var other node = &literal{}
	if e.ElseClause != nil {
		other = c.convertExpr(e.ElseClause, depth+len(e.WhenClauses))
	}
	for i := len(e.WhenClauses) - 1; i >= 0; i-- {
		when := e.WhenClauses[i]
		condition := c.convertExpr(when.Expr, depth+i)
		if e.Value != nil {
			condition = &binary{op: "=", l: c.convertExpr(e.Value, depth+i), r: condition}
		}
		other = &call{name: "IF", args: []node{condition, c.convertExpr(when.Result, depth+i), other}}
	}
	return other
}

// units are the units of an INTERVAL.
var units = map[ast.TimeUnitType]string{
	ast.TimeUnitSecond: "SECOND", ast.TimeUnitMinute: "MINUTE", ast.TimeUnitHour: "HOUR", ast.TimeUnitDay: "DAY",
	ast.TimeUnitWeek: "WEEK", ast.TimeUnitMonth: "MONTH", ast.TimeUnitYear: "YEAR",
}

func (c *converter) convertCall(e *ast.FuncCallExpr, depth int) node {
	if e.Schema.O != "" {
		return c.recordError(newRefusal("function " + e.Schema.O + "." + e.FnName.O))
	}
	switch e.FnName.L {
	case ast.DateLiteral, ast.TimeLiteral, ast.TimestampLiteral:
		return c.recordError(newRefusal("DATE, TIME or TIMESTAMP before a literal"))
	}
	n := &call{name: strings.ToUpper(e.FnName.O)}
	if len(e.Args) > maxArgs {
		return c.recordError(&Error{Part: "function " + n.name, Reason: fmt.Sprintf("has more than %d arguments", maxArgs)})
	}
	rule := functions[n.name]
	if rule.sqlite == nil {
		return c.recordError(newUnsupportedError(n.name))
	}
	for _, arg := range e.Args {
		unit, ok := arg.(*ast.TimeUnitExpr)
		if !ok {
			n.args = append(n.args, c.convertExpr(arg, depth))
		} else if n.unit, ok = units[unit.Unit]; !ok {
			return c.recordError(newRefusal("interval unit " + unit.Unit.String()))
		}
	}
	if len(n.args) < rule.min || len(n.args) > rule.max {
		return c.recordError(&Error{Part: "function " + n.name, Reason: fmt.Sprintf("does not take %d arguments", len(n.args))})
	}
	if n.name == "DATE_FORMAT" {
		c.knownFormat(n.args[1])
	}
	return n
}

// knownFormat refuses formats of DATE_FORMAT that SQLite cannot follow.
func (c *converter) knownFormat(format node) {
	l, ok := format.(*literal)
	if !ok || l.kind != litText {
		c.recordError(newRefusal("DATE_FORMAT with a format that is not a literal text"))
		return
	}
	for _, s := range mysqlvalue.FindUnknownSpecifiers(l.s) {
		c.recordError(newRefusal("specifier " + s + " of DATE_FORMAT"))
	}
}

// convertCast converts CAST to a type without a length.
func (c *converter) convertCast(e *ast.FuncCastExpr, depth int) node {
	var to strings.Builder
	e.Tp.FormatAsCastType(&to, e.ExplicitCharSet)
	switch {
	case e.FunctionType == ast.CastConvertFunction:
		return c.recordError(newUnsupportedError("CONVERT"))
	case e.FunctionType == ast.CastBinaryOperator:
		return c.recordError(newRefusal("operator BINARY"))
	}
	switch to.String() {
	case "SIGNED", "UNSIGNED", "CHAR", "DATE", "DATETIME":
		return &cast{x: c.convertExpr(e.Expr, depth), to: to.String()}
	}
	return c.recordError(newRefusal("CAST to " + to.String()))
}

func (c *converter) convertAggregate(e *ast.AggregateFuncExpr, depth int) node {
	n := &aggregate{name: strings.ToUpper(e.F), distinct: e.Distinct}
	_, ok := functions[n.name]
	switch {
	case !ok:
		return c.recordError(newUnsupportedError(n.name))
	case len(e.Args) != 1:
		return c.recordError(newRefusal(n.name + " of several values"))
	case n.distinct && n.name == "BIT_OR":
		return c.recordError(newRefusal(n.name + " of DISTINCT values"))
	}
	// The parser turns COUNT(*) into COUNT(1), which gives the same number.
	if l, ok := e.Args[0].(*driver.ValueExpr); ok && n.name == "COUNT" && !n.distinct && l.Kind() == driver.KindInt64 {
		return n
	}
	n.x = c.convertExpr(e.Args[0], depth)
	return n
}
