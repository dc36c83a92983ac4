//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var hintPattern = regexp.MustCompile(`\bhce (?:crawl|doctor|explain|export|import|page|repair|site|status|top|url) [^\n]*`)

// hintsIn returns the commands of hce that a message suggests: each ends its line, or ";" or " or " follows.
func hintsIn(text string) (hints []string) {
	for _, rest := range hintPattern.FindAllString(text, -1) {
		for rest != "" {
			end, quoted := len(rest), false
			for i := range len(rest) {
				switch {
				case i > 0 && rest[i-1] == '\\' && !quoted: // a quote that is itself meant
				case rest[i] == '\'':
					quoted = !quoted
				case !quoted && (rest[i] == ';' || strings.HasPrefix(rest[i:], " or ")):
					end = min(end, i)
				}
			}
			if hint := strings.TrimSpace(rest[:end]); !strings.HasSuffix(hint, "--help") {
				hints = append(hints, hint)
			}
			rest = hintPattern.FindString(rest[end:])
		}
	}
	return hints
}

// Each command that hce suggests can be pasted into a shell and works on the same data.
func TestHints(t *testing.T) {
	w := newWitness(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(rw, "User-agent: *\nDisallow: /no/\n")
		case "/", "/a", "/lone/":
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>Page %s</title><p>The text of page %[1]s is long enough to be its article. <a href='/a'>a</a> <a href='/no/b'>b</a> <a href='/gone'>gone</a>", r.URL.Path)
		default:
			http.NotFound(rw, r)
		}
	}))
	folder := t.TempDir()
	data, root, other := filepath.Join(folder, "the crawler's data"), w.URL+"/", w.URL+"/a"
	in := func(words ...string) []string { return append(words, "--data", data) }
	crawl := in("crawl", root, "--name", "one", "--delay", "0s", loopback)
	var hints []string
	for _, run := range []struct {
		status int
		args   []string
	}{
		{3, in("site", "ls")},
		{1, crawl},
		{2, append(slices.Clone(crawl), "--depth", "3")},
		{2, append(slices.Clone(crawl), "--noindex")},
		{2, append(slices.Clone(crawl), "--markdown")},
		{0, in("site", "recrawl", "one")},
		{2, in("site", "show", "nothing")},
		{2, in("url", "show", root+"nothing")},
		{2, in("url", "add", "one", root)},
		{2, in("page", root+"gone")},
		{2, in("page", root, "--version", "9", "--html")},
		{0, in("crawl", other, "--name", "two", "--depth", "0", "--delay", "0s", loopback)},
		{0, in("crawl", w.URL+"/lone/", "--name", "alone", "--scope", "prefix", "--delay", "0s", loopback)},
		{2, in("site", "new", root, "--name", "one")},
	} {
		stdout, stderr := hce(t, run.status, run.args...)
		found := hintsIn(stdout + "\n" + stderr)
		if len(found) == 0 {
			t.Errorf("hce %q suggests nothing:\n%s%s", run.args, stdout, stderr)
		}
		hints = append(hints, found...)
	}
	slices.Sort(hints)
	programs, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range slices.Compact(hints) {
		hint = strings.Replace(hint, "crawl URL", "crawl "+w.URL+"/new", 1) // pages of two sites need --site
		line := strings.NewReplacer(" SITE", " one", " URL", " "+root, "NAME=VALUE", "ROBOTS_META=0").Replace(hint)
		if strings.Contains(line, "hce crawl") && !strings.Contains(line, "--allow-network") {
			line += " " + loopback // not of a crawl: the network was not typed
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
		text, _ := cmd.CombinedOutput()
		switch status := cmd.ProcessState.ExitCode(); {
		case status < 2:
		case status == 2 && strings.Contains(string(text), "nothing was deleted; confirm with --yes"):
		case status == 2 && strings.Contains(string(text), "nothing to change; give an option"):
		default:
			t.Errorf("%s: exit status %d\n%s", line, status, text)
		}
	}
	t.Logf("%d different hints:\n%s", len(slices.Compact(hints)), strings.Join(slices.Compact(hints), "\n"))
}
