// Package dbtest gives tests fresh databases of each kind that the product runs
// on.
//
//	for _, backend := range dbtest.Backends {
//		t.Run(backend, func(t *testing.T) {
//			d, err := db.Open(ctx, dbtest.Config(t, backend))
//
// Neighbours: mariadbtest, whose server it uses, and the tests of what is above
// package db.
package dbtest

import (
	"path/filepath"
	"testing"

	"hce/dc/internal/db"
	"hce/dc/internal/db/mariadbtest"
)

// Backends are the drivers that a suite runs on.
var Backends = []string{db.DriverSQLite, db.DriverMySQL}

// Config is that of a fresh database, which goes with the test.
func Config(t testing.TB, backend string) db.Config {
	t.Helper()
	if backend == db.DriverSQLite {
		return db.Config{Driver: backend, Path: filepath.Join(t.TempDir(), "dc.db")}
	}
	s := mariadbtest.Start(t)
	return db.Config{Driver: backend, Server: db.Server{Socket: s.Socket, User: s.User}, Names: s.Names(t)}
}
