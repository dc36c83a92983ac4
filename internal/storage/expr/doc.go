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
// SQLiteFunctions, which package sqldb registers on each connection, where they do
// not. Plain comparisons of a column with a literal stay plain, so that an index
// can serve them.
//
// The MySQL text means the same on MariaDB 10.11 and MySQL 8; where those two
// differ it says more than the outsider did (casts around operands of bits and
// texts of keys). It counts on the session that package sqldb sets up: utf8mb4 with
// utf8mb4_general_ci, UTC, NO_UNSIGNED_SUBTRACTION, and on Key columns whose
// collation tells case.
//
// Strict mode makes an error of all that a conversion drops in an UPDATE, in a
// CAST too. Assign therefore converts literals itself, and cuts other texts to
// what the column takes; what happens deeper in an expression ('7abc' + 1 of a
// column, a number below zero) is still MySQL's error there.
//
// Known distances of SQLite from MySQL, each held by a test: letters other than
// ASCII compare by case and accent; decimals are doubles, in texts and in the
// digits they are cut to; of equal texts GREATEST and LEAST may give the other;
// a negative number CAST to UNSIGNED keeps its bits. Besides, without a test: an
// unsigned subtraction may go below zero instead of failing; a scalar sub-select
// of several rows gives its first row; texts with signs below the blank at their
// end; integers above 2^53 that meet doubles or unsigned patterns.
//
// Where MariaDB and MySQL 8 differ for good: a date compared with a text that is
// none (MariaDB takes the text for a date before all, and SQLite with it; MySQL 8
// refuses a literal); LEAST of texts or a CAST to CHAR(n) used as a number;
// FROM_UNIXTIME after 2038 and UNIX_TIMESTAMP before 1970; GREATEST of a date and
// a text; DATE_ADD of a text that is no literal, as a text; a column compared
// with 0x41; fractions of a second put into a column; the sub-query cache of
// MariaDB, which takes texts for one another that its collation finds equal.
//
// Neighbours: store asks for conditions and values, filter and frontier for
// expressions; db registers the functions. The package holds no connection and
// reads no clock. Sources: docs/spec/DECISIONS.md 4, docs/spec/storage.md 5.1-5.4, docs/spec/objects.md 0 and 4.3.
package expr
