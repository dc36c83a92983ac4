package urlcommands

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/subcommand"
)

// The crawler-task.ini of a daemon of this machine is found next to --config; that of another machine is not here.
func TestFindCrawlerIni(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"dc-client.ini", "crawler-task.ini"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	near, far := filepath.Join(folder, "dc-client.ini"), filepath.Join(t.TempDir(), "dc-client.ini")
	for _, tt := range []struct {
		name string
		s    subcommand.Session
		want string
	}{
		{"typed", subcommand.Session{Options: subcommand.Options{Ini: "x.ini"}}, "x.ini"},
		{"next to --config", subcommand.Session{Options: subcommand.Options{Config: near}, Clients: client.Server{Host: "127.0.0.1"}}, filepath.Join(folder, "crawler-task.ini")},
		{"--config without one", subcommand.Session{Options: subcommand.Options{Config: far}, Clients: client.Server{Host: "localhost"}}, ""},
		{"another machine", subcommand.Session{Options: subcommand.Options{Config: near}, Clients: client.Server{Host: "192.0.2.1"}}, ""},
	} {
		tt.s.Talk = io.Discard
		if found := findCrawlerIni(&tt.s); tt.s.Ini != tt.want || found != (tt.want != "") {
			t.Errorf("%s: %v, %q", tt.name, found, tt.s.Ini)
		}
	}
}
