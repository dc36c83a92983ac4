//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hce/dc/examples/siteserver/site"
)

// ose runs a sub-command of ose and checks its exit status.
func ose(t *testing.T, status int, args ...string) (stdout string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(bin, "ose"))
	if err != nil {
		t.Fatal(err)
	}
	var out, talk bytes.Buffer
	c := exec.CommandContext(t.Context(), path, args...)
	c.Stdout, c.Stderr = &out, &talk
	_ = c.Run() // the exit status says it
	if got := c.ProcessState.ExitCode(); got != status {
		t.Fatalf("ose %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), got, status, out.String(), talk.String())
	}
	return out.String()
}

// Cycles of ose on a documentation package end, and have exactly the URLs that follow from the links, each
// requested once, with the bytes of the files. They go to the folder of hce and come back as they were.
func TestFileCycle(t *testing.T) {
	t.Parallel()
	w := newWitnessAt(t, "127.0.3.40", site.Handler(site.Options{Dir: documentation(t, "python3.11/html/c-api")}))
	folder := t.TempDir()
	target, gates, data := filepath.Join(folder, "target"), filepath.Join(folder, "gates"), filepath.Join(folder, "hce")
	ose(t, 0, "init", target, w.URL+"/")
	cycles := 0
	for ; ; cycles++ {
		var steps []struct{ Step, Skipped string }
		out := ose(t, 0, "run", target, "--wait", "0s", "--quiet", "--json", "--gates", gates, loopback)
		if err := json.Unmarshal([]byte(out), &steps); err != nil {
			t.Fatal(err)
		}
		if len(steps) == 1 && steps[0].Skipped != "" {
			break
		}
	}
	ose(t, 0, "check", target)
	got := map[string]bool{}
	list, err := os.ReadFile(filepath.Join(target, ".urls"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		got[strings.TrimSpace(line[55:])] = true
	}
	w.eachOnce(t)
	want := followed(t, w.URL+"/")
	if !maps.Equal(got, want) {
		for u := range want {
			if !got[u] {
				t.Errorf("missing: %s", u)
			}
		}
		for u := range got {
			if !want[u] {
				t.Errorf("no link: %s", u)
			}
		}
	}
	if len(want) < 100 || cycles < 3 {
		t.Errorf("%d URLs in %d cycles", len(want), cycles)
	}
	back, again := filepath.Join(folder, "back"), filepath.Join(folder, "again")
	ose(t, 0, "import", target, "--data", data, "--site", "docs")
	ose(t, 0, "export", "docs", back, "--data", data)
	ose(t, 0, "import", back, "--data", data+"2", "--site", "docs")
	ose(t, 0, "export", "docs", again, "--data", data+"2")
	first, second := filesOf(t, back), filesOf(t, again)
	if !maps.Equal(first, second) || len(first) < 2*len(want) {
		t.Errorf("%d and %d files, or they differ", len(first), len(second))
	}
	t.Logf("%d URLs in %d cycles", len(want), cycles)
}

// filesOf returns the files of a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// followed returns the URLs of a host that links of anchors and redirects lead to, by the standard
// library and a parser of trees.
func followed(t *testing.T, start string) map[string]bool {
	t.Helper()
	root, err := url.Parse(start)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	known, waiting := map[string]bool{start: true}, []string{start}
	for len(waiting) > 0 {
		at := waiting[0]
		waiting = waiting[1:]
		response, err := client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		page, _ := url.Parse(at)
		refs := []string{response.Header.Get("Location")}
		if response.StatusCode == 200 && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			refs = append(refs, anchors(t, body)...)
		}
		for _, ref := range refs {
			u, err := page.Parse(ref)
			if ref == "" || err != nil || u.Host != root.Host || u.Scheme != root.Scheme {
				continue
			}
			u.Fragment = ""
			if u.Path == "" {
				u.Path = "/"
			}
			if next := u.String(); !known[next] {
				known[next] = true
				waiting = append(waiting, next)
			}
		}
	}
	return known
}

// anchors returns the href attributes of the a and area elements of a page.
func anchors(t *testing.T, page []byte) (refs []string) {
	t.Helper()
	tree, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		if n.Type == html.ElementNode && slices.Contains([]string{"a", "area"}, n.Data) {
			for _, a := range n.Attr {
				if a.Key == "href" {
					refs = append(refs, strings.TrimSpace(a.Val))
				}
			}
		}
	}
	return refs
}
