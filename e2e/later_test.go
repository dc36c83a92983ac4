//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/testkit/testwait"
)

// sometimes answers every tenth request with 429, 503, 502, a reset or half a body, in turn.
type sometimes struct {
	http.Handler
	asked atomic.Int64
}

func (s *sometimes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.asked.Add(1)
	if n%10 != 0 {
		s.Handler.ServeHTTP(w, r)
		return
	}
	switch n / 10 % 5 {
	case 0:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 2:
		w.WriteHeader(http.StatusBadGateway)
	case 3:
		breakOff(w, "")
	case 4:
		breakOff(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10000\r\n\r\n<title>Half</title><p>The begin of")
	}
}

// breakOff ends the connection after text.
func breakOff(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprint(conn, text)
	if text == "" {
		_ = conn.(*net.TCPConn).SetLinger(0) // a reset
	}
	_ = conn.Close()
}

// All pages of a site are stored whose every tenth answer means "later", one request at a time and eight,
// plain and in the browser, and although hce and its daemon are killed in between.
func TestBusySite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pages  int
		killed bool
		args   []string
	}{
		{"one request at a time", 60, false, nil},
		{"eight at once, killed", 120, true, []string{"--property", "HostConcurrency=8"}},
		{"browser", 15, false, []string{"--browser"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := &sometimes{Handler: linked(tt.pages)}
			w := newWitness(t, site)
			data := filepath.Join(t.TempDir(), "node")
			args := append([]string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "0s", "--out", filepath.Join(t.TempDir(), "all.jsonl"), "--force"}, tt.args...)
			for seen := 30; tt.killed && seen <= 90; seen += 30 {
				run := startHCE(t, args...)
				testwait.Until(t, "the crawl goes on", func() bool { return int(site.asked.Load()) >= seen })
				_ = run.cmd.Process.Kill()
				<-run.ended
			}
			stdout, stderr := hce(t, 0, args...)
			if got := exported(t, args[slices.Index(args, "--out")+1]); !slices.Equal(got, titles(tt.pages)) || !strings.Contains(stdout, ": complete\n") {
				t.Errorf("%d pages of %d\n%s\n%s", len(got), tt.pages, stdout, stderr)
			}
		})
	}
}

// A host that asked for a pause gets it although hce and its daemon are killed and started again. A page
// that never comes is given up, named with its cause, and asked again by the next crawl.
func TestPausesSurviveKills(t *testing.T) {
	t.Parallel()
	const pause = 6 * time.Second
	var answered, back atomic.Int64 // when the pause began, when the next request came
	var fine atomic.Bool
	texts := linked(7)
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/p1.html" && answered.CompareAndSwap(0, time.Now().UnixNano()):
			w.Header().Set("Retry-After", fmt.Sprint(pause.Seconds()))
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case r.URL.Path == "/p6.html" && !fine.Load():
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if answered.Load() != 0 {
			back.CompareAndSwap(0, time.Now().UnixNano())
		}
		texts.ServeHTTP(w, r)
	}))
	data := filepath.Join(t.TempDir(), "node")
	args := []string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "0s", "--property", `RETRY={"502": {"attempts": 2}}`}
	run := startHCE(t, args...)
	testwait.Until(t, "the pause is recorded", func() bool { return answered.Load() != 0 && paused(t, data, w.Listener.Addr().String()) })
	_ = run.cmd.Process.Kill()
	<-run.ended
	stdout, stderr := hce(t, 1, args...)
	if gap := time.Duration(back.Load() - answered.Load()); gap < pause {
		t.Errorf("the next request came %v after an answer that asked for %v", gap, pause)
	}
	if !strings.Contains(stdout, "7 URLs, 6 pages") || !strings.Contains(stdout, "by the last cause: 502 1;") {
		t.Errorf("%s\n%s", stdout, stderr)
	}
	show, _ := hce(t, 0, "url", "show", w.URL+"/p6.html", "--data", data)
	if !strings.Contains(show, "given up after 2 requests; the last cause: 502") {
		t.Error(show)
	}
	explained, _ := hce(t, 0, "explain", w.URL+"/p6.html", "--site", w.URL+"/p0.html", "--data", data, loopback)
	if !strings.Contains(explained, "it was given up after 2 requests; the last cause: 502") {
		t.Error(explained)
	}
	fine.Store(true)
	if stdout, stderr := hce(t, 0, args...); !strings.Contains(stdout, "7 URLs, 7 pages") || !strings.Contains(stderr, "asking again for 1 URL") {
		t.Errorf("%s\n%s", stdout, stderr)
	}
}

// paused reports whether the gates of a node make a host wait.
func paused(t *testing.T, data, host string) (yes bool) {
	t.Helper()
	_ = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || yes || !strings.HasSuffix(path, ".gate") { // the crawler writes meanwhile
			return nil
		}
		gates, err := hostgate.Open(filepath.Dir(path))
		if err != nil {
			return nil
		}
		defer gates.Close()
		at, _, err := gates.Next(host, 0, 1, time.Now())
		yes = err == nil && time.Until(at) > time.Second
		return fs.SkipAll
	})
	return yes
}
