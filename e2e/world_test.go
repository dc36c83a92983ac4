//go:build e2e

package e2e

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

const (
	bin = "../bin"
	ini = "../ini"
)

// crawlLimit ends a test whose crawl hangs. No result depends on it.
const crawlLimit = 5 * time.Minute

// start runs a daemon on a data folder.
func start(t *testing.T, data string, env ...string) *rig.Rig {
	t.Helper()
	r, err := rig.Start(t.Context(), rig.Options{Bin: bin, Ini: ini, Data: data, AllowLoopback: true, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if t.Failed() {
			t.Logf("output of the daemon:\n%s", tail(filepath.Join(data, "daemon.out")))
			for _, name := range []string{"crawler-task", "processor-task", "db-task"} {
				t.Logf("log of %s:\n%s", name, tail(filepath.Join(data, "log", name+".log")))
			}
		}
	})
	return r
}

// freePorts reserves ports for the programs of a test.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports, release, err := childprocess.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return ports
}

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(b) > 4000 {
		b = b[len(b)-4000:]
	}
	return string(b)
}

// newSite creates a site.
func newSite(t *testing.T, r *rig.Rig, s rig.Site) string {
	t.Helper()
	id, err := r.NewSite(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// finish waits until the sites are crawled and processed.
func finish(t *testing.T, r *rig.Rig, ids ...string) {
	t.Helper()
	for _, id := range ids {
		await(t, r, id, r.Done)
	}
}

// await waits until done holds for the site.
func await(t *testing.T, r *rig.Rig, id string, done func(context.Context, string, rig.Status) (bool, error)) {
	t.Helper()
	var last rig.Status
	defer func() {
		if t.Failed() {
			t.Logf("status of site %s: %+v", id, last)
		}
	}()
	testwait.UntilWithin(t, crawlLimit, "site "+id+" is done", func() bool {
		s, err := r.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		last = s
		ok, err := done(t.Context(), id, s)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	})
}

// rows reads all rows of a site.
func rows(t *testing.T, r *rig.Rig, id string) map[string]wire.URL {
	t.Helper()
	all := map[string]wire.URL{}
	for offset := 0; ; offset += 500 {
		var page []wire.URL
		err := r.Ask(t.Context(), "URL_FETCH", []any{map[string]any{
			"sitesList": []string{id}, "sitesCriterions": map[string]any{"WHERE": "`State` IN (1,2,3)"},
			"urlsCriterions": map[string]any{"ORDER BY": "`URLMd5` ASC", "LIMIT": []int{offset, 500}},
			"maxURLs":        500, "attributeNames": []string{},
		}}, &page)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			if _, twice := all[u.URL]; twice {
				t.Errorf("%s has two rows", u.URL)
			}
			all[u.URL] = u
		}
		if len(page) < 500 {
			return all
		}
	}
}

// database opens the SQLite database of a data folder read-only.
func database(t *testing.T, data string) *sql.DB {
	t.Helper()
	d, err := sql.Open("sqlite3", "file:"+filepath.Join(data, "dc.db")+"?mode=ro&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func number(t *testing.T, d *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := d.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// visit is one request to a witness.
type visit struct {
	URL        string // path and query
	Agent      string
	Code       int
	MD5        string // of the body
	Location   string // target of a redirect
	Start, End time.Time
}

// witness is a server that records its requests.
type witness struct {
	*httptest.Server
	mu     sync.Mutex
	visits []visit // since the last call of requests
	taken  int     // visits that requests has returned
	open   int     // connections
}

func newWitness(t *testing.T, h http.Handler) *witness {
	t.Helper()
	return newWitnessAt(t, "127.0.0.1", h)
}

// newWitnessAt serves at the given loopback address, which makes it another host.
func newWitnessAt(t *testing.T, ip string, h http.Handler) *witness {
	t.Helper()
	w := &witness{}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		v := visit{URL: r.URL.RequestURI(), Agent: r.UserAgent(), Start: time.Now()}
		seen := &seenWriter{ResponseWriter: rw, sum: md5.New(), code: 200}
		defer func() {
			v.End, v.Code, v.MD5 = time.Now(), seen.code, hex.EncodeToString(seen.sum.Sum(nil))
			if to, err := r.URL.Parse(rw.Header().Get("Location")); err == nil && rw.Header().Get("Location") != "" {
				v.Location = to.RequestURI()
			}
			w.mu.Lock()
			w.visits = append(w.visits, v)
			w.mu.Unlock()
		}()
		h.ServeHTTP(seen, r)
	}))
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch state {
		case http.StateNew:
			w.open++
		case http.StateClosed, http.StateHijacked:
			w.open--
		}
	}
	w.Listener.Close()
	w.Listener = l
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// count returns the number of requests so far.
func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken + len(w.visits)
}

// awaitHangup waits until the requests of all clients that have ended are counted: those that wait
// for their connection and those that are being answered.
func (w *witness) awaitHangup(t *testing.T) {
	t.Helper()
	last, err := net.Dial("tcp", w.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	// Connections are accepted in order: with the answer to this one, the others are known.
	if _, err := io.WriteString(last, "no request\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(last); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, w.URL+" has no connection", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.open == 0
	})
}

// awaitRequests waits for n further requests.
func (w *witness) awaitRequests(t *testing.T, n int) {
	t.Helper()
	n += w.count()
	testwait.UntilWithin(t, crawlLimit, fmt.Sprintf("%s has %d requests", w.URL, n), func() bool { return w.count() >= n })
}

// requests returns the requests since the last call, in order of arrival.
func (w *witness) requests() []visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.visits
	w.visits, w.taken = nil, w.taken+len(list)
	return list
}

// eachOnce checks that no URL but robots.txt was requested twice since the last call of requests.
func (w *witness) eachOnce(t *testing.T) {
	t.Helper()
	requested := map[string]int{}
	for _, v := range w.requests() {
		requested[v.URL]++
	}
	for url, n := range requested {
		if n > 1 && url != "/robots.txt" {
			t.Errorf("%s was requested %d times", url, n)
		}
	}
}

type seenWriter struct {
	http.ResponseWriter
	sum interface {
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
	code int
}

func (s *seenWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *seenWriter) Write(b []byte) (int, error) {
	s.sum.Write(b)
	return s.ResponseWriter.Write(b)
}

func (s *seenWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// pages is a site in memory. Tests may change it while it is served.
type pages struct {
	mu    sync.Mutex
	texts map[string]string
	asked int
	quick int           // answers without delay
	delay time.Duration // before each other answer
}

// awaitRequests waits for n further requests. Each answer after them takes so long that the crawl
// does not end before the test acts; slowFrom(0, 0) ends that.
func (p *pages) awaitRequests(t *testing.T, w *witness, n int) {
	t.Helper()
	p.slowFrom(n-1, 300*time.Millisecond)
	w.awaitRequests(t, n)
}

// slowFrom delays the answers after the next n.
func (p *pages) slowFrom(n int, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quick, p.delay = p.asked+n, delay
}

func (p *pages) set(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == "" {
		delete(p.texts, path)
		return
	}
	p.texts[path] = text
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	text, ok := p.texts[r.URL.Path]
	delay := p.delay
	if p.asked++; p.asked <= p.quick {
		delay = 0
	}
	p.mu.Unlock()
	time.Sleep(delay)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, text)
}

// tree is a site of n pages. Each one links to its children and to the root.
func tree(n int) *pages {
	p := &pages{texts: map[string]string{}}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "<html lang=en><head><title>Page %d</title></head><body><h1>Page %d</h1><p>This is page number %d of a site that grows like a tree, made for a test of the crawler and of nothing else.</p>", i, i, i)
		for _, c := range []int{4*i + 1, 4*i + 2, 4*i + 3, 4*i + 4, 0} {
			if c < n {
				fmt.Fprintf(&b, `<a href="/p%d.html">%d</a> `, c, c)
			}
		}
		b.WriteString("</body></html>")
		p.texts[fmt.Sprintf("/p%d.html", i)] = b.String()
	}
	p.texts["/"] = p.texts["/p0.html"]
	return p
}

// files lists the relative paths of the files below dir. dir may be missing.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
