//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/childprocess"
)

// archiveRun runs the program archive to its end.
func archiveRun(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "archive"), args...)
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := childprocess.Run(cmd)
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("archive %s: exit status %d, want %d: %v\n%s\n%s", strings.Join(args, " "), got, status, err, out.String(), talk.String())
	}
	return out.String(), talk.String()
}

// archived is a version of a page, as archive db query prints it.
type archived struct{ URL, MIMEType, Title, Path, Domain, CommitTime, CommitTag string }

func archivedVersions(t *testing.T, root, where string) (list []archived) {
	t.Helper()
	out, _ := archiveRun(t, 0, "db", "query", "--root", root, "--json", "--where", where)
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// part copies a few folders of a documentation, which becomes a site that changes.
func part(t *testing.T, from string, folders ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(from, folder, e.Name()))
			if err == nil {
				put(t, filepath.Join(dir, folder, e.Name()), text)
			}
		}
	}
	return dir
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The program archive keeps three versions of a changing documentation: three commits, each page of each
// version byte for byte, also one that is gone; a killed crawl changes nothing; the database that is built
// again equals the one before.
func TestArchive(t *testing.T) {
	dir := part(t, documentation(t, "python3.11/html"), "tutorial", "extending", "faq", "installing")
	put(t, filepath.Join(dir, "index.html"), []byte("<html><title>Start &amp; end</title><a href='/tutorial/index.html'>a</a> <a href='/extending/index.html'>b</a> <a href='/style.css'>c</a> <a href='/private/x.html'>d</a>"))
	put(t, filepath.Join(dir, "style.css"), []byte("p { color: red }\r\n\x00"))
	put(t, filepath.Join(dir, "private/x.html"), []byte("<title>Private</title>"))
	put(t, filepath.Join(dir, "robots.txt"), []byte("User-agent: *\nDisallow: /private/\n"))
	docs := newWitnessAt(t, "127.0.4.1", site.Handler(site.Options{Dir: dir}))
	gate, held := make(chan struct{}), make(chan struct{}, 1000)
	var hold atomic.Bool
	other := newWitnessAt(t, "127.0.4.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hold.Load() && r.URL.Path == "/" {
			held <- struct{}{}
			<-gate
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Other</title><a href='%s/faq/index.html'>not followed</a>", docs.URL)
	}))
	root := filepath.Join(t.TempDir(), "archive")
	archiveRun(t, 0, "init", root)
	put(t, filepath.Join(root, "filter-mime.ini"), []byte("[Filter]\nexclude = text/css\n"))
	crawl := []string{"crawler", "--root", root, "--interval", "0", "--delay", "0", "--allow-networks", "127.0.0.0/8", docs.URL + "/", other.URL}
	with := func(args ...string) []string { return append(slices.Clone(crawl), args...) }

	want := map[string]map[string]string{} // bytes by commit tag and path
	note := func(paths ...string) {
		t.Helper()
		newest := archivedVersions(t, root, "url = '"+docs.URL+"/'")
		tag := newest[len(newest)-1].CommitTag
		want[tag] = map[string]string{}
		for _, path := range paths {
			name := path
			if strings.HasSuffix(path, "/") {
				name += "index.html"
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			want[tag][path] = string(text)
		}
	}
	archiveRun(t, 0, crawl...)
	for _, v := range docs.requests() {
		if v.URL == "/private/x.html" {
			t.Error("a page that robots.txt forbids was requested")
		}
	}
	note("/", "/style.css", "/tutorial/index.html", "/tutorial/errors.html", "/extending/embedding.html", "/tutorial/modules.html")

	put(t, filepath.Join(dir, "tutorial/errors.html"), []byte("<title>Changed</title>\xff\xfe changed"))
	if err := os.Remove(filepath.Join(dir, "tutorial/modules.html")); err != nil {
		t.Fatal(err)
	}
	archiveRun(t, 0, with("--filters", "mime", "--user-agent", "Archive/1", "--instances", "1")...)
	for _, v := range docs.requests() {
		if v.Agent != "Archive/1" {
			t.Errorf("%s was requested by %q", v.URL, v.Agent)
		}
	}
	note("/", "/tutorial/errors.html", "/tutorial/index.html")
	before := archivedVersions(t, root, "")

	// A crawl is killed in the middle: nothing changes, and the next one works.
	hold.Store(true)
	killed := exec.Command(filepath.Join(bin, "archive"), crawl...)
	ended, err := childprocess.Start(killed)
	if err != nil {
		t.Fatal(err)
	}
	<-held
	_ = killed.Process.Kill()
	<-ended
	hold.Store(false)
	close(gate)
	tags := map[string]bool{}
	for _, m := range archivedVersions(t, root, "domain LIKE '127.0.4.2%'") {
		tags[m.CommitTag] = true
	}
	if len(tags) != 2 {
		t.Errorf("versions after the kill: %v", tags)
	}
	archiveRun(t, 0, with("--robots", "no", "--depth", "1")...)
	note("/", "/private/x.html", "/style.css", "/tutorial/index.html")

	for tag, paths := range want {
		for path, text := range paths {
			if got, _ := archiveRun(t, 0, "cat", "--root", root, docs.URL+path, "--version", tag); got != text {
				t.Errorf("%s of %s: %d bytes, want %d", path, tag, len(got), len(text))
			}
		}
	}
	all := archivedVersions(t, root, "")
	for _, m := range before {
		if !slices.Contains(all, m) {
			t.Errorf("version %s of %s is lost", m.CommitTag, m.URL)
		}
	}
	first := archivedVersions(t, root, "domain LIKE '127.0.4.1%'")
	counts := map[string]int{}
	for _, m := range first {
		counts[m.CommitTag]++
		if strings.Contains(m.Path, "other") || m.MIMEType == "text/html" && m.Title == "" {
			t.Errorf("%+v", m)
		}
	}
	if first[0].Title != "Start & end" || counts[first[0].CommitTag] < 25 {
		t.Errorf("%+v, pages %v", first[0], counts)
	}
	if got := archivedVersions(t, root, "mimeType = 'text/css' AND commitTag = '"+before[len(before)-1].CommitTag+"'"); len(got) > 0 {
		t.Errorf("the filter keeps %v", got)
	}
	archiveRun(t, 2, "cat", "--root", root, docs.URL+"/tutorial/modules.html", "--version", all[len(all)-1].CommitTag)

	if err := os.Remove(filepath.Join(root, "archive.db")); err != nil {
		t.Fatal(err)
	}
	if _, talk := archiveRun(t, 3, "ls", "--root", root); !strings.Contains(talk, "archive db recover") {
		t.Errorf("without the database: %s", talk)
	}
	archiveRun(t, 0, "db", "recover", "--root", root)
	if again := archivedVersions(t, root, ""); !slices.Equal(again, all) {
		t.Errorf("the database that was built again has %d rows, before %d", len(again), len(all))
	}
	if out, _ := archiveRun(t, 0, "db", "check", "--root", root); out != "" {
		t.Errorf("differences:\n%s", out)
	}
	if left, err := filepath.Glob(filepath.Join(root, "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in tmp: %v, %v", left, err)
	}
}
