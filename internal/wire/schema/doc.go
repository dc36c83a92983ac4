// Package schema has the columns of the rows that travel and are stored: their names on the wire and in SQL, their kinds and
// bounds, and their values as requests write them.
//
//	var rowColumns = schema.ColumnsOf(Row{}) // by its tags json, col and fit
//	patch := schema.Patch{"Status": int64(4), "UDate": schema.Expr("NOW()")}
//	schema.Apply(&row, rowColumns, patch, schema.DateOf(now))
//
// A stored row is a struct. A request sets some columns only: it is a [Patch]. Source: docs/spec/objects.md 0,
// docs/spec/storage.md 1.
package schema
