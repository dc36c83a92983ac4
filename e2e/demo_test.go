//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var closing = regexp.MustCompile(`(?m)^pages=(\d+) urls=(\d+) errors=(\d+) bytes=(\d+) seconds=([\d.]+)\n\z`)

// The demo crawls the example site and a folder.
func TestDemo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"index.html": `<html lang="en"><title>First</title><p>The first of two pages in a folder that a test has made.</p><a href="b.html">b</a>`,
		"b.html":     `<html lang="en"><title>Second</title><p>The second of two pages in a folder that a test has made.</p>`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		args  []string
		pages string
		want  []string // in the output
	}{
		{"the example site", nil, "", []string{"complete, with errors", "HTTP_ERROR", "title     The tide mill", "cached copy of ", "from the cluster"}},
		{"a folder", []string{"-dir", folder}, "2", []string{"complete", "b.html", "title     First"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"-bin", bin}, c.args...)
			stdout, stderr, status := run(t, "demo", args, "")
			m := closing.FindStringSubmatch(stdout)
			if status != 0 || m == nil {
				t.Fatalf("status %d, last line %q, stderr\n%s", status, stdout[strings.LastIndex(strings.TrimSpace(stdout), "\n")+1:], stderr)
			}
			if c.pages != "" && m[1] != c.pages {
				t.Errorf("pages=%s, want %s", m[1], c.pages)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in\n%s", want, stdout)
				}
			}
			if !strings.Contains(stderr, " waiting, ") {
				t.Errorf("no progress in %q", stderr)
			}
		})
	}
}
