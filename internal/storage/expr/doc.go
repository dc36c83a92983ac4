// Package expr translates criterions and SQL expressions of clients, written in the
// MySQL dialect, to safe SQL for the database in use.
//
// No part of a client's text reaches a database. The package parses the text, looks up
// every name in the tables of the caller and every function in a fixed table, binds
// every literal, and writes new SQL from the tree. It refuses everything else with an
// *Error that names the refused part.
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
// Both databases give the results of MySQL. On SQLite the writer adds explicit casts and
// collations, and calls the functions of SQLiteFunctions, which package sqldb registers
// on each connection. A comparison of a column with a literal stays plain, so that an
// index applies.
//
// The MySQL text has one meaning on MariaDB 10.11 and MySQL 8; the writer adds casts
// around operands of bit operations and texts of keys for that. It relies on the session
// of package sqldb: utf8mb4 with utf8mb4_general_ci, UTC, NO_UNSIGNED_SUBTRACTION, and a
// case-sensitive collation of Key columns.
//
// In strict mode MySQL rejects an UPDATE if a conversion drops characters, also in a
// CAST. Assign therefore converts literals itself and cuts other texts to a form that
// the column accepts. Deeper in an expression ('7abc' + 1, a number below zero) MySQL
// still reports the error.
//
// Known differences of SQLite from MySQL, each with a test: non-ASCII letters compare by
// case and accent; decimals are doubles; integers are signed, so a number with bit 63 is
// negative; fractions of a second are cut off. Differences without a test: a scalar
// sub-select of several rows gives its first row; texts that end in control characters;
// integers above 2^53 that meet doubles.
//
// MariaDB and MySQL 8 differ, and the package does not hide it, in: a date compared with
// an invalid date text (MySQL 8 refuses a literal; MariaDB and SQLite sort it before all
// dates); DATE_ADD of a text that is not a literal; fractions of a second in a column;
// MariaDB's sub-query cache, which confuses texts that are equal in its collation.
//
// The package does no I/O and reads no clock. Sources: docs/spec/DECISIONS.md 4,
// docs/spec/storage.md 5.1-5.4, docs/spec/objects.md 0 and 4.3.
package expr
