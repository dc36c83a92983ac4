//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The commands of docs/api.md, with the address of a daemon of the test and a site of its own. Each gets an answer of success.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	a := startAPI(t, 4)
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		script.WriteString(block[1])
	}
	text := strings.NewReplacer("http://127.0.0.1:5581", a.url, "https://example.org/", a.root, "curl -s ", `curl -sS --fail-with-body -w '\n' `).Replace(script.String())
	c := exec.CommandContext(t.Context(), "bash", "-c", text)
	c.Dir = t.TempDir()
	out := printed(t, c)
	for _, part := range []string{`"title":"Page 0"`, `"heading":"Page 0"`, `"source":"link"`, `"status":"finished"`, `"id":"example"`, "# Page 0", `"number":1`, `"due":false`, `"state":"ok"`, `"state":"paused"`} {
		if !strings.Contains(out, part) {
			t.Errorf("no answer has %s", part)
		}
	}
	if exported, err := os.ReadFile(c.Dir + "/pages.jsonl"); err != nil || strings.Count(string(exported), "\n") != 4 {
		t.Errorf("pages.jsonl: %s %v", exported, err)
	}
	if t.Failed() {
		t.Log(out)
	}
}
