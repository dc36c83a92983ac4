package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// scripts makes a folder with shell scripts instead of the programs.
func scripts(t *testing.T, texts map[string]string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "with a blank")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+texts[name]+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func open(t *testing.T, texts map[string]string) *Node {
	t.Helper()
	n, err := Open(filepath.Join(t.TempDir(), "node"), scripts(t, texts))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "node")
	if datafolder.Exists(dir) {
		t.Error("it exists")
	}
	bin := scripts(t, nil)
	if _, err := Open(dir, bin); err != nil {
		t.Fatal(err)
	}
	edited := filepath.Join(dir, "ini", "crawler-task.ini")
	if err := os.WriteFile(edited, []byte("; mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := scripts(t, nil)
	if _, err := Open(dir, other); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(edited); err != nil || string(text) != "; mine\n" {
		t.Errorf("an edited file became %q, %v", text, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "bin")); err != nil || to != other {
		t.Errorf("bin leads to %s, %v", to, err)
	}
	for _, name := range []string{"dc-daemon.ini", "db-task.ini", "processor-task.ini", "dc-client.ini", "dc-admin.ini", "crawler-task_headers.txt", "crawler-task_cookie.txt"} {
		if info, err := os.Stat(filepath.Join(dir, "ini", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(foreign, bin); err == nil || !strings.Contains(err.Error(), "it has other files") {
		t.Errorf("a folder with other files: %v", err)
	}
}

func TestDefaultDir(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/x/hce":                {"XDG_DATA_HOME": "/x", "HOME": "/h"},
		"/h/.local/share/hce":   {"HOME": "/h"},
		"/h2/.local/share/hce":  {"XDG_DATA_HOME": "relative", "HOME": "/h2"},
		"error: neither XDG_DA": {},
	} {
		got, err := datafolder.DefaultDir(func(name string) string { return env[name] })
		if err != nil {
			got = "error: " + err.Error()[:14]
		}
		if got != want {
			t.Errorf("%v: %s", env, got)
		}
	}
}

func TestStores(t *testing.T) {
	n := open(t, map[string]string{"db-task": `
echo "$DC_Application_data_dir $*" >&2
read line; echo '["SITE_STATUS",{"id":"a","state":1}]'
read line; echo '["SITE_DELETE",{"errorCode":1,"errorMessage":"no","statuses":[],"refused":true}]'
read line; echo '["SITE_NEW",{"errorCode":2020,"errorMessage":"Duplicate site","statuses":[null]}]'
read line; echo "the disk is full" >&2; exit 1`})
	s, err := n.Stores()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var site wire.Site
	if err := s.Ask(t.Context(), wire.SiteStatus, map[string]any{"id": "a"}, &site); err != nil || site.ID != "a" {
		t.Errorf("%+v, %v", site, err)
	}
	for op, want := range map[wire.Op]string{wire.SiteDelete: "SITE_DELETE: no"} {
		if err := s.Ask(t.Context(), op, map[string]any{"id": "a"}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", op, err)
		}
	}
	var refused *service.Refusal
	if err := s.Ask(t.Context(), wire.SiteNew, map[string]any{"urls": []string{"http://a/"}}, nil); !asRefusal(err, &refused) || refused.Code != wire.CodeDuplicateSite {
		t.Errorf("duplicate: %v", err)
	}
	if err := s.Ask(t.Context(), wire.SiteStatus, map[string]any{"nothing": 1}, nil); !asRefusal(err, &refused) {
		t.Errorf("a wrong request: %v", err)
	}
	err = s.Ask(t.Context(), wire.SiteStatus, map[string]any{"id": "a"}, nil)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), n.DataDir()+" -c ") {
		t.Errorf("db-task ended: %v", err)
	}
}

func asRefusal(err error, into **service.Refusal) (ok bool) {
	*into, ok = err.(*service.Refusal)
	return ok
}

// A daemon that ends at its start is an error with its last words.
func TestStartFails(t *testing.T) {
	n := open(t, map[string]string{"dc-daemon": `echo "another daemon works in $DC_Application_data_dir" >&2; exit 1`})
	if _, err := n.Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "another daemon works in "+n.DataDir()) {
		t.Error(err)
	}
}

// The last failure of a site is read from the part of the log that belongs to the daemon.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawler-task.log")
	line := func(msg, site, text string) string {
		return `time=2026-01-01T00:00:00Z level=INFO msg="` + msg + `" name=crawler-task site=` + site + ` url=http://a/ errors=[X] error=` + text + "\n"
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := line("fetch failed", "s", "old")
	write(old)
	log := tailOf(path)
	if got := lastFault(log.readText(), "s"); got != "" {
		t.Errorf("an older run: %q", got)
	}
	write(old + line("fetch failed", "s", `"one \"two\""`) + line("fetch failed", "other", "three") + line("page stored", "s", "four"))
	if got := lastFault(log.readText(), "s"); got != `one "two"` {
		t.Errorf("%q", got)
	}
	write(old + line("fetch failed", "s", `"one"`) + line("put off", "s", "plain"))
	if got := lastFault(log.readText(), "s"); got != "plain" {
		t.Errorf("%q", got)
	}
	write(line("put off", "s", "new"))
	if got := lastFault(log.readText(), "s"); got != "new" {
		t.Errorf("a new file: %q", got)
	}
}
