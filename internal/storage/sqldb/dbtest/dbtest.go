// Package dbtest creates empty databases of every supported kind for tests.
//
//	for _, backend := range dbtest.Backends {
//		t.Run(backend, func(t *testing.T) {
//			d, err := sqldb.Open(ctx, dbtest.Config(t, backend))
package dbtest

import (
	"path/filepath"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/mariadbtest"
)

// Backends lists the drivers on which suites run.
var Backends = []string{sqldb.DriverSQLite, sqldb.DriverMySQL}

// Config returns the settings of a new database, which is removed after the test.
func Config(t testing.TB, backend string) sqldb.Config {
	t.Helper()
	if backend == sqldb.DriverSQLite {
		return sqldb.Config{Driver: backend, Path: filepath.Join(t.TempDir(), "dc.db")}
	}
	s := mariadbtest.Start(t)
	return sqldb.Config{Driver: backend, Server: sqldb.Server{Socket: s.Socket, User: s.User}, Names: s.Names(t)}
}
