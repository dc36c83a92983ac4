// Package expr turns a criterion or an SQL expression that an outsider wrote in
// the MySQL dialect into a checked tree, and the tree into SQL text with
// placeholders for the database in use.
//
// Nothing of the outsider's text reaches a database: the text is parsed, every
// name is looked up in the tables that the caller offers, every function in a
// fixed list, every literal becomes a bound value, and new text is written from
// the tree. What is not understood is refused with an *Error that names the
// offending part.
//
//	scope := expr.Scope{
//		Dialect: expr.SQLite,
//		Now:     now,
//		Table:   expr.Table{Name: "urls_0", Columns: map[string]expr.Kind{"Status": expr.Int, "UDate": expr.Time}},
//	}
//	where, err := scope.Where("Status=1 AND DATE_ADD(UDate, INTERVAL 5 MINUTE) < NOW()")
//	// where.Text: (((`Status` = ?) AND (my_date_add(`UDate`, ?, 'MINUTE') < ?)))
//	// where.Args: 1, 5, "2026-01-05 10:00:00"
//
// The meaning is MySQL's on both databases. On SQLite it comes from explicit
// casts and collations where those suffice, and from the functions of
// SQLiteFunctions, which package db registers on each connection, where they do
// not. Plain comparisons of a column with a literal stay plain, so that an index
// can serve them.
//
// Known distances from MySQL on SQLite: case is ignored for ASCII letters only;
// decimals are doubles; an unsigned subtraction may go below zero instead of
// failing; a scalar sub-select of several rows gives its first row.
//
// Neighbours: store asks for conditions and values, filter and frontier for
// expressions; db registers the functions. The package holds no connection and
// reads no clock. Sources: DECISIONS 4, storage 5.1-5.4, objects 0 and 4.3.
package expr
