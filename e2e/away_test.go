//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/examples/rig"
	"hce/dc/internal/storage/sqldb/mariadbtest"
)

// A database server that is killed in the middle of a crawl: requests are
// answered with an error that says so, and when the server is back, the daemon
// goes on without a restart; the crawl ends with the same pages.
func TestDatabaseServerGoesAway(t *testing.T) {
	server := mariadbtest.New(t, mariadbtest.Options{Durable: true})
	w := newWitness(t, slowly(tree(200), 3*time.Millisecond))
	data := t.TempDir()
	// Attempts without end: what is lost here is not the URLs' fault.
	r := start(t, data, "DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_socket="+server.Socket, "DC_TasksManager_db_user="+server.User,
		"DC_BatchTasksManager_BatchDefaultMaxAttempts=0", "DC_BatchTasksManagerProcess_BatchDefaultMaxAttempts=0")
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	time.Sleep(400 * time.Millisecond)
	for range 2 {
		server.Kill()
		file := filepath.Join(t.TempDir(), "request.json")
		if err := os.WriteFile(file, []byte(`{"id":"`+id+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			stdout, _, status := run(t, "dc-client", []string{"-c", filepath.Join(ini, "dc-client.ini"), "-cmd", "SITE_STATUS", "-f", file}, "", r.Env()...)
			if status != 0 || !strings.Contains(stdout, "cannot be reached") {
				t.Errorf("without the server: status %d, %.600s", status, stdout)
			}
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Status(t.Context(), id); err != nil {
			t.Errorf("with the server again: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 200)
}
