package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/clitest"
)

// A key is made, listed without its secret, and revoked, in the folder of the daemon.
func TestKeyCommands(t *testing.T) {
	dir := t.TempDir()
	ini := filepath.Join(dir, "dc-daemon.ini")
	if err := os.WriteFile(ini, []byte("[Application]\ndata_dir = data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret, stderr, status := clitest.Run(t, dir, "key", "new", "--scope", "crawl", "--site", "coast", "--name", "robot")
	if status != 0 || !strings.HasPrefix(secret, "hce_") || !strings.Contains(stderr, "not shown again") || !strings.Contains(stderr, filepath.Join(dir, "data", "api")) {
		t.Fatal(status, secret, stderr)
	}
	store := apikeys.Store{Dir: filepath.Join(dir, "data", "api")}
	key, err := store.Find(strings.TrimSpace(secret))
	if err != nil || key.Scope != apikeys.Crawl || !key.AllowsSite("coast") || key.AllowsSite("other") {
		t.Errorf("%+v %v", key, err)
	}
	list, _, status := clitest.Run(t, dir, "key", "ls", "--ini", ini)
	if status != 0 || !strings.Contains(list, key.Prefix) || !strings.Contains(list, "robot") || strings.Contains(list, strings.TrimSpace(secret)) {
		t.Errorf("%d %s", status, list)
	}
	if text, _, status := clitest.Run(t, dir, "key", "ls", "--json"); status != 0 || !strings.Contains(text, `"prefix": "`+key.Prefix+`"`) {
		t.Errorf("%d %s", status, text)
	}
	for _, args := range [][]string{
		{"key", "new", "--scope", "root"}, {"key", "new", "--site", "a b"}, {"key", "rm", "none"}, {"key", "ls", "--ini", "none.ini"}, {"key", "rm"},
	} {
		if _, stderr, status := clitest.Run(t, dir, args...); status != 2 || stderr == "" {
			t.Errorf("%q: %d %s", args, status, stderr)
		}
	}
	if _, stderr, status := clitest.Run(t, dir, "key", "rm", key.Prefix); status != 0 {
		t.Errorf("%d %s", status, stderr)
	}
	if _, err := store.Find(strings.TrimSpace(secret)); err == nil {
		t.Error("the revoked key is known")
	}
}
