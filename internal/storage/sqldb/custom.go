package sqldb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mattn/go-sqlite3"

	"hce/dc/internal/storage/expr"
)

var (
	errStatement   = errors.New("is not one statement")
	errConnections = errors.New("a client statement must not change the connection or the transaction")
)

// sessionWords matches MySQL statements about the connection or the transaction.
var sessionWords = regexp.MustCompile(`(?is)^(?:\s|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*(?:BEGIN|COMMIT|ROLLBACK|START|SAVEPOINT|RELEASE|SET|LOCK|UNLOCK|XA|USE|KILL|SHUTDOWN)\b`)

// Any runs one statement in the language and with the table names of the database
// (SQL_CUSTOM, docs/spec/DECISIONS.md 4). database is a configured name: on MySQL the
// default database of the statement, on SQLite unused. Any calls columns once before the
// rows with the names and database types of the result columns; a statement without a
// result has none. A cancelled context interrupts the statement.
//
// A statement cannot end the transaction, and on SQLite it cannot reach another file. On
// MySQL it has all rights of the connection's user, and a statement that changes tables
// commits earlier changes. Any does not reuse a MySQL connection.
func (t *Tx) Any(database, text string, columns func(names, types []string), row func(scan func(...any) error) error) error {
	if !oneStatement(text) {
		return errStatement
	}
	if t.DB.dialect == expr.MySQL {
		if sessionWords.MatchString(text) {
			return errConnections
		}
		t.mark.strays = true
		if _, err := t.Exec("USE `" + strings.ReplaceAll(database, "`", "``") + "`"); err != nil {
			return err
		}
		return t.Rows(text, nil, columns, row)
	}
	if err := t.setAuthorizer(restrictStatement); err != nil {
		return err
	}
	err := t.Rows(text, nil, columns, row)
	var denied sqlite3.Error
	if errors.As(err, &denied) && denied.Code == sqlite3.ErrAuth {
		err = errConnections
	}
	return errors.Join(err, t.setAuthorizer(nil))
}

// Rows is Each for a query with unknown columns. It calls columns, which may be nil, as Any does.
func (t *Tx) Rows(text string, args []any, columns func(names, types []string), row func(scan func(...any) error) error) error {
	defer t.DB.killOnCancel(t.ctx, t.conn)()
	t.DB.counts.statements.Add(1)
	rows, err := t.conn.QueryContext(t.ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if columns != nil {
		list, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		names, types := make([]string, len(list)), make([]string, len(list))
		for i, c := range list {
			names[i], types[i] = c.Name(), strings.ToUpper(c.DatabaseTypeName())
		}
		columns(names, types)
	}
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// restrictStatement denies statements that leave the file or the transaction.
func restrictStatement(action int, _, _, _ string) int {
	switch action {
	case sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT:
		return sqlite3.SQLITE_DENY
	}
	return sqlite3.SQLITE_OK
}

// setAuthorizer sets the authorizer of the connection. nil permits all statements.
func (t *Tx) setAuthorizer(rule func(int, string, string, string) int) error {
	return t.conn.Raw(func(c any) error {
		conn, ok := c.(*sqlite3.SQLiteConn)
		if !ok {
			return fmt.Errorf("set the SQLite authorizer on a %T: %w", c, driver.ErrBadConn)
		}
		conn.RegisterAuthorizer(rule)
		return nil
	})
}

// oneStatement reports whether text is exactly one statement, with an optional semicolon
// at its end. The driver would run only the last of several statements. It ignores
// semicolons in quotes and comments. It reads a doubled quote as two adjacent texts. It
// does not know MySQL's backslash escapes, so it may refuse such a text.
func oneStatement(text string) bool {
	found := false
	for text != "" {
		begin, end := 1, ""
		switch c := text[0]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
		case c == ';':
			return found && strings.TrimSpace(text[1:]) == ""
		case strings.HasPrefix(text, "--"), c == '#':
			end = "\n"
		case strings.HasPrefix(text, "/*"):
			begin, end = 2, "*/"
		case c == '\'' || c == '"' || c == '`':
			end, found = string(c), true
		default:
			found = true
		}
		text = text[begin:]
		if end == "" {
			continue
		}
		n := strings.Index(text, end)
		if n < 0 {
			return found
		}
		text = text[n+len(end):]
	}
	return found
}
