package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// Vacuumed says how many bytes a database file had.
type Vacuumed struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Vacuum rewrites a SQLite file: without the room of deleted rows, and with checksums of its pages (package pagesum), which a
// file that an older program or sqlite3 made does not have. It needs free room of twice the size of the file; other processes
// that write wait.
func (d *DB) Vacuum(ctx context.Context) (v Vacuumed, err error) {
	if d.dialect == expr.MySQL {
		return v, errors.New("the database is on a server, which has checksums of its own; to free room there: OPTIMIZE TABLE")
	}
	defer func() { err = d.nameFile(err) }()
	size := func() int64 {
		info, err := os.Stat(d.cfg.Path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	conn, err := d.takeWriter(ctx)
	if err != nil {
		return v, err
	}
	defer func() { d.writer <- conn }()
	v.Before = size()
	for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return v, fmt.Errorf("vacuum: %w", err)
		}
	}
	v.After = size()
	return v, nil
}
