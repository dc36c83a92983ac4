package mariadbtest

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
)

// databases are the names in sql/, the constants of package sqldb, and their short
// forms.
var databases = map[string]string{
	"dc_sites":        "sites",
	"dc_urls":         "urls",
	"dc_urls_deleted": "urls_deleted",
	"dc_contents":     "contents",
	"dc_attributes":   "attributes",
	"dc_stat_freqs":   "stat_freqs",
	"dc_stat_logs":    "stat_logs",
}

var tests atomic.Int64

// Names gives the databases of one test on the shared server: "dc_sites" maps to
// "t17_sites". They are not made; those that exist at the test's end are dropped.
func Names(t testing.TB) map[string]string {
	t.Helper()
	return Start(t).Names(t)
}

// Names is the function Names for this server.
func (s *Server) Names(t testing.TB) map[string]string {
	t.Helper()
	n := tests.Add(1)
	names := map[string]string{}
	for name, short := range databases {
		names[name] = fmt.Sprintf("t%d_%s", n, short)
	}
	t.Cleanup(func() {
		if err := s.drop(names); err != nil {
			t.Errorf("mariadbtest: drop the test's databases: %v", err)
		}
	})
	return names
}

// drop removes databases, on a server that a test may have left dead or stopped.
func (s *Server) drop(names map[string]string) error {
	if s.stopped || s.process.ended() {
		if err := s.Restart(); err != nil {
			return err
		}
	}
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, name := range names {
		if _, err := pool.Exec("DROP DATABASE IF EXISTS `" + name + "`"); err != nil {
			return err
		}
	}
	return nil
}
