// Package sqltext carries the SQL texts of the house in the program: schema
// steps and named statements. It has no logic, and is a package of its own only
// because embed cannot reach above its own folder; package db reads it.
//
//	sqlite/schema/NNN_name.sql  one step of the schema, run once
//	both/name.sql               named statements that both databases read
//	sqlite/name.sql             those that only SQLite reads
//
// In all of them {database.table} stands for a table, by the database names of
// the specification; in a step of the schema %NOW% stands for the moment.
package sqltext

import "embed"

// FS holds the files below sql/.
//
//go:embed sqlite both
var FS embed.FS
