package storage

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
)

// evaluateTime is the most time of one expression.
const evaluateTime = 2 * time.Second

var calculator = sync.OnceValue(sqldb.OpenMemory)

// Evaluate returns the value of an SQL expression in the MySQL dialect that names no column, as a
// text; "" for NULL. It needs no open store. Goroutines may call it.
func Evaluate(expression string) (string, error) {
	value, err := expr.Scope{Dialect: expr.SQLite, Now: time.Now().UTC()}.Value(expression)
	if err != nil || value.Text == "" {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluateTime)
	defer cancel()
	var text sql.NullString
	if err := calculator().QueryRowContext(ctx, "SELECT CAST("+value.Text+" AS TEXT)", value.Args...).Scan(&text); err != nil {
		return "", fmt.Errorf("evaluate %.80q: %w", expression, err)
	}
	return text.String, nil
}
