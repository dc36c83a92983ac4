package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoSkip(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		want   string // "" for success
	}{
		"passed":                   {`{"Action":"pass","Package":"a","Test":"TestX"}`, ""},
		"package without tests":    {`{"Time":"2026-01-05T10:00:00Z","Action":"skip","Package":"a","Elapsed":0}`, ""},
		"skipped":                  {`{"Time":"2026-01-05T10:00:00Z","Action":"skip","Package":"a/b","Test":"TestX/y","Elapsed":0}`, "a/b TestX/y"},
		"output that says skipped": {`{"Action":"output","Package":"a","Test":"TestX","Output":"skip"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(file, []byte(c.events+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("./noskip.sh", file).CombinedOutput()
			if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, %q", err, out)
			}
		})
	}
}
