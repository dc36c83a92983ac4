package doctor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/cli/subcommand"
)

// Each fault of doctor has a remedy.
func TestDoctorFaults(t *testing.T) {
	open := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		check func(d *doctor)
		state string
		says  string
	}{
		"open keys":    {func(d *doctor) { d.checkKeys(open) }, fault, "other users can read"},
		"no keys":      {func(d *doctor) { d.checkKeys(filepath.Join(t.TempDir(), "none")) }, fine, "makes them at its first start"},
		"no such disk": {func(d *doctor) { d.checkDisk("/no/such/folder") }, fault, "no such file"},
		"a file":       {func(d *doctor) { d.checkFolder(subcommand.Place{Dir: "/dev/null/x"}, "/") }, fault, "not a"},
		"no program at the port": {func(d *doctor) {
			d.UseService(client.Server{Host: "127.0.0.1", Port: 1, Timeout: 50 * time.Millisecond})
			d.checkAnswers("daemon", "", func(error) string { return "start it" })
		}, fault, "no answer"},
		"the clock":     {func(d *doctor) { d.checkClock(t.TempDir(), "") }, fine, "20"},
		"a good answer": {func(d *doctor) { d.UseService(storestest.Open(t)); d.checkAnswers("database", "it answers", nil) }, fine, "it answers"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &doctor{Session: &subcommand.Session{Ctx: t.Context(), Talk: io.Discard}}
			c.check(d)
			if len(d.found) != 1 || d.found[0].State != c.state || !strings.Contains(d.found[0].Text, c.says) {
				t.Errorf("%+v", d.found)
			}
		})
	}
}
