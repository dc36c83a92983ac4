package sqldb

import (
	"strings"

	"hce/dc/internal/storage/expr"
)

// The databases of the specification (docs/spec/storage.md 1), by the names that they have
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

// siteTables are the tables that the specification has for each site, by
// database: dc_urls has urls_<site>. On SQLite the rows of all sites stand in
// one table, as dc_urls.urls.
var siteTables = map[string]string{
	URLs: "urls", Deleted: "urls", Contents: "contents", Attributes: "att", Freqs: "freq", Logs: "log",
}

// SiteDatabases are the databases that have a table for each site.
var SiteDatabases = []string{URLs, Deleted, Contents, Attributes, Freqs, Logs}

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
func (d *DB) Table(database, table string) string { return d.Quote(d.Name(database), table) }

// SiteTable writes the quoted name of the table that holds a site's rows, which
// may hold those of other sites too. Database is one of SiteDatabases; the
// site's id must be checked.
func (d *DB) SiteTable(database, site string) string {
	return d.Table(database, d.tableOf(database, site))
}

func (d *DB) tableOf(database, site string) string {
	if d.dialect == expr.MySQL {
		return siteTables[database] + "_" + site
	}
	return siteTables[database]
}

// Quote writes the quoted name of a table by the configured name of its
// database; it is the Quote of an expr.Scope.
func (d *DB) Quote(database, table string) string {
	if d.dialect == expr.MySQL {
		return "`" + strings.ReplaceAll(database, "`", "``") + "`.`" + strings.ReplaceAll(table, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(database+"."+table, `"`, `""`) + `"`
}

// Dialect is the language of the database in use.
func (d *DB) Dialect() expr.Dialect { return d.dialect }

// RowID is the column that tells which row of a list came first.
func (d *DB) RowID() string {
	if d.dialect == expr.MySQL {
		return "`Row_Id`"
	}
	return "rowid"
}

// Aggregate is the name of one of MySQL's aggregate functions BIT_OR, BIT_AND
// and BIT_XOR.
func (d *DB) Aggregate(name string) string {
	if d.dialect == expr.MySQL {
		return name
	}
	return "my_" + strings.ToLower(name)
}

// ForUpdate ends a SELECT whose rows the transaction will change. On SQLite the
// whole transaction has the lock already.
func (d *DB) ForUpdate() string {
	if d.dialect == expr.MySQL {
		return " FOR UPDATE"
	}
	return ""
}
