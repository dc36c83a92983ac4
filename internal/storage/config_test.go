package storage

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/storage/sqlstore"
)

func TestSQLCustomSetting(t *testing.T) {
	shipped, err := os.ReadFile(filepath.Join("..", "..", "ini", "db-task.ini"))
	if err != nil {
		t.Fatal(err)
	}
	const set = "SQLCustom = off"
	if strings.Count(string(shipped), "\n"+set+"\n") != 1 {
		t.Fatalf("the shipped file has no line %q", set)
	}
	cases := map[string]struct {
		text  string
		want  sqlstore.CustomMode
		warns bool
	}{
		"shipped": {string(shipped), sqlstore.CustomOff, false},
		"absent":  {strings.Replace(string(shipped), set, "", 1), sqlstore.CustomOff, false},
		"read":    {strings.Replace(string(shipped), set, "SQLCustom = read", 1), sqlstore.CustomRead, false},
		"all":     {strings.Replace(string(shipped), set, "SQLCustom = all", 1), sqlstore.CustomAll, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := config.Parse("db-task.ini", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			cfg := ReadConfig(f, t.TempDir())
			repo, closeAll, err := Open(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll()
			if cfg.Custom != c.want || repo.SQLCustom != c.want {
				t.Errorf("mode = %q, %q, want %q", cfg.Custom, repo.SQLCustom, c.want)
			}
			if got := strings.Contains(log.String(), "may run any SQL statement"); got != c.warns {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// A file of the original names a server and no driver: the error says which line is missing.
func TestServerWithoutDriver(t *testing.T) {
	const original = "[TasksManager]\ndb_host = 127.0.0.1\ndb_port = 3306\ndb_user = hce\ndb_pwd = x\nprimary_db = dc_sites\nsecondary_db = dc_urls\nthird_db =\n" +
		"stat_domains_db = dc_stat_domains\ncontent_storage_type = 1\ndc_site_template = ../ini/site.sql\nkey_value_default_file = ../ini/x.db\nmutexLockTTL = 600\n"
	for added, refused := range map[string]bool{"": true, "db_driver = mysql\n": false, "db_driver = sqlite\n": false, "db_path = dc.db\n": false} {
		f, err := config.Parse("/x/db-task.ini", []byte(original+added))
		if err != nil {
			t.Fatal(err)
		}
		ReadConfig(f, t.TempDir())
		err = f.Err()
		if (err != nil) != refused || len(f.Unknown()) > 0 {
			t.Errorf("%q: %v, %q", added, err, f.Unknown())
		}
		const want = `/x/db-task.ini: [TasksManager] db_host names a MySQL server, but the key db_driver is missing: add the line "db_driver = mysql"`
		if refused && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", added, err)
		}
	}
}
