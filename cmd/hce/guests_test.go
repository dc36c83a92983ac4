package main

import (
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

// The programs below hce work as they do by themselves, and their help says what they are called here.
func TestGuests(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		args   string
		status int
		out    string // part of stdout
		says   string // part of stderr; "": stderr is empty
	}{
		{"archive --help", 0, "\n  hce archive init /srv/archive\n", ""},
		{"archive init stored", 0, "", "archive: the archive is in"},
		{"archive ls --root stored", 0, "", ""},
		{"archive ls --root nothing", 2, "", "nothing"},
		{"ose check --help", 0, "hce ose check", ""},
		{"ose init targets/example.org https://example.org/", 0, "", ""},
		{"ose status targets", 0, "example.org", ""},
		{"ose run nothing", 2, "", "nothing"},
		{"search --help", 0, "\"hce search ask\" answers one question", ""},
		{"search check --dir nothing", 3, "", "nothing"},
		{"search ask", 2, "", "hce search ask: argument"},
		{"serve --help", 0, "\n  hce serve --folder /srv/www\n", ""},
		{"serve --check-config --folder stored", 0, "folder = ", ""},
		{"serve --prot 80", 2, "", "hce serve: option --prot is unknown"},
	} {
		stdout, stderr, status := clitest.Run(t, folder, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
			t.Errorf("hce %s: status %d\n%s%s", c.args, status, stdout, stderr)
		}
	}
}
