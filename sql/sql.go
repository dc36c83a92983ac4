// Package sqltext embeds the SQL texts in the program: schema steps and named statements.
// It is a separate package because embed cannot read above its own folder. Package sqldb
// reads it.
//
//	sqlite/schema/NNN_name.sql      one schema step, run once
//	mysql/schema/NNN_name.sql       the same on MySQL
//	mysql/schema/NNN_name.site.sql  a step for the tables of each site
//	both/name.sql                   named statements of both databases
//	sqlite/name.sql, mysql/name.sql named statements of one database
//
//	archive/name.sql                one statement of the web archive, which package catalog runs
//
// sqldb replaces {database.table} by a table, with the database names of the specification,
// and {rowid} by the column that orders rows by insertion. In schema steps it replaces %NOW%
// by the current time and %SITE% by the id of the site.
package sqltext

import "embed"

// FS holds the files below sql/.
//
//go:embed sqlite mysql both
var FS embed.FS

// Archive holds the statements of the web archive.
//
//go:embed archive
var Archive embed.FS
