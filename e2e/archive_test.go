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
	"syscall"
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

// archiveWorld is an archive of two sites: part of a documentation, which changes, and a page that can be
// held back.
type archiveWorld struct {
	*testing.T
	root, dir string
	docs      *witness
	crawl     []string // arguments
	held      chan struct{}
	hold      atomic.Pointer[chan struct{}] // the page waits until it is closed
	want      map[string]map[string]string  // bytes by commit tag and path
}

func newArchiveWorld(t *testing.T) *archiveWorld {
	w := &archiveWorld{T: t, held: make(chan struct{}, 1000), want: map[string]map[string]string{}}
	w.dir = part(t, documentation(t, "python3.11/html"), "tutorial", "extending", "faq", "installing")
	w.put("index.html", "<html><title>Start &amp; end</title><a href='/tutorial/index.html'>a</a> <a href='/extending/index.html'>b</a> <a href='/style.css'>c</a> <a href='/private/x.html'>d</a>")
	w.put("style.css", "p { color: red }\r\n\x00")
	w.put("private/x.html", "<title>Private</title>")
	w.put("robots.txt", "User-agent: *\nDisallow: /private/\n")
	w.docs = newWitnessAt(t, "127.0.4.1", site.Handler(site.Options{Dir: w.dir}))
	other := newWitnessAt(t, "127.0.4.2", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if gate := w.hold.Load(); gate != nil && r.URL.Path == "/" {
			w.held <- struct{}{}
			<-*gate
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>Other</title><a href='%s/faq/index.html'>not followed</a>", w.docs.URL)
	}))
	w.root = filepath.Join(t.TempDir(), "archive")
	archiveRun(t, 0, "init", w.root)
	put(t, filepath.Join(w.root, "filter-mime.ini"), []byte("[Filter]\nexclude = text/css\n"))
	w.crawl = []string{"crawler", "--root", w.root, "--interval", "0", "--delay", "0", "--allow-network", "127.0.0.0/8", w.docs.URL + "/", other.URL}
	return w
}

// put changes a file of the documentation.
func (w *archiveWorld) put(name, text string) { put(w.T, filepath.Join(w.dir, name), []byte(text)) }

// crawlWith crawls both sites, and notes the bytes that these pages of the new version must have.
func (w *archiveWorld) crawlWith(paths string, args ...string) {
	w.Helper()
	archiveRun(w.T, 0, append(slices.Clone(w.crawl), args...)...)
	newest := archivedVersions(w.T, w.root, "url = '"+w.docs.URL+"/'")
	tag := newest[len(newest)-1].CommitTag
	w.want[tag] = map[string]string{}
	for _, path := range strings.Fields(paths) {
		name := path
		if strings.HasSuffix(path, "/") {
			name += "index.html"
		}
		text, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			w.Fatal(err)
		}
		w.want[tag][path] = string(text)
	}
}

// stop ends a crawl with a signal while the second site is fetched.
func (w *archiveWorld) stop(signal syscall.Signal, status int) {
	w.Helper()
	gate := make(chan struct{})
	w.hold.Store(&gate)
	stopped := exec.Command(filepath.Join(bin, "archive"), w.crawl...)
	ended, err := childprocess.Start(stopped)
	if err != nil {
		w.Fatal(err)
	}
	<-w.held
	_ = stopped.Process.Signal(signal)
	if signal == syscall.SIGTERM { // the crawler waits for its requests
		close(gate)
	}
	<-ended
	if got := stopped.ProcessState.ExitCode(); got != status {
		w.Errorf("%v: exit status %d, want %d", signal, got, status)
	}
	w.hold.Store(nil)
	if signal != syscall.SIGTERM {
		close(gate)
	}
}

// The program archive keeps the versions of a changing documentation: a commit for each crawl, each page of
// each version byte for byte, also one that is gone; a crawl that is stopped or killed changes nothing;
// the database that is built again equals the one before.
func TestArchive(t *testing.T) {
	w := newArchiveWorld(t)
	w.crawlWith("/ /style.css /tutorial/index.html /tutorial/errors.html /extending/embedding.html /tutorial/modules.html")
	for _, v := range w.docs.requests() {
		if v.URL == "/private/x.html" {
			t.Error("a page that robots.txt forbids was requested")
		}
	}
	w.put("tutorial/errors.html", "<title>Changed</title>\xff\xfe changed")
	if err := os.Remove(filepath.Join(w.dir, "tutorial/modules.html")); err != nil {
		t.Fatal(err)
	}
	w.crawlWith("/ /tutorial/errors.html /tutorial/index.html", "--filters", "mime", "--user-agent", "Archive/1", "--instances", "1")
	for _, v := range w.docs.requests() {
		if v.Agent != "Archive/1" {
			t.Errorf("%s was requested by %q", v.URL, v.Agent)
		}
	}
	before := archivedVersions(t, w.root, "")
	w.stop(syscall.SIGTERM, 4)
	w.stop(syscall.SIGKILL, -1)
	if list := archivedVersions(t, w.root, "domain LIKE '127.0.4.2%'"); len(list) != 2 {
		t.Errorf("versions after two crawls that were stopped: %v", list)
	}
	w.crawlWith("/ /private/x.html /style.css /tutorial/index.html", "--robots", "no", "--depth", "1")
	w.checkBytes()
	w.checkRows(before)
	w.checkRecovery()
	if left, err := filepath.Glob(filepath.Join(w.root, "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in tmp: %v, %v", left, err)
	}
}

func (w *archiveWorld) checkBytes() {
	for tag, paths := range w.want {
		for path, text := range paths {
			if got, _ := archiveRun(w.T, 0, "cat", "--root", w.root, w.docs.URL+path, "--version", tag); got != text {
				w.Errorf("%s of %s: %d bytes, want %d", path, tag, len(got), len(text))
			}
		}
	}
}

// checkRows compares the rows of the versions with what was crawled. The rows before two crawls that were
// stopped are still there.
func (w *archiveWorld) checkRows(before []archived) {
	all := archivedVersions(w.T, w.root, "")
	for _, m := range before {
		if !slices.Contains(all, m) {
			w.Errorf("version %s of %s is lost", m.CommitTag, m.URL)
		}
	}
	docs := archivedVersions(w.T, w.root, "domain LIKE '127.0.4.1%'")
	first, last := docs[0].CommitTag, docs[len(docs)-1].CommitTag
	pages := 0
	for _, m := range docs {
		if m.CommitTag == first {
			pages++
		}
		if m.MIMEType == "text/html" && m.Title == "" || m.CommitTag == last && strings.HasSuffix(m.URL, "/tutorial/errors.html") {
			w.Errorf("a page without a title, or deeper than its crawl goes: %+v", m)
		}
	}
	if docs[0].Title != "Start & end" || pages < 25 {
		w.Errorf("%d pages in the first version, the first is %+v", pages, docs[0])
	}
	css := archivedVersions(w.T, w.root, "mimeType = 'text/css'")
	if len(css) < 2 || css[0].CommitTag != first || slices.ContainsFunc(css, func(m archived) bool { return slices.Contains(before, m) && m.CommitTag != first }) {
		w.Errorf("the filter of the second crawl keeps %v", css)
	}
	archiveRun(w.T, 2, "cat", "--root", w.root, w.docs.URL+"/tutorial/modules.html", "--version", last)
}

func (w *archiveWorld) checkRecovery() {
	all := archivedVersions(w.T, w.root, "")
	if err := os.Remove(filepath.Join(w.root, "archive.db")); err != nil {
		w.Fatal(err)
	}
	if _, talk := archiveRun(w.T, 3, "ls", "--root", w.root); !strings.Contains(talk, "archive db recover") {
		w.Errorf("without the database: %s", talk)
	}
	archiveRun(w.T, 0, "db", "recover", "--root", w.root)
	if again := archivedVersions(w.T, w.root, ""); !slices.Equal(again, all) {
		w.Errorf("the database that was built again has %d rows, before %d", len(again), len(all))
	}
	if out, _ := archiveRun(w.T, 0, "db", "check", "--root", w.root); out != "" {
		w.Errorf("differences:\n%s", out)
	}
}
