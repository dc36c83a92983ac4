//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }

// onBothDatabases runs a test on SQLite and on MariaDB. env has the settings of the daemon
// and its tasks.
func onBothDatabases(t *testing.T, test func(t *testing.T, env []string)) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) { test(t, databaseOf(t, backend)) })
	}
}

// databaseOf returns the settings of the daemon and its tasks for a new database.
func databaseOf(t *testing.T, backend string) (env []string) {
	t.Helper()
	env = []string{"DC_TasksManager_db_driver=" + backend}
	c := dbtest.Config(t, backend)
	if c.Server.Socket != "" {
		env = append(env, "DC_TasksManager_db_socket="+c.Server.Socket, "DC_TasksManager_db_user="+c.Server.User)
	}
	for key, database := range storage.DatabaseKeys {
		if name, ok := c.Names[database]; ok {
			env = append(env, "DC_TasksManager_"+key+"="+name)
		}
	}
	return env
}

// sampleOrder is the order of the sample requests: creations before uses, deletions last.
var sampleOrder = []string{"SITE_NEW", "URL_NEW", "URL_PUT", "PROXY_NEW", "SITE_UPDATE", "SITE_STATUS", "SITE_FIND", "URL_STATUS", "URL_UPDATE",
	"URL_FETCH", "URL_CONTENT", "URL_HISTORY", "URL_STATS", "SQL_CUSTOM", "PROXY_STATUS", "PROXY_FIND", "PROXY_UPDATE", "URL_CLEANUP", "URL_DELETE",
	"PROXY_DELETE", "SITE_CLEANUP", "SITE_DELETE", "BATCH"}

// tooLong ends the only expected error: a sample has a site id of 35 characters
// (docs/spec/DECISIONS.md 4).
const tooLong = `\" is not a site id`

// dc-client sends every sample request: no operation is refused. The acceptance suite of db-task sends
// them on both databases.
func TestSampleRequests(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "internal", "wire", "testdata", "requests")
	found, err := filepath.Glob(filepath.Join(folder, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, t.TempDir(), "DC_TasksManager_SQLCustom=read")
	sent := 0
	for _, op := range sampleOrder {
		files, err := filepath.Glob(filepath.Join(folder, op, "*.json"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no samples: %v", op, err)
		}
		for _, file := range files {
			sent++
			stdout, stderr, status := run(t, "dc-client", []string{"-c", filepath.Join(ini, "dc-client.ini"), "-cmd", op, "-f", file}, "", r.Env()...)
			name := op + "/" + filepath.Base(file)
			for line := range strings.Lines(stderr) { // old samples have keys without effect
				if !strings.HasPrefix(line, "dc-client: warning: ") {
					t.Errorf("%s: stderr %s", name, stderr)
				}
			}
			if status != 0 {
				t.Errorf("%s: exit status %d, stderr %s, stdout %.500s", name, status, stderr, stdout)
				continue
			}
			if text := errorIn(op, stdout); text != "" && !(name == "URL_DELETE/id_too_long.json" && strings.Contains(text, tooLong)) {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	if sent != len(found) {
		t.Errorf("%d of %d samples were sent", sent, len(found))
	}
}

// errorIn returns the error in an answer, or "".
func errorIn(op, stdout string) string {
	var answer struct {
		ErrorCode    int                       `json:"errorCode"`
		ErrorMessage string                    `json:"errorMessage"`
		ClientError  string                    `json:"error_message"`
		ItemsList    []wire.ClientResponseItem `json:"itemsList"`
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		return err.Error()
	}
	if answer.ErrorCode != 0 || answer.ClientError != "" || len(answer.ItemsList) != 1 {
		return fmt.Sprintf("%.500s", stdout)
	}
	item := answer.ItemsList[0]
	var object struct {
		ErrorCode    int     `json:"errorCode"`
		ErrorMessage string  `json:"errorMessage"`
		ErrString    *string `json:"errString"`
	}
	_ = json.Unmarshal(item.ItemObject, &object) // a list has no code
	switch {
	case fmt.Sprint(item.ErrorCode) != "0" || item.ErrorMessage != "":
	case object.ErrString != nil:
	case object.ErrorCode == wire.CodeOK, object.ErrorCode == wire.CodeDuplicateSite && op == "SITE_NEW", object.ErrorCode == wire.CodeNotFound && op == "SITE_CLEANUP":
		return ""
	}
	return fmt.Sprintf("%.800s", stdout)
}
