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
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	lock "hce/dc/internal/files"
	"hce/dc/internal/testkit/testwait"
)

// hceRun is one run of hce.
type hceRun struct {
	cmd         *exec.Cmd
	out, talk   bytes.Buffer
	ended       <-chan error
	description string
}

// startHCE starts hce with its own data folder.
func startHCE(t *testing.T, args ...string) *hceRun {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(bin, "hce"))
	if err != nil {
		t.Fatal(err)
	}
	r := &hceRun{cmd: exec.Command(path, args...), description: "hce " + strings.Join(args, " ")}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.talk
	if r.ended, err = childprocess.Start(r.cmd); err != nil {
		t.Fatal(err)
	}
	return r
}

// end waits for the end of the run and checks its exit status.
func (r *hceRun) end(t *testing.T, status int) (stdout, stderr string) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(crawlLimit):
		_ = r.cmd.Process.Kill()
		<-r.ended
		t.Fatalf("%s does not end:\n%s", r.description, r.talk.String())
	}
	if got := r.cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("%s: exit status %d, want %d\n%s\n%s", r.description, got, status, r.out.String(), r.talk.String())
	}
	if slices.Contains(r.cmd.Args, "--data") {
		for _, hint := range hintsIn(r.talk.String()) {
			if !strings.Contains(hint, " --data ") {
				t.Errorf("%s suggests %q, which has another data folder", r.description, hint)
			}
		}
	}
	return r.out.String(), r.talk.String()
}

func hce(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	return startHCE(t, args...).end(t, status)
}

// linked is a site of n pages, each of which links to the next two.
func linked(n int) *pages {
	p := &pages{texts: map[string]string{}}
	for i := range n {
		text := fmt.Sprintf("<html><head><title>Page %d</title></head><body><h1>Page %d</h1><p>The text of page %d is long enough to be the article of this page, and no other page has it.</p>", i, i, i)
		for _, next := range []int{2*i + 1, 2*i + 2} {
			if next < n {
				text += fmt.Sprintf("<a href='/p%d.html'>next</a>", next)
			}
		}
		p.texts[fmt.Sprintf("/p%d.html", i)] = text + "</body></html>"
	}
	p.texts["/"] = p.texts["/p0.html"]
	return p
}

// exported reads a file of hce as the titles of its pages, sorted.
func exported(t *testing.T, path string) (titles []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var page struct{ Title, Text string }
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !strings.Contains(page.Text, "long enough") {
			t.Errorf("page %q has the text %q", page.Title, page.Text)
		}
		titles = append(titles, page.Title)
	}
	slices.Sort(titles)
	return titles
}

func titles(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("Page %d", i))
	}
	slices.Sort(list)
	return list
}

const loopback = "--allow-network=127.0.0.0/8"

// What links name besides pages is stored as a resource: exports of pages do not have it, those of all that
// was received do, and the crawl is complete.
func TestHCEResources(t *testing.T) {
	const article = "<p>The text of this page is long enough to be its article, and no other page has it.</p>"
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string][2]string{
			"/":       {"text/html", "<title>Home</title><link rel=stylesheet href=/a.css>" + article + "<script src=/a.js></script><script src=/b.js></script><a href=/c.js>c</a> <a href=/data.json>d</a> <a href=/t.txt>t</a> <a href=/p.html>p</a>"},
			"/p.html": {"text/html", "<title>Page</title>" + article},
			"/t.txt":  {"text/plain", "Text that is long enough"},
			"/a.css":  {"text/css", "p { content: 'secret' }"}, "/a.js": {"text/javascript", "var secret = 1;"}, "/b.js": {"", "var secret = 2;"},
			"/c.js": {"text/html", "var secret = '<p>3</p>';"}, "/data.json": {"application/json", `{"secret": 4}`},
		}[r.URL.Path]
		if answer[1] == "" {
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = nil
		if answer[0] != "" {
			w.Header().Set("Content-Type", answer[0])
		}
		_, _ = w.Write([]byte(answer[1]))
	}))
	data, folder := filepath.Join(t.TempDir(), "node"), t.TempDir()
	stdout, _ := hce(t, 0, "crawl", w.URL+"/", "--data", data, loopback, "--delay", "0s")
	if !strings.Contains(stdout, "8 URLs, 3 pages, 5 resources") || !strings.Contains(stdout, ": complete\n") {
		t.Error(stdout)
	}
	for format, want := range map[string]int{"jsonl": 3, "csv": 3, "md": 3, "files": 8} {
		out := filepath.Join(folder, format)
		if _, stderr := hce(t, 0, "export", w.URL+"/", "--data", data, "--format", format, "--out", out); !strings.Contains(stderr, fmt.Sprintf("wrote %d pages", want)) {
			t.Errorf("%s: %s", format, stderr)
		}
		if text, _ := os.ReadFile(out); strings.Contains(string(text), "secret") {
			t.Errorf("%s has a resource: %s", format, text)
		}
	}
	if stdout, _ := hce(t, 0, "url", "ls", w.URL+"/", "--data", data); !strings.Contains(stdout, "/a.css  resource text/css\n") {
		t.Error(stdout)
	}
	if _, stderr := hce(t, 2, "page", w.URL+"/c.js", "--data", data); !strings.Contains(stderr, "is a resource (text/html) and no page") {
		t.Error(stderr)
	}
	if stdout, _ := hce(t, 0, "page", w.URL+"/a.css", "--data", data, "--html"); !strings.Contains(stdout, "secret") {
		t.Error(stdout)
	}
}

// hce crawl without a daemon: one command, the pages in a file, nothing left running; the same
// command finds nothing to do.
func TestHCECrawl(t *testing.T) {
	w := newWitness(t, linked(20))
	data, out := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "pages.jsonl")
	address := strings.TrimPrefix(w.URL, "http://") + "/p0.html" // without scheme
	args := []string{"crawl", address, "--data", data, loopback, "--delay", "0s"}

	stdout, stderr := hce(t, 0, append(args, "--out", out)...)
	for _, want := range []string{"does not speak HTTPS", "using http://127.0.0.1:", "20 done, 20 pages, 0 waiting", "wrote 20 pages"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
	if !strings.Contains(stdout, ": complete\n") || !strings.Contains(stdout, "20 URLs, 20 pages") {
		t.Error(stdout)
	}
	if got := exported(t, out); !slices.Equal(got, titles(20)) {
		t.Errorf("pages %q", got)
	}
	w.requests()
	if stdout, _ := hce(t, 0, args...); !strings.Contains(stdout, "20 URLs, 20 pages") || len(w.requests()) != 0 {
		t.Errorf("the second crawl: %s", stdout)
	}
	if _, stderr := hce(t, 2, append(args, "--out", out)...); !strings.Contains(stderr, "it exists") {
		t.Error(stderr)
	}
	if _, stderr := hce(t, 2, append(args, "--depth", "1")...); !strings.Contains(stderr, "exists with other settings") {
		t.Error(stderr)
	}
	if stdout, _ := hce(t, 0, "page", w.URL+"/p3.html", "--data", data, "--text"); !strings.Contains(stdout, "The text of page 3") {
		t.Error(stdout)
	}
	explain := []string{"explain", w.URL + "/p3.html", "--data", data, "--site", w.URL + "/p0.html"}
	if stdout, _ := hce(t, 0, explain...); !strings.Contains(stdout, "is not due") || !strings.Contains(stdout, "    reader: extractors\n") || !strings.Contains(stdout, "refused: loopback") {
		t.Error(stdout)
	}
	if stdout, _ := hce(t, 0, append(explain, loopback, "--fetch")...); strings.Contains(stdout, "refused") || !strings.Contains(stdout, "finalUrl: "+w.URL) {
		t.Error(stdout)
	}
	if stdout, _ := hce(t, 0, "doctor", "--data", data); strings.Contains("\n"+stdout, "\nfault ") {
		t.Error(stdout)
	}
}

// A crawled site that is exported as WARC and imported into an empty folder has the same pages, and
// they are processed there without a request.
func TestHCEArchive(t *testing.T) {
	w := newWitness(t, linked(20))
	folder := t.TempDir()
	from, to, archive := filepath.Join(folder, "from"), filepath.Join(folder, "to"), filepath.Join(folder, "pages.warc.gz")
	hce(t, 0, "crawl", w.URL+"/p0.html", "--data", from, loopback, "--delay", "0s")
	hce(t, 0, "export", w.URL+"/p0.html", "--data", from, "--format", "warc", "--out", archive)
	w.requests()
	for _, want := range []string{"mine: 20 pages new, 0 further versions, 0 stored before", "mine: 0 pages new, 0 further versions, 20 stored before"} {
		if stdout, _ := hce(t, 0, "import", "warc", archive, "--site", "mine", "--data", to); !strings.Contains(stdout, want) {
			t.Errorf("%q, want %q", stdout, want)
		}
	}
	out := filepath.Join(folder, "pages.jsonl")
	hce(t, 0, "crawl", "mine", "--data", to, loopback, "--out", out)
	if got := exported(t, out); !slices.Equal(got, titles(20)) {
		t.Errorf("pages %q", got)
	}
	if seen := w.requests(); len(seen) != 0 {
		t.Errorf("the import caused requests: %v", seen)
	}
	for _, page := range []string{"/p0.html", "/p7.html"} {
		one, _ := hce(t, 0, "page", w.URL+page, "--data", from, "--html")
		two, _ := hce(t, 0, "page", w.URL+page, "--data", to, "--html")
		if one != two || one == "" {
			t.Errorf("%s: %q became %q", page, one, two)
		}
	}
}

// The scope and the patterns decide what is fetched. All of it is processed: a rule about links keeps
// no page from that.
func TestHCEScope(t *testing.T) {
	w := newWitness(t, linked(31))
	data := filepath.Join(t.TempDir(), "node")
	for _, c := range []struct{ args, want string }{
		{"--name a --depth 2 --exclude /p5.html", "/p0.html /p1.html /p2.html /p3.html /p4.html /p6.html"},
		{"--name b --include /p1.html --include p3.*", "/p0.html /p1.html /p3.html"},
		{"--name c --include re:p[12].html$ --max-pages 2", "/p0.html /p1.html"},
	} {
		args := append([]string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "0s"}, strings.Fields(c.args)...)
		stdout, _ := hce(t, 0, args...)
		var got []string
		for _, v := range w.requests() {
			if strings.HasSuffix(v.URL, ".html") {
				got = append(got, v.URL)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want || !strings.Contains(stdout, fmt.Sprintf(" %d pages,", len(got))) {
			t.Errorf("%s: requests %q, want %s\n%s", c.args, got, c.want, stdout)
		}
	}
}

// A page that fails is exit status 1, and the summary names the cause.
func TestHCEErrors(t *testing.T) {
	w := newWitness(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<title>Root</title><p>A root page with a link to nowhere and some more words.<a href='/gone.html'>gone</a>")
	}))
	data := filepath.Join(t.TempDir(), "node")
	stdout, _ := hce(t, 1, "crawl", w.URL+"/", "--data", data, loopback, "--delay", "0s", "--json")
	var lines []string
	for _, e := range crawlLines(t, stdout) {
		if e.Event != "progress" {
			lines = append(lines, strings.TrimSpace(strings.Join([]string{e.Event, strings.TrimPrefix(e.URL, w.URL), e.Outcome}, " ")))
		}
		if e.Event == "done" && (e.Failed != 1 || e.Causes["HTTP_ERROR"] != 1) {
			t.Errorf("%s", e.raw)
		}
	}
	slices.Sort(lines[1 : len(lines)-1]) // the order of finished URLs is free
	if want := []string{"started", "page / new", "problem /gone.html failed", "done"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	if !strings.Contains(stdout, `{"event":"progress",`) {
		t.Errorf("no progress:\n%s", stdout)
	}
	if stdout, _ := hce(t, 0, "url", "ls", w.URL, "--data", data, "--failed"); !strings.Contains(stdout, "404") || !strings.Contains(stdout, "gone.html  HTTP_ERROR") {
		t.Error(stdout)
	}
	if _, stderr := hce(t, 2, "crawl", w.URL+"/", "--data", filepath.Join(t.TempDir(), "other")); !strings.Contains(stderr, "--allow-network") {
		t.Error(stderr)
	}
}

// Ctrl-C stops in order, and the same command ends the crawl: no page is lost.
func TestHCEInterrupted(t *testing.T) {
	const n = 30
	content := linked(n)
	w := newWitness(t, content)
	data, out := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "pages.jsonl")
	args := []string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "100ms", "--out", out, "--json"}
	r := startHCE(t, args...)
	content.awaitRequests(t, w, 6)
	if _, stderr := hce(t, 2, "crawl", w.URL+"/p1.html", "--data", data, loopback); !strings.Contains(stderr, fmt.Sprintf("another crawl works in %s", data)) {
		t.Error(stderr)
	}
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	first, stderr := r.end(t, 4)
	if !strings.Contains(stderr, "Continue with the same command, or with: hce crawl ") {
		t.Error(stderr)
	}
	w.awaitHangup(t)
	seen := w.count()
	if stdout, _ := hce(t, 0, "site", "ls", "--data", data); !strings.Contains(stdout, "paused") {
		t.Error(stdout)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("pages were written before the end")
	}
	if w.count() != seen {
		t.Error("the crawl went on after its end")
	}
	content.slowFrom(0, 0)
	second, _ := hce(t, 0, args...)
	if got := exported(t, out); !slices.Equal(got, titles(n)) {
		t.Errorf("pages %q", got)
	}
	told := map[string]int{}
	for _, e := range append(crawlLines(t, first), crawlLines(t, second)...) {
		if e.Event == "page" {
			told[e.URL]++
		}
	}
	for i := range n {
		if url := fmt.Sprintf("%s/p%d.html", w.URL, i); told[url] != 1 {
			t.Errorf("both runs together have %d lines for %s", told[url], url)
		}
	}
}

// crawlLine is a line of hce crawl --json.
type crawlLine struct {
	Event, At, URL, Outcome string
	Done, Pages, Failed     int64
	Errors                  any // number or names
	Causes                  map[string]int64
	raw                     []byte
}

// crawlLines reads the output of hce crawl --json. The last line is done if the crawl ended.
func crawlLines(t *testing.T, stdout string) (list []crawlLine) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		e := crawlLine{raw: []byte(line)}
		if err := json.Unmarshal(e.raw, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339, e.At); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		list = append(list, e)
	}
	if len(list) == 0 || list[0].Event != "started" {
		t.Fatalf("the output does not begin with started:\n%s", stdout)
	}
	return list
}

// After a kill of hce the same command ends the crawl. A crawl of another site in the folder leaves the first one alone.
func TestHCEKilled(t *testing.T) {
	const n = 30
	content := linked(n)
	w, other := newWitness(t, content), newWitness(t, linked(3))
	data, out := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "pages.jsonl")
	args := []string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "100ms", "--out", out}
	r := startHCE(t, args...)
	content.awaitRequests(t, w, 6)
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.end(t, -1)
	testwait.Until(t, "the data folder is free", func() bool {
		unlock, err := lock.TryLock(filepath.Join(data, "data", "dc-daemon.lock"))
		if err == nil {
			unlock()
		}
		return err == nil
	})
	w.awaitHangup(t)
	seen := w.count()
	hce(t, 0, "crawl", other.URL+"/p0.html", "--data", data, loopback, "--delay", "0s")
	if w.count() != seen {
		t.Error("the crawl of another site continued the first one")
	}
	content.slowFrom(0, 0)
	hce(t, 0, args...)
	if got := exported(t, out); !slices.Equal(got, titles(n)) {
		t.Errorf("pages %q", got)
	}
}

// With a running daemon hce starts none and leaves it running. An export during the crawl has every
// page that was there before exactly once.
func TestHCEWithADaemon(t *testing.T) {
	w, slow := newWitness(t, linked(25)), newWitness(t, linked(40))
	r := start(t, t.TempDir())
	server := fmt.Sprintf("127.0.0.1:%d", r.ClientPort())
	dir := t.TempDir()
	hce(t, 0, "crawl", w.URL+"/p0.html", "--server", server, "--delay", "0s")
	hce(t, 0, "site", "new", slow.URL+"/p0.html", "--server", server, "--delay", "100ms")
	slow.awaitRequests(t, 5)
	out := filepath.Join(dir, "done.jsonl")
	hce(t, 0, "export", w.URL+"/p0.html", "--server", server, "--out", out)
	if got := exported(t, out); !slices.Equal(got, titles(25)) {
		t.Errorf("pages %q", got)
	}
	running := filepath.Join(dir, "running.jsonl")
	hce(t, 0, "export", slow.URL+"/p0.html", "--server", server, "--out", running, "--where", "Status=7")
	part := exported(t, running)
	if len(slices.Compact(slices.Clone(part))) != len(part) {
		t.Errorf("a page is there twice: %q", part)
	}
	if stdout, _ := hce(t, 0, "crawl", slow.URL+"/p0.html", "--server", server, "--delay", "100ms"); !strings.Contains(stdout, "40 URLs, 40 pages") {
		t.Error(stdout)
	}
	if stdout, _ := hce(t, 0, "status", "--server", server); !strings.Contains(stdout, "2 sites, 2 active") {
		t.Error(stdout)
	}
}
