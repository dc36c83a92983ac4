package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// Every command in the documentation and in the help has a sub-command and options that exist, and
// the documentation names every sub-command.
func TestDocumentedCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := clitest.Run(t, t.TempDir(), "--help")
	for _, sub := range []string{"index", "serve", "processor", "ask", "status", "rebuild", "check"} {
		if !strings.Contains(string(page), "`hce-search "+sub) {
			t.Errorf("docs/search.md does not name hce-search %s", sub)
		}
		help, _, status := clitest.Run(t, t.TempDir(), sub, "--help")
		if status != 0 {
			t.Errorf("%s --help: status %d", sub, status)
		}
		text += help
	}
	commands := regexp.MustCompile(`(?m)^ +(?:bin/)?hce-search ([a-z].*)$`).FindAllStringSubmatch(text+string(page), -1)
	if len(commands) < 10 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, c := range commands {
		line, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(c[1]), " &"), " | ")
		words := append(strings.Fields(line), "--help")
		if _, stderr, status := clitest.Run(t, t.TempDir(), words...); status != 0 {
			t.Errorf("hce-search %s: %s", line, stderr)
		}
	}
}

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   string
		status int
		stderr string
	}{
		{"", 2, "a command is missing"},
		{"serve --processors x", 2, "not a number"},
		{"processor --kinds films", 2, "films"},
		{"index -c nowhere.ini", 2, "nowhere.ini"},
		{"index --once --server 127.0.0.1:1 --dir x", 3, "cannot reach the daemon"},
		{"rebuild --dir y", 3, "y"},
		{"status -c " + clitest.Write(t, dir, "a.ini", "[Manager]\nport = 1\n"), 3, "hce-search serve"},
	} {
		if _, stderr, status := clitest.Run(t, dir, strings.Fields(c.args)...); status != c.status || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: status %d, %s", c.args, status, stderr)
		}
	}
}
