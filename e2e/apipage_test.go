//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// runPage runs the shell commands of a page, with the address of a daemon and a site of the test, and returns what they print and the
// folder in which they ran. Each must succeed, and each answer of the API too.
func runPage(t *testing.T, a servedAPI, name string) (out, dir string) {
	t.Helper()
	page, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	hce, err := filepath.Abs(filepath.Join(bin, "hce"))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	fmt.Fprintf(&script, "set -euo pipefail\nAPI=%s\nhce() {\n%s \"$@\" --server 127.0.0.1:%d || [ $? = 1 ] # done, with pages that failed\n}\n", a.url, hce, a.ClientPort())
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		script.WriteString(block[1])
	}
	text := strings.NewReplacer("http://127.0.0.1:5581", a.url, "https://example.org/", a.root, "curl -s ", `curl -sS --fail-with-body -w '\n' `).Replace(script.String())
	c := exec.CommandContext(t.Context(), "bash", "-c", text)
	c.Dir, c.Env = t.TempDir(), append(a.Env(), "DC_dcc_clientPort=")
	return printed(t, c), c.Dir
}

// The commands of docs/api.md, with the address of a daemon of the test and a site of its own. Each gets an answer of success.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	a := startAPI(t, 4)
	out, dir := runPage(t, a, "api.md")
	checkParts(t, "api.md", out, `"title":"Page 0"`, `"heading":"Page 0"`, `"source":"link"`, `"status":"finished"`, `"id":"example"`, "# Page 0", `"number":1`, `"due":false`, `"state":"ok"`, `"state":"paused"`)
	checkFile(t, dir, "pages.jsonl", 4, "# Page 3")
}

func checkParts(t *testing.T, page, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("%s: the output lacks %s:\n%s", page, part, out)
		}
	}
}

// checkFile checks the lines of a file, below 0 for any number, and that it has a text.
func checkFile(t *testing.T, dir, name string, lines int, part string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if n := strings.Count(string(text), "\n"); err != nil || lines >= 0 && n != lines || !strings.Contains(string(text), part) {
		t.Errorf("%s has %d lines, not %d with %s: %v\n%.2000s", name, n, lines, part, err, text)
	}
}

// The pages by purpose: each command works, and its output is what the page says.
func TestPurposePages(t *testing.T) {
	t.Parallel()
	a := startAPI(t, 4)
	t.Run("rag", func(t *testing.T) {
		out, dir := runPage(t, a, "for-rag.md")
		checkParts(t, "for-rag.md", out, `"markdown":"# Page 0`, `"links":[`)
		checkFile(t, dir, "handbook.jsonl", 4, `"contentMd5":"`)
		checkFile(t, dir, "gone.jsonl", 1, a.root+"4")
		checkFile(t, dir, "changed.jsonl", 4, `"markdown":"`)
		if files := strings.Fields(printed(t, exec.CommandContext(t.Context(), "find", filepath.Join(dir, "handbook"), "-name", "*.md"))); len(files) != 4 {
			t.Errorf("handbook has %q", files)
		}
	})
	t.Run("seo", func(t *testing.T) {
		out, dir := runPage(t, a, "for-seo.md")
		checkParts(t, "for-seo.md", out, a.root+"4", "Next", `"due":`, `"source":"root"`)
		checkFile(t, dir, "broken.json", -1, `"referrers"`)
		checkFile(t, dir, "pages.csv", -1, "Page 3")
		checkFile(t, dir, "sitemap.xml", -1, a.root)
	})
	t.Run("archives", func(t *testing.T) {
		out, dir := runPage(t, a, "for-archives.md")
		checkParts(t, "for-archives.md", out, `"number":1`)
		checkFile(t, dir, "first.html", -1, "<title>Page 0")
		for _, name := range []string{"town.warc.gz", "town.wacz", "again.warc.gz"} {
			checkFile(t, dir, name, -1, "")
		}
	})
	t.Run("data", func(t *testing.T) {
		out, dir := runPage(t, a, "for-data.md")
		checkParts(t, "for-data.md", out, `"fields":{"name":"Page 0","number":0}`)
		checkFile(t, dir, "catalogue.csv", 5, "Page 3")
		page, err := os.ReadFile("../docs/for-data.md")
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(page), "```python\n")
		code, _, _ = strings.Cut(code, "```")
		c := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", code, a.url)
		c.Env = append(os.Environ(), "PYTHONPATH=../clients/python", "PYTHONDONTWRITEBYTECODE=1")
		if got := printed(t, c); strings.Count(got, "\n") != 4 || !strings.Contains(got, a.root+"2\tPage 2\n") {
			t.Errorf("%q", got)
		}
	})
}
