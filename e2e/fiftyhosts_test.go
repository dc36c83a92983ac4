//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// origin is the server of one host. It records and judges its requests.
type origin struct {
	url        string
	rowDelay   time.Duration // RequestDelay of its URLs
	crawlDelay time.Duration // of its robots.txt, or 0

	mu    sync.Mutex
	stays []stay
}

// stay is one request at the origin, from its header to the end of its answer. A request
// starts earlier and ends later at the client, so a gap is never shorter at the origin.
type stay struct {
	path       string
	start, end time.Time
	gone       bool // the client left before the answer; the origin notices it late
	link       *link
}

// link is a connection to an origin.
type link struct {
	mu     sync.Mutex
	closed time.Time // zero: open
}

// left reports whether the connection closed with the answer of s: perhaps before it, because its
// client was killed.
func (s stay) left() bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.gone || !s.link.closed.IsZero() && s.link.closed.Sub(s.end) < lag
}

type linkKey struct{}

// serve serves o and notes the ends of its connections.
func (o *origin) serve(t *testing.T, l net.Listener) {
	links := sync.Map{}
	server := &http.Server{
		Handler: o,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			k := &link{}
			links.Store(c, k)
			return context.WithValue(ctx, linkKey{}, k)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if k, ok := links.Load(c); ok && state == http.StateClosed {
				k.(*link).mu.Lock()
				defer k.(*link).mu.Unlock()
				k.(*link).closed = time.Now()
			}
		},
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := stay{path: r.URL.Path, start: time.Now(), link: r.Context().Value(linkKey{}).(*link)}
	defer func() {
		s.end, s.gone = time.Now(), r.Context().Err() != nil
		o.mu.Lock()
		o.stays = append(o.stays, s)
		o.mu.Unlock()
	}()
	answering := 15 * time.Millisecond
	if rand.IntN(10) == 0 {
		answering = 300 * time.Millisecond // so that each process has such a request open at most times, and kills hit them
	}
	select {
	case <-time.After(answering):
	case <-r.Context().Done():
		return
	}
	if r.URL.Path == "/robots.txt" {
		if o.crawlDelay > 0 {
			fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\n", o.crawlDelay.Seconds())
		}
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html><title>%s</title><p>A page.</p>", r.URL.Path)
}

// lag is how late an origin on a busy machine may notice a request that is cut off. A request
// without a delay would follow at once, so the delays of the origins are longer.
const lag = 250 * time.Millisecond

// judge reports requests that overlap or follow too early.
func (o *origin) judge(t *testing.T) (requests, cut int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.SortFunc(o.stays, func(a, b stay) int { return a.start.Compare(b.start) })
	for i, b := range o.stays {
		if b.gone {
			cut++
		}
		if i == 0 {
			continue
		}
		a := o.stays[i-1]
		want := max(o.rowDelay, o.crawlDelay)
		if b.path == "/robots.txt" {
			want = o.rowDelay // Crawl-delay is not known yet
		}
		from := a.end
		if a.left() { // the origin does not know when its client died
			from, want = a.start, want-lag
		}
		if gap := b.start.Sub(from); gap < want {
			t.Errorf("%s: %s came %v after %s (cut off: %v), want at least %v", o.url, b.path, gap, a.path, a.gone, want)
		}
	}
	return len(o.stays), cut
}

// Three crawler processes with batches that share hosts and URLs are killed many times.
// None of the fifty origins sees overlapping requests or a gap below its delay, and at the
// end no gate is locked.
func TestFiftyHosts(t *testing.T) {
	random := rand.New(rand.NewPCG(seed(t)))
	origins := make([]*origin, 50)
	for i := range origins {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		o := &origin{url: "http://" + l.Addr().String(), rowDelay: time.Duration(300+random.IntN(150)) * time.Millisecond}
		if i%5 == 0 {
			o.crawlDelay = 500 * time.Millisecond
		}
		o.serve(t, l)
		origins[i] = o
	}
	data := t.TempDir()
	env := []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8"}
	root := origins[0].url + "/"
	id := rig.SiteID(root)
	newTaskSites(t, env, map[string]any{"urls": []string{root}})

	item := func(o *origin, path string) any {
		return batchItem(id, o.url+path, 30_000, int(o.rowDelay.Milliseconds()))
	}
	var counting sync.Mutex
	serial, batchID, kills := 0, 0, 0
	next := func() (int, any, time.Duration) { // a batch for half of the hosts, and the time until its kill
		counting.Lock()
		defer counting.Unlock()
		var items []any
		for _, h := range random.Perm(len(origins))[:25] {
			for range 5 {
				serial++
				items = append(items, item(origins[h], fmt.Sprintf("/p%d", serial)))
			}
			items = append(items, item(origins[h], fmt.Sprintf("/shared%d", serial/1000))) // also in batches of other processes
		}
		batchID++
		kills++
		batch := batchOf(items, 60)
		batch["id"] = batchID
		return batchID, batch, time.Duration(200+random.IntN(1800)) * time.Millisecond
	}
	end := time.Now().Add(12 * time.Second)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for time.Now().Before(end) {
				n, batch, life := next()
				if err := killedCrawl(t, batch, life, env); err != nil {
					t.Errorf("batch %d: %v", n, err)
					return
				}
			}
		})
	}
	group.Wait()

	var last []any
	var urls []string
	for _, o := range origins {
		for i := range 2 {
			last = append(last, item(o, fmt.Sprintf("/last%d", i)))
			urls = append(urls, fmt.Sprintf("%s/last%d", o.url, i))
		}
	}
	crawl(t, batchOf(last, 60), env)
	stored := status(t, id, urls, env)
	for _, u := range urls {
		if row := stored[md5Of(t, u)]; row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
			t.Errorf("%s: status %d, errors %v", u, row.Status, row.ErrorMask.Names())
		}
	}
	requests, cut := 0, 0
	for _, o := range origins {
		n, c := o.judge(t)
		if n < 5 {
			t.Errorf("%s had only %d requests", o.url, n)
		}
		requests, cut = requests+n, cut+c
	}
	t.Logf("%d requests, %d of them cut off, in %d killed processes", requests, cut, kills)
	if cut == 0 {
		t.Error("no process was killed in a request")
	}
}

// killedCrawl starts a batch and kills its process after life. A process that ends before
// must succeed.
func killedCrawl(t *testing.T, batch any, life time.Duration, env []string) error {
	text, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "crawler-task"), "-c", filepath.Join(ini, "crawler-task.ini"))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != -1 {
		return fmt.Errorf("%w, stderr %.500q", err, stderr.String())
	}
	return nil
}
