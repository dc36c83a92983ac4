package sqldb

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
)

// oneLine is a report of integrity_check without its headline.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "*** in database main ***\n"), "\n", "; ")
}

// Check reads a SQLite file to its end and reports broken pages and indexes that do not fit their tables. It does
// nothing on MySQL, which has checksums of its own.
func (d *DB) Check(ctx context.Context, report func(fault string)) error {
	if d.dialect == expr.MySQL {
		return nil
	}
	rows, err := d.readers.QueryContext(ctx, "PRAGMA integrity_check(20)")
	if err != nil {
		return fmt.Errorf("check %s: %w", d.cfg.Path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("check %s: %w", d.cfg.Path, err)
		}
		if text != "ok" {
			report(fmt.Sprintf("database %s: %s; restore it from a backup", d.cfg.Path, oneLine(text)))
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("check %s: %w", d.cfg.Path, err)
	}
	return nil
}
