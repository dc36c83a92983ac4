package db

import (
	"strings"

	"hce/dc/internal/expr"
)

// The databases of the specification (storage 1), by the names that they have
// in sql/. Config.Names may give them other names.
const (
	Sites      = "dc_sites"
	URLs       = "dc_urls"
	Deleted    = "dc_urls_deleted"
	Contents   = "dc_contents"
	Attributes = "dc_attributes"
	Freqs      = "dc_stat_freqs"
	Logs       = "dc_stat_logs"
)

// Name is the configured name of a database; database is one of the constants.
func (d *DB) Name(database string) string {
	if configured, ok := d.cfg.Names[database]; ok {
		return configured
	}
	return database
}

// Table writes the quoted name of a table. Database is one of the constants.
// The table's name must be checked by the caller: quoting keeps it a name, not
// a good one.
func (d *DB) Table(database, table string) string { return Quote(d.Name(database), table) }

// Quote writes the quoted name of a table by the configured name of its
// database; it is the Quote of an expr.Scope.
func Quote(database, table string) string {
	return `"` + strings.ReplaceAll(database+"."+table, `"`, `""`) + `"`
}

// Dialect is the language of the database in use.
func (d *DB) Dialect() expr.Dialect { return expr.SQLite }
