package expr

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver" // the literals of the parser, without a server
)

// parsers keeps idle parsers: one is large, and none may be shared between
// goroutines.
var parsers = sync.Pool{New: func() any { return parser.New() }}

// parseExpression parses one expression.
func parseExpression(text string) (node, error) {
	if err := guard(text); err != nil {
		return nil, err
	}
	stmt, err := parseSelect("SELECT ("+text+"\n)", text)
	if err != nil {
		return nil, err
	}
	if len(stmt.Fields.Fields) != 1 || stmt.Fields.Fields[0].Expr == nil {
		return nil, &Error{Part: "text", Reason: "is not one expression"}
	}
	c := &converter{}
	root := c.expr(stmt.Fields.Fields[0].Expr, 0)
	return root, c.failure()
}

// parseOrder parses what follows the words ORDER BY.
func parseOrder(text string) ([]sortKey, error) {
	if err := guard(text); err != nil {
		return nil, err
	}
	stmt, err := parseSelect("SELECT 1 ORDER BY "+text, text)
	if err != nil {
		return nil, err
	}
	switch {
	case stmt.Limit != nil:
		return nil, refuse("LIMIT in an ORDER BY")
	case stmt.OrderBy == nil:
		return nil, &Error{Part: "text", Reason: "is not an ORDER BY list"}
	}
	c := &converter{}
	c.clauses(stmt)
	keys := c.keys("ORDER BY", stmt.OrderBy.Items, 0)
	return keys, c.failure()
}

// parseQuery parses one SELECT statement.
func parseQuery(text string) (*query, error) {
	if err := guard(text); err != nil {
		return nil, err
	}
	stmt, err := parseSelect(text, text)
	if err != nil {
		return nil, err
	}
	c := &converter{}
	q := c.query(stmt, 0)
	return q, c.failure()
}

// parseSelect parses one SELECT. text is what the outsider wrote of sql.
func parseSelect(sql, text string) (*ast.SelectStmt, error) {
	stmt, err := parseOne(sql, text)
	if err != nil {
		return nil, err
	}
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		return s, nil
	case *ast.SetOprStmt:
		return nil, refuse("UNION")
	}
	return nil, refuse("statement " + strings.ToUpper(lead(strings.TrimSpace(sql))))
}

// parseOne runs the parser. text is what the outsider wrote of sql.
func parseOne(sql, text string) (stmt ast.StmtNode, err error) {
	p := parsers.Get().(*parser.Parser)
	defer func() {
		// A parser that panicked is not used again.
		if r := recover(); r != nil {
			stmt, err = nil, &Error{Part: "text", Reason: "cannot be parsed"}
			return
		}
		p.Reset()
		parsers.Put(p)
	}()
	stmts, _, err := p.ParseSQL(sql)
	if err != nil {
		return nil, syntaxError(err, text)
	}
	if len(stmts) != 1 {
		return nil, &Error{Part: "text", Reason: "is not one statement"}
	}
	return stmts[0], nil
}

var nearText = regexp.MustCompile(`(?s)near "(.*)"`)

// syntaxError names the place that the parser stumbled on.
func syntaxError(err error, text string) *Error {
	if macro := unknownMacro(text); macro != "" {
		return &Error{Part: "macro " + macro, Reason: "is not known here"}
	}
	near := ""
	if m := nearText.FindStringSubmatch(err.Error()); m != nil {
		near = strings.TrimSpace(m[1])
		if !strings.HasSuffix(strings.TrimSpace(text), near) {
			near = strings.TrimSpace(strings.TrimSuffix(near, ")"))
		}
	}
	if near == "" {
		return &Error{Part: "text", Reason: "ends too early or is not MySQL syntax"}
	}
	if r := []rune(near); len(r) > 40 {
		near = string(r[:40]) + "..."
	}
	return &Error{Part: "text near " + strconv.Quote(near), Reason: "is not MySQL syntax"}
}

// converter makes the package's own tree of the parser's. The first refusal
// stays; what follows it is not looked at.
type converter struct {
	err          *Error
	nodes, logic int
}

func (c *converter) failure() error {
	if c.err != nil {
		return c.err
	}
	return nil
}

func (c *converter) fail(err *Error) node {
	if c.err == nil {
		c.err = err
	}
	return &literal{}
}

// enter counts a node and tells whether the walk may go on.
func (c *converter) enter(depth int) bool {
	c.nodes++
	switch {
	case c.err != nil:
	case depth > maxDepth:
		c.fail(&Error{Part: "text", Reason: fmt.Sprintf("is nested deeper than %d levels", maxDepth)})
	case c.nodes > maxNodes:
		c.fail(&Error{Part: "text", Reason: fmt.Sprintf("has more than %d parts", maxNodes)})
	}
	return c.err == nil
}

func (c *converter) expr(e ast.ExprNode, depth int) node {
	for {
		inner, ok := e.(*ast.ParenthesesExpr)
		if !ok {
			break
		}
		e = inner.Expr
	}
	if !c.enter(depth) {
		return &literal{}
	}
	depth++
	switch e := e.(type) {
	case *driver.ValueExpr:
		return c.value(e)
	case *ast.ColumnNameExpr:
		return &column{database: e.Name.Schema.O, table: e.Name.Table.O, name: e.Name.Name.O}
	case *ast.UnaryOperationExpr:
		return c.unary(e, depth)
	case *ast.BinaryOperationExpr:
		return c.binary(e, depth)
	case *ast.IsNullExpr:
		return &isNull{x: c.expr(e.Expr, depth), not: e.Not}
	case *ast.IsTruthExpr:
		return &isTruth{x: c.expr(e.Expr, depth), want: e.True != 0, not: e.Not}
	case *ast.BetweenExpr:
		return &between{x: c.expr(e.Expr, depth), lo: c.expr(e.Left, depth), hi: c.expr(e.Right, depth), not: e.Not}
	case *ast.PatternInExpr:
		n := &in{x: c.expr(e.Expr, depth), not: e.Not}
		if e.Sel != nil {
			n.sub = c.subquery(e.Sel, depth)
			return n
		}
		n.list = c.list(e.List, depth)
		return n
	case *ast.PatternLikeOrIlikeExpr:
		return c.like(e, depth)
	case *ast.PatternRegexpExpr:
		return &match{x: c.expr(e.Expr, depth), pattern: c.expr(e.Pattern, depth), not: e.Not}
	case *ast.FuncCallExpr:
		return c.call(e, depth)
	case *ast.FuncCastExpr:
		return c.cast(e, depth)
	case *ast.SetCollationExpr:
		name := strings.ToLower(e.Collate)
		return &collate{x: c.expr(e.Expr, depth), exact: name == "binary" || strings.HasSuffix(name, "_bin"), name: name}
	case *ast.CaseExpr:
		return c.choice(e, depth)
	case *ast.AggregateFuncExpr:
		return c.aggregate(e, depth)
	case *ast.ExistsSubqueryExpr:
		return &exists{sub: c.subquery(e.Sel, depth), not: e.Not}
	case *ast.SubqueryExpr:
		return &scalar{sub: c.subquery(e, depth)}
	}
	return c.fail(refuse(construct(e)))
}

// construct names a part of the language that the package leaves out.
func construct(e ast.ExprNode) string {
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
	}
	return "expression " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", e), "*ast."), "Expr")
}

func (c *converter) list(list []ast.ExprNode, depth int) []node {
	nodes := make([]node, len(list))
	for i, e := range list {
		nodes[i] = c.expr(e, depth)
	}
	return nodes
}

func (c *converter) value(v *driver.ValueExpr) node {
	switch v.Kind() {
	case driver.KindNull:
		return &literal{kind: litNull}
	case driver.KindInt64:
		return &literal{kind: litInt, i: v.GetInt64()}
	case driver.KindUint64:
		if u := v.GetUint64(); u > math.MaxInt64 {
			return &literal{kind: litUint, i: int64(u)}
		}
		return &literal{kind: litInt, i: v.GetInt64()}
	case driver.KindFloat32, driver.KindFloat64:
		return &literal{kind: litReal, f: v.GetFloat64()}
	case driver.KindMysqlDecimal:
		text := v.GetMysqlDecimal().String()
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c.fail(&Error{Part: "number " + text, Reason: "is out of range"})
		}
		_, digits, _ := strings.Cut(text, ".")
		return &literal{kind: litReal, f: f, decimal: true, scale: len(digits)}
	case driver.KindString:
		return &literal{kind: litText, s: v.GetString()}
	case driver.KindBytes, driver.KindBinaryLiteral:
		return &literal{kind: litBytes, s: string(v.GetBytes())}
	}
	return c.fail(refuse("literal"))
}

func (c *converter) unary(e *ast.UnaryOperationExpr, depth int) node {
	x := c.expr(e.V, depth)
	switch e.Op {
	case opcode.Plus:
		return x
	case opcode.Minus:
		// -9223372036854775808 is a number, not the negation of an unsigned one.
		if l, ok := x.(*literal); ok {
			switch {
			case l.kind == litInt && l.i != math.MinInt64, l.kind == litUint && l.i == math.MinInt64:
				return &literal{kind: litInt, i: -l.i}
			case l.kind == litReal:
				return &literal{kind: litReal, f: -l.f, decimal: l.decimal, scale: l.scale}
			}
		}
		return &unary{op: "-", x: x}
	case opcode.BitNeg:
		return &unary{op: "~", x: x}
	case opcode.Not, opcode.Not2:
		return &unary{op: "NOT", x: x}
	}
	return c.fail(refuse("operator " + e.Op.String()))
}

var binaryOps = map[opcode.Op]string{
	opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/", opcode.IntDiv: "DIV", opcode.Mod: "%",
	opcode.And: "&", opcode.Or: "|", opcode.Xor: "^", opcode.LeftShift: "<<", opcode.RightShift: ">>",
	opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
	opcode.NullEQ: "<=>", opcode.LogicXor: "XOR",
}

func (c *converter) binary(e *ast.BinaryOperationExpr, depth int) node {
	if e.Op == opcode.LogicAnd || e.Op == opcode.LogicOr {
		n := &logic{op: "AND"}
		if e.Op == opcode.LogicOr {
			n.op = "OR"
		}
		for _, operand := range operands(e.Op, e) {
			if c.logic++; c.logic > maxLogic {
				return c.fail(&Error{Part: "text", Reason: fmt.Sprintf("joins more than %d conditions", maxLogic)})
			}
			n.xs = append(n.xs, c.expr(operand, depth))
		}
		return n
	}
	op, ok := binaryOps[e.Op]
	if !ok {
		return c.fail(refuse("operator " + e.Op.String()))
	}
	return &binary{op: op, l: c.expr(e.L, depth), r: c.expr(e.R, depth)}
}

// operands flattens a chain of one operator, in the order of the text, without
// recursion: the parser makes a tree as deep as the chain is long.
func operands(op opcode.Op, e ast.ExprNode) []ast.ExprNode {
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

func (c *converter) like(e *ast.PatternLikeOrIlikeExpr, depth int) node {
	if !e.IsLike {
		return c.fail(refuse("operator ILIKE"))
	}
	n := &like{x: c.expr(e.Expr, depth), pattern: c.expr(e.Pattern, depth), not: e.Not}
	switch {
	case e.Escape >= 0x80:
		return c.fail(refuse("ESCAPE that is not one ASCII sign"))
	case e.Escape != 0:
		n.escape = string(rune(e.Escape))
	}
	return n
}

// units are the units of an INTERVAL. The combined ones (DAY_HOUR) are left out.
var units = map[ast.TimeUnitType]string{
	ast.TimeUnitMicrosecond: "MICROSECOND", ast.TimeUnitSecond: "SECOND", ast.TimeUnitMinute: "MINUTE",
	ast.TimeUnitHour: "HOUR", ast.TimeUnitDay: "DAY", ast.TimeUnitWeek: "WEEK", ast.TimeUnitMonth: "MONTH",
	ast.TimeUnitQuarter: "QUARTER", ast.TimeUnitYear: "YEAR",
}

var trims = map[ast.TrimDirectionType]string{
	ast.TrimBothDefault: "BOTH", ast.TrimBoth: "BOTH", ast.TrimLeading: "LEADING", ast.TrimTrailing: "TRAILING",
}

func (c *converter) call(e *ast.FuncCallExpr, depth int) node {
	if e.Schema.O != "" {
		return c.fail(refuse("function " + e.Schema.O + "." + e.FnName.O))
	}
	switch e.FnName.L {
	case ast.DateLiteral, ast.TimeLiteral, ast.TimestampLiteral:
		return c.temporal(e)
	}
	n := &call{name: strings.ToUpper(e.FnName.O)}
	if len(e.Args) > maxArgs {
		return c.fail(&Error{Part: "function " + n.name, Reason: fmt.Sprintf("has more than %d arguments", maxArgs)})
	}
	if _, ok := functions[n.name]; !ok {
		return c.fail(refuse("function " + n.name))
	}
	for i, arg := range e.Args {
		switch arg := arg.(type) {
		case *ast.TimeUnitExpr:
			unit, ok := units[arg.Unit]
			if !ok {
				return c.fail(refuse("interval unit " + arg.Unit.String()))
			}
			n.unit = unit
		case *ast.TrimDirectionExpr:
			n.unit = trims[arg.Direction]
		default:
			// TRIM without a removed text carries a NULL in its place; CONVERT
			// ... USING carries the name of the character set.
			v, isValue := arg.(*driver.ValueExpr)
			if i == 1 && isValue && (n.name == "TRIM" && v.Kind() == driver.KindNull && len(e.Args) == 3 || n.name == "CONVERT") {
				continue
			}
			n.args = append(n.args, c.expr(arg, depth))
		}
	}
	return n
}

// temporal reads DATE '...', TIME '...' and TIMESTAMP '...'.
func (c *converter) temporal(e *ast.FuncCallExpr) node {
	v, ok := e.Args[0].(*driver.ValueExpr)
	if !ok {
		return c.fail(refuse("date literal"))
	}
	text := v.GetString()
	if e.FnName.L == ast.TimeLiteral {
		if d, ok := parseClock(text); ok {
			return &literal{kind: litTime, s: d.String()}
		}
	} else if m, ok := parseMoment(text); ok {
		if e.FnName.L == ast.DateLiteral {
			return &literal{kind: litDate, s: m.dateText()}
		}
		return &literal{kind: litDateTime, s: m.dateTimeText()}
	}
	return c.fail(&Error{Part: "literal " + strconv.Quote(lead(text)), Reason: "is not a date or a time"})
}

func (c *converter) cast(e *ast.FuncCastExpr, depth int) node {
	n := &cast{x: c.expr(e.Expr, depth), length: -1}
	switch t := e.Tp.GetType(); t {
	case mysql.TypeLonglong:
		n.to = "SIGNED"
		if mysql.HasUnsignedFlag(e.Tp.GetFlag()) {
			n.to = "UNSIGNED"
		}
	case mysql.TypeVarString, mysql.TypeString:
		n.to = "CHAR"
		if e.Tp.GetCharset() == "binary" {
			n.to = "BINARY"
		}
		if e.Tp.GetFlen() >= 0 {
			n.length = e.Tp.GetFlen()
		}
	case mysql.TypeDate:
		n.to = "DATE"
	case mysql.TypeDatetime:
		n.to = "DATETIME"
	case mysql.TypeDuration:
		n.to = "TIME"
	case mysql.TypeNewDecimal:
		n.to, n.length = "DECIMAL", e.Tp.GetFlen()
		n.decimals = max(e.Tp.GetDecimal(), 0)
		if n.length < 0 {
			n.length = 10
		}
	case mysql.TypeDouble, mysql.TypeFloat:
		n.to = "DOUBLE"
	default:
		return c.fail(refuse("CAST to this type"))
	}
	return n
}

func (c *converter) choice(e *ast.CaseExpr, depth int) node {
	if len(e.WhenClauses) > maxArgs {
		return c.fail(&Error{Part: "CASE", Reason: fmt.Sprintf("has more than %d WHENs", maxArgs)})
	}
	n := &choice{}
	if e.Value != nil {
		n.value = c.expr(e.Value, depth)
	}
	for _, w := range e.WhenClauses {
		n.whens = append(n.whens, when{test: c.expr(w.Expr, depth), result: c.expr(w.Result, depth)})
	}
	if e.ElseClause != nil {
		n.other = c.expr(e.ElseClause, depth)
	}
	return n
}

// aggregates are the aggregate functions of docs/spec/storage.md 5.4.
var aggregates = map[string]bool{
	"COUNT": true, "SUM": true, "AVG": true, "MIN": true, "MAX": true, "BIT_OR": true, "BIT_AND": true, "BIT_XOR": true,
}

func (c *converter) aggregate(e *ast.AggregateFuncExpr, depth int) node {
	n := &aggregate{name: strings.ToUpper(e.F), distinct: e.Distinct}
	switch {
	case !aggregates[n.name]:
		return c.fail(refuse("function " + n.name))
	case len(e.Args) != 1:
		return c.fail(refuse(n.name + " of several values"))
	case n.distinct && strings.HasPrefix(n.name, "BIT_"):
		return c.fail(refuse(n.name + " of DISTINCT values"))
	}
	// The parser writes COUNT(*) as COUNT(1), which is the same number.
	if l, ok := e.Args[0].(*driver.ValueExpr); ok && n.name == "COUNT" && !n.distinct && l.Kind() == driver.KindInt64 {
		return n
	}
	n.x = c.expr(e.Args[0], depth)
	return n
}

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

// clauses refuses the clauses of a SELECT that no tree of ours has.
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

// from appends the tables of a FROM, left to right.
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
