package legacyimport

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
)

// source is the databases of an original service. Not safe for concurrent use.
type source struct {
	// changes counts changed and dropped values by table and kind: "urls.Size: limited".
	changes map[string]int64
	pool    *sql.DB
	names   map[string]string
	zone    *time.Location
	columns map[string]map[string]string // types by column, by "database.table"
}

// openSource connects to the server. The caller closes the pool.
func openSource(ctx context.Context, o Options) (*source, error) {
	pool, err := sqldb.OpenForeign(ctx, o.Server)
	if err != nil {
		return nil, fmt.Errorf("open the original databases: %w", err)
	}
	s := &source{changes: map[string]int64{}, pool: pool, names: o.Names, zone: o.Zone, columns: map[string]map[string]string{}}
	if s.zone == nil {
		s.zone = time.UTC
	}
	types, err := s.columnsOf(ctx, sqldb.Sites, "sites")
	if err == nil && types == nil {
		err = fmt.Errorf("there is no table sites in the database %s, or the user may not read it", s.databaseName(sqldb.Sites))
	}
	if err == nil && types["RecrawlLock"] != "" {
		err = fmt.Errorf("the database %s is of this service, not of the original one", s.databaseName(sqldb.Sites))
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the original databases: %w", err)
	}
	return s, nil
}

func (s *source) databaseName(database string) string {
	if configured := s.names[database]; configured != "" {
		return configured
	}
	return database
}

func (s *source) quotedName(database, table string) string {
	return "`" + strings.ReplaceAll(s.databaseName(database), "`", "``") + "`.`" + strings.ReplaceAll(table, "`", "``") + "`"
}

// columnsOf returns the types of a table's columns, in lower case and by name. It
// returns nil if the table does not exist.
func (s *source) columnsOf(ctx context.Context, database, table string) (map[string]string, error) {
	key := database + "." + table
	if known, ok := s.columns[key]; ok {
		return known, nil
	}
	rows, err := s.pool.QueryContext(ctx, "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", s.databaseName(database), table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var types map[string]string
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, err
		}
		if types == nil {
			types = map[string]string{}
		}
		types[name] = strings.ToLower(kind)
	}
	if len(s.columns) > 100 {
		clear(s.columns) // tables of finished sites are not read again
	}
	s.columns[key] = types
	return types, rows.Err()
}

// listOrphans lists tables urls_<site> whose site has no row, ordered by name.
func (s *source) listOrphans(ctx context.Context) ([]string, error) {
	text := "SELECT t.TABLE_NAME FROM information_schema.TABLES t LEFT JOIN " + s.quotedName(sqldb.Sites, "sites") +
		" s ON s.Id = SUBSTRING(t.TABLE_NAME, 6) WHERE t.TABLE_SCHEMA = ? AND LEFT(t.TABLE_NAME, 5) = 'urls_' AND s.Id IS NULL ORDER BY 1"
	rows, err := s.pool.QueryContext(ctx, text, s.databaseName(sqldb.URLs))
	if err != nil {
		return nil, fmt.Errorf("list orphan tables: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list orphan tables: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// countChanges counts n changes of a kind.
func (s *source) countChanges(kind string, n int64) {
	if n > 0 {
		s.changes[kind] += n
	}
}
