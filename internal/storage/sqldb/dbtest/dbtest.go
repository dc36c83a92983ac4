// Package dbtest gives tests fresh databases of each kind that the product runs
// on.
//
//	for _, backend := range dbtest.Backends {
//		t.Run(backend, func(t *testing.T) {
//			d, err := sqldb.Open(ctx, dbtest.Config(t, backend))
//
// Neighbours: mariadbtest, whose server it uses, and the tests of what is above
// package sqldb.
package dbtest

import (
	"path/filepath"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/mariadbtest"
)

// Backends are the drivers that a suite runs on.
var Backends = []string{sqldb.DriverSQLite, sqldb.DriverMySQL}

// Config is that of a fresh database, which goes with the test.
func Config(t testing.TB, backend string) sqldb.Config {
	t.Helper()
	if backend == sqldb.DriverSQLite {
		return sqldb.Config{Driver: backend, Path: filepath.Join(t.TempDir(), "dc.db")}
	}
	s := mariadbtest.Start(t)
	return sqldb.Config{Driver: backend, Server: sqldb.Server{Socket: s.Socket, User: s.User}, Names: s.Names(t)}
}
