package legacyimport

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Options say where the databases are.
type Options struct {
	Server sqldb.Server
	Names  map[string]string // names of databases that differ from sqldb.Sites and its kin
	Zone   *time.Location    // in which the server wrote dates; UTC when nil
}

// Source is the databases of an original service. It is used by one goroutine.
type Source struct {
	// Changed counts what does not look as it did there, or was left out, as
	// "urls.Size: limited".
	Changed map[string]int64

	pool    *sql.DB
	o       Options
	columns map[string]map[string]string // types by column, by "database.table"
}

// Open connects to the server. The caller closes.
func Open(ctx context.Context, o Options) (*Source, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	pool, err := sqldb.OpenForeign(ctx, o.Server)
	if err != nil {
		return nil, fmt.Errorf("original.Open: %w", err)
	}
	s := &Source{Changed: map[string]int64{}, pool: pool, o: o, columns: map[string]map[string]string{}}
	there, err := s.columnsOf(ctx, sqldb.Sites, "sites")
	if err == nil && there == nil {
		err = fmt.Errorf("there is no table sites in the database %s, or the user may not read it", s.name(sqldb.Sites))
	}
	if err == nil && there["RecrawlLock"] != "" {
		err = fmt.Errorf("the database %s is of this service, not of the original one", s.name(sqldb.Sites))
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("original.Open: %w", err)
	}
	return s, nil
}

// Close ends the connections.
func (s *Source) Close() error { return s.pool.Close() }

func (s *Source) name(database string) string {
	if configured := s.o.Names[database]; configured != "" {
		return configured
	}
	return database
}

func (s *Source) quoted(database, table string) string {
	return "`" + strings.ReplaceAll(s.name(database), "`", "``") + "`.`" + strings.ReplaceAll(table, "`", "``") + "`"
}

// columnsOf are the types of the columns of a table; nil when there is no such
// table.
func (s *Source) columnsOf(ctx context.Context, database, table string) (map[string]string, error) {
	key := database + "." + table
	if known, ok := s.columns[key]; ok {
		return known, nil
	}
	rows, err := s.pool.QueryContext(ctx, "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", s.name(database), table)
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
		clear(s.columns) // the tables of other sites are not asked for again
	}
	s.columns[key] = types
	return types, rows.Err()
}

// Orphans lists tables urls_<site> whose site has no row: nobody reads them.
func (s *Source) Orphans(ctx context.Context) ([]string, error) {
	text := "SELECT t.TABLE_NAME FROM information_schema.TABLES t LEFT JOIN " + s.quoted(sqldb.Sites, "sites") +
		" s ON s.Id = SUBSTRING(t.TABLE_NAME, 6) WHERE t.TABLE_SCHEMA = ? AND LEFT(t.TABLE_NAME, 5) = 'urls_' AND s.Id IS NULL ORDER BY 1"
	rows, err := s.pool.QueryContext(ctx, text, s.name(sqldb.URLs))
	if err != nil {
		return nil, fmt.Errorf("original.Orphans: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("original.Orphans: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// changed counts n changes of a kind.
func (s *Source) changed(what string, n int64) {
	if n > 0 {
		s.Changed[what] += n
	}
}

// general reports whether id is the general site's.
func general(id string) bool { return id == wire.GeneralSite }
