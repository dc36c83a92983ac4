// Package sqltext carries the SQL texts of the house in the program: schema
// steps and named statements. It has no logic, and is a package of its own only
// because embed cannot reach above its own folder; package sqldb reads it.
//
//	sqlite/schema/NNN_name.sql      one step of the schema, run once
//	mysql/schema/NNN_name.sql       the same on MySQL
//	mysql/schema/NNN_name.site.sql  a step about the tables of each site
//	both/name.sql                   named statements that both databases read
//	sqlite/name.sql, mysql/name.sql those that only one of them reads
//
// In all of them {database.table} stands for a table, by the database names of
// the specification, and {rowid} for the column that tells which row of a list
// came first; in a step of the schema %NOW% stands for the moment, %SITE% for the
// site.
package sqltext

import "embed"

// FS holds the files below sql/.
//
//go:embed sqlite mysql both
var FS embed.FS
