package expr

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's literals without a server
)

// parsers keeps idle parsers. A parser is large and must not be shared between
// goroutines.
var parsers = sync.Pool{New: func() any { return parser.New() }}

// parseExpression parses one expression.
func parseExpression(text string) (node, error) {
	stmt, err := parseSelect("SELECT ("+text+"\n)", text)
	if err != nil {
		return nil, err
	}
	if len(stmt.Fields.Fields) != 1 || stmt.Fields.Fields[0].Expr == nil {
		return nil, &Error{Part: "text", Reason: "is not one expression"}
	}
	c := &converter{}
	root := c.convertExpr(stmt.Fields.Fields[0].Expr, 0)
	return root, c.err
}

// parseOrder parses the list after the words ORDER BY.
func parseOrder(text string) ([]sortKey, error) {
	stmt, err := parseSelect("SELECT 1 ORDER BY "+text, text)
	if err != nil {
		return nil, err
	}
	switch {
	case stmt.Limit != nil:
		return nil, newRefusal("LIMIT in an ORDER BY")
	case stmt.OrderBy == nil:
		return nil, &Error{Part: "text", Reason: "is not an ORDER BY list"}
	}
	c := &converter{}
	c.checkClauses(stmt)
	keys := c.convertSortKeys("ORDER BY", stmt.OrderBy.Items, 0)
	return keys, c.err
}

// parseQuery parses one SELECT statement.
func parseQuery(text string) (*query, error) {
	stmt, err := parseSelect(text, text)
	if err != nil {
		return nil, err
	}
	c := &converter{}
	q := c.convertQuery(stmt, 0)
	return q, c.err
}

// parseSelect parses one SELECT. text is the part of sql that the caller wrote.
func parseSelect(sql, text string) (*ast.SelectStmt, error) {
	stmt, err := parseOne(sql, text)
	if err != nil {
		return nil, err
	}
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		return s, nil
	case *ast.SetOprStmt:
		return nil, newRefusal("UNION")
	}
	return nil, newRefusal("statement " + strings.ToUpper(firstWord(strings.TrimSpace(sql))))
}

// parseOne guards and parses a text. text is the part of sql that the caller wrote.
func parseOne(sql, text string) (stmt ast.StmtNode, err error) {
	if err := guardText(text); err != nil {
		return nil, err
	}
	p := parsers.Get().(*parser.Parser)
	defer func() {
		// Do not reuse a parser after a panic.
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

// syntaxError names the text at which the parser stopped.
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
