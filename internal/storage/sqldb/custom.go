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
	errConnections = errors.New("what changes the connection or the transaction is not for a statement from outside")
)

// ownWords begin statements of MySQL about the connection and the transaction.
var ownWords = regexp.MustCompile(`(?is)^(?:\s|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*(?:BEGIN|COMMIT|ROLLBACK|START|SAVEPOINT|RELEASE|SET|LOCK|UNLOCK|XA|USE|KILL|SHUTDOWN)\b`)

// Any runs one statement of any kind, in the database's own language and with
// its own names of tables (SQL_CUSTOM, docs/spec/DECISIONS.md 4). Database is a configured
// name; on MySQL it is where tables without a database are looked for, on SQLite
// there is but one. Columns gets the names of the result's columns and their
// types as the database calls them, once and before the rows; a statement
// without a result has none. A cancelled context interrupts the statement.
//
// A statement cannot end the transaction, and on SQLite reach no other file; on
// MySQL it can do what the user of the connection may, which is not used again,
// and one about tables commits what was done before.
func (t *Tx) Any(database, text string, columns func(names, types []string), row func(scan func(...any) error) error) error {
	if !oneStatement(text) {
		return errStatement
	}
	if t.DB.dialect == expr.MySQL {
		if ownWords.MatchString(text) {
			return errConnections
		}
		t.mark.strays = true
		if _, err := t.Exec("USE `" + strings.ReplaceAll(database, "`", "``") + "`"); err != nil {
			return err
		}
		return t.Rows(text, nil, columns, row)
	}
	if err := t.authorize(within); err != nil {
		return err
	}
	err := t.Rows(text, nil, columns, row)
	var denied sqlite3.Error
	if errors.As(err, &denied) && denied.Code == sqlite3.ErrAuth {
		err = errConnections
	}
	return errors.Join(err, t.authorize(nil))
}

// Rows is Each for a query whose columns are not known; columns is called as by
// Any.
func (t *Tx) Rows(text string, args []any, columns func(names, types []string), row func(scan func(...any) error) error) error {
	defer t.DB.interrupted(t.ctx, t.conn)()
	rows, err := t.conn.QueryContext(t.ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	list, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	names, types := make([]string, len(list)), make([]string, len(list))
	for i, c := range list {
		names[i], types[i] = c.Name(), strings.ToUpper(c.DatabaseTypeName())
	}
	columns(names, types)
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// within permits what stays within the file and the transaction.
func within(action int, _, _, _ string) int {
	switch action {
	case sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT:
		return sqlite3.SQLITE_DENY
	}
	return sqlite3.SQLITE_OK
}

// authorize sets who may what on the connection; nil permits all.
func (t *Tx) authorize(rule func(int, string, string, string) int) error {
	return t.conn.Raw(func(c any) error {
		conn, ok := c.(*sqlite3.SQLiteConn)
		if !ok {
			return fmt.Errorf("db.Any: %T is no connection of SQLite: %w", c, driver.ErrBadConn)
		}
		conn.RegisterAuthorizer(rule)
		return nil
	})
}

// oneStatement reports whether nothing but space follows the first semicolon
// outside of quotes and comments, and whether anything comes before it: of more
// statements the driver runs the last alone. A doubled quote is two texts side by
// side; MySQL's backslash may only make more of the text look like a statement's
// end.
func oneStatement(text string) bool {
	something := false
	for text != "" {
		begin, end := 1, ""
		switch c := text[0]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
		case c == ';':
			return something && strings.TrimSpace(text[1:]) == ""
		case strings.HasPrefix(text, "--"), c == '#':
			end = "\n"
		case strings.HasPrefix(text, "/*"):
			begin, end = 2, "*/"
		case c == '\'' || c == '"' || c == '`':
			end, something = string(c), true
		default:
			something = true
		}
		text = text[begin:]
		if end == "" {
			continue
		}
		n := strings.Index(text, end)
		if n < 0 {
			return something
		}
		text = text[n+len(end):]
	}
	return something
}
