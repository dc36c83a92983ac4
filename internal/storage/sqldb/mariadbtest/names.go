package mariadbtest

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
)

// databases maps the names in sql/, the constants of package sqldb, to short forms.
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

// Names returns unused database names for one test on the shared server: "dc_sites" maps to
// "t17_sites". It does not create them. After the test it drops those that exist.
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
		if err := s.dropDatabases(names); err != nil {
			t.Errorf("drop the databases of the test: %v", err)
		}
	})
	return names
}

// dropDatabases drops databases. It restarts a server that the test has killed or stopped.
func (s *Server) dropDatabases(names map[string]string) error {
	if s.stopped || s.process.hasEnded() {
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
