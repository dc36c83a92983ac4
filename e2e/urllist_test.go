//go:build e2e

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hce crawl --urls-from fetches the URLs of a list, each once; mistakes are named with their line before anything is fetched.
func TestURLList(t *testing.T) {
	w := newWitness(t, linked(20))
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "list.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "HOST", w.URL)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"crawl", "--urls-from", file, "--name", "list", "--depth", "0", "--data", data, loopback, "--delay", "0s"}
	for text, want := range map[string]string{"": "has no URL", "HOST/p1.html\nexample.org\n": "list.txt:2: URL \"example.org\" has no scheme"} {
		write(text)
		if _, talk := hce(t, 2, args...); !strings.Contains(talk, want) {
			t.Errorf("%q: %s", text, talk)
		}
	}
	if _, talk := hce(t, 2, "crawl", "--data", data); !strings.Contains(talk, "--urls-from") {
		t.Error(talk)
	}
	write("# pages\nHOST/p1.html\n\nHOST/p5.html\r\nHOST/p1.html\n")
	for range 2 { // the second one continues
		if out, _ := hce(t, 0, append(args, w.URL+"/p9.html")...); !strings.Contains(out, "3 pages") {
			t.Error(out)
		}
	}
	requested := map[string]bool{}
	for _, v := range w.requests() {
		requested[v.URL] = true
	}
	delete(requested, "/robots.txt")
	delete(requested, "/sitemap.xml")
	if got := slices.Sorted(maps.Keys(requested)); !slices.Equal(got, []string{"/p1.html", "/p5.html", "/p9.html"}) {
		t.Errorf("requested %q", got)
	}
}
