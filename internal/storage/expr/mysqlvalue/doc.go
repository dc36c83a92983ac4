// Package mysqlvalue has the values of MySQL: how it reads texts as numbers, dates and spans of time, and how it calculates with
// them. Functions of package expr use it where SQLite differs.
//
//	m, ok := mysqlvalue.ParseMoment("2026-1-5 10:30")
//	next, ok := m.AddUnits(int64(2), "MONTH", 1)
//
// A value is int64, float64, string or []byte.
package mysqlvalue
