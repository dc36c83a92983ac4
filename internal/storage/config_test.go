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
