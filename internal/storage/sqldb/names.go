package sqldb

import (
	"strings"

	"hce/dc/internal/storage/expr"
)

// The databases of the specification (docs/spec/storage.md 1) with their names in sql/.
// Config.Names may rename them.
const (
	Sites      = "dc_sites"
	URLs       = "dc_urls"
	Deleted    = "dc_urls_deleted"
	Contents   = "dc_contents"
	Attributes = "dc_attributes"
	Freqs      = "dc_stat_freqs"
	Logs       = "dc_stat_logs"
)

// siteTables maps a database to the prefix of its table for each site: dc_urls has
// urls_<site>. On SQLite one table holds the rows of all sites: dc_urls.urls.
var siteTables = map[string]string{
	URLs: "urls", Deleted: "urls", Contents: "contents", Attributes: "att", Freqs: "freq", Logs: "log",
}

// SiteDatabases lists the databases with one table for each site.
var SiteDatabases = []string{URLs, Deleted, Contents, Attributes, Freqs, Logs}

// Name returns the configured name of a database. database is one of the constants.
func (d *DB) Name(database string) string {
	if configured, ok := d.cfg.Names[database]; ok {
		return configured
	}
	return database
}

// Table returns the quoted name of a table. database is one of the constants. The caller
// must check the name of the table.
func (d *DB) Table(database, table string) string { return d.Quote(d.Name(database), table) }

// SiteTable returns the quoted name of the table with the rows of a site. On SQLite the
// table also holds other sites. database is one of SiteDatabases. The caller must check
// the id of the site.
func (d *DB) SiteTable(database, site string) string {
	return d.Table(database, d.tableOf(database, site))
}

func (d *DB) tableOf(database, site string) string {
	if d.dialect == expr.MySQL {
		return siteTables[database] + "_" + site
	}
	return siteTables[database]
}

// Quote returns the quoted name of a table. database is a configured name. It serves as
// the Quote of an expr.Scope.
func (d *DB) Quote(database, table string) string {
	if d.dialect == expr.MySQL {
		return "`" + strings.ReplaceAll(database, "`", "``") + "`.`" + strings.ReplaceAll(table, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(database+"."+table, `"`, `""`) + `"`
}

// Dialect returns the SQL dialect of the database.
func (d *DB) Dialect() expr.Dialect { return d.dialect }

// RowID returns the column that orders rows by insertion.
func (d *DB) RowID() string {
	if d.dialect == expr.MySQL {
		return "`Row_Id`"
	}
	return "rowid"
}

// BitOr returns the name of the aggregate function BIT_OR.
func (d *DB) BitOr() string {
	if d.dialect == expr.MySQL {
		return "BIT_OR"
	}
	return "my_bit_or"
}

// Upsert returns the clause behind the rows of an INSERT that changes rows with an existing key
// instead, up to its assignments, and the value of a column in the row of the INSERT.
func (d *DB) Upsert(key ...string) (clause string, given func(column string) string) {
	if d.dialect == expr.MySQL {
		return " ON DUPLICATE KEY UPDATE ", func(column string) string { return "VALUES(`" + column + "`)" }
	}
	return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET ", func(column string) string { return "excluded.`" + column + "`" }
}

// ForUpdate returns the end of a SELECT whose rows the transaction will change. It is
// empty on SQLite, where the transaction already holds the lock.
func (d *DB) ForUpdate() string {
	if d.dialect == expr.MySQL {
		return " FOR UPDATE"
	}
	return ""
}
