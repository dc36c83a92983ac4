//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/testkit/rig"
)

// The database server is killed twice during a crawl. Meanwhile requests are answered by
// an error that names the cause. After its restart the daemon completes the crawl.
func TestDatabaseServerDown(t *testing.T) {
	t.Parallel()
	server := mariadbtest.New(t, mariadbtest.Options{Durable: true})
	content := tree(100)
	w := newWitness(t, content)
	data := t.TempDir()
	// One attempt is all that the URLs have, because they are not the cause of the failures.
	r := start(t, data, "DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_socket="+server.Socket, "DC_TasksManager_db_user="+server.User,
		"DC_BatchTasksManager_BatchDefaultMaxAttempts=1", "DC_BatchTasksManagerProcess_BatchDefaultMaxAttempts=1")
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	for range 2 {
		content.awaitRequests(t, w, 20)
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
			t.Errorf("after the restart of the server: %v", err)
		}
	}
	content.slowFrom(0, 0)
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 100)
}
