package main

import (
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
)

// hce url add SITE - takes a list from stdin; a second run adds what is not known. A line that is no URL is named, and
// nothing is added.
func TestURLsFromStdin(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	add := func(status int, text, want string) {
		t.Helper()
		c := clitest.Command(t, t.TempDir(), "url", "add", site, "-", "--server", "127.0.0.1:"+stores.Port)
		c.Stdin = strings.NewReader(text)
		if _, stderr, got := clitest.Output(t, c); got != status || !strings.Contains(stderr, want) {
			t.Errorf("%.80q: status %d, %s, want %d, %q", text, got, stderr, status, want)
		}
	}
	add(2, "", "stdin has no URL")
	add(2, "# a comment\n\n", "stdin has no URL")
	add(2, root+"1\n\n"+root+"2\nexample.org/3\n", "stdin:4: URL \"example.org/3\" has no scheme")
	add(2, root+"1\nhtp://x/\n", "stdin:2: ")
	add(2, root+"1\n"+root+strings.Repeat("x", 9000)+"\n", "stdin:2: the line is longer than 8192 bytes")
	add(0, "\ufeff"+root+"1\r\n# a comment\n\n  "+root+"2  \n"+root+"1\n"+root+"#part", "added 3 URLs to site "+site+", 0 were known")
	var list strings.Builder
	for i := range 1200 {
		fmt.Fprintln(&list, root+fmt.Sprint(i))
	}
	add(0, list.String(), "added 1198 URLs to site "+site+", 2 were known")
	add(0, list.String(), "added 0 URLs to site "+site+", 1200 were known")
}
