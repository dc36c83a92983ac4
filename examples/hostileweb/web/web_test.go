package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/testkit/testwait"
)

// locked is a log that the test reads while the web runs.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

func startWeb(t *testing.T, o Options) *Web {
	t.Helper()
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestTrapsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, trap := range Traps() {
		key := trap.Host + trap.Path
		if seen[key] {
			t.Errorf("%s is a duplicate", key)
		}
		seen[key] = true
		if !strings.HasPrefix(trap.Path, "/") || trap.What == "" || strings.ContainsAny(trap.Path, "?# ") {
			t.Errorf("%s: path or words are wrong", key)
		}
		if trap.serve == nil && plainTalk[trap.Host] == nil {
			t.Errorf("%s has no server", key)
		}
		if len(trap.Ends) == 0 != (trap.Fits(0) && trap.End() == "no error") {
			t.Errorf("%s: ends %v, %q", key, trap.Ends, trap.End())
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d traps", len(seen))
	}
}

// Every trap ends when its client leaves after at most 1 MB. The web survives all of them,
// closes at once and leaks no goroutine.
func TestEveryTrapEndsWithItsClient(t *testing.T) {
	before := runtime.NumGoroutine()
	log := &locked{}
	w := startWeb(t, Options{Log: log})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(w.Authority()) {
		t.Fatal("no authority")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	good := 0
	for _, trap := range Traps() {
		patience := time.Minute
		if trap.Stalls {
			patience = 50 * time.Millisecond
		}
		for _, path := range []string{trap.Path, "/robots.txt"} {
			if path == "/robots.txt" && trap.Host == "" {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			target := strings.TrimSuffix(w.URL(trap), trap.Path) + path
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := client.Do(req); err == nil {
				// Some bodies never come, and after a 101 the context does not end the
				// wait.
				leave := time.AfterFunc(200*time.Millisecond, func() { resp.Body.Close() })
				io.CopyN(io.Discard, resp.Body, 1<<20)
				leave.Stop()
				resp.Body.Close()
				good++
			} else if len(trap.Ends) == 0 && path != "/robots.txt" {
				t.Errorf("%s: %v", trap.Path, err)
			}
			cancel()
		}
	}
	if good < 150 {
		t.Errorf("only %d answers have a header", good)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	testwait.Until(t, "the goroutines of the web end", func() bool { return runtime.NumGoroutine() <= before+2 })
	logged := map[string]site.Request{} // a request is logged when its handler has ended
	for _, line := range log.lines() {
		var r site.Request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		logged[r.Path] = r
	}
	if r := logged["/body/endless"]; r.Path == "" || r.End < r.Start || r.Remote == "" {
		t.Errorf("the line of /body/endless is %+v", r)
	}
}

// docs/servers.md has the table of all rows.
func TestServersPageIsUpToDate(t *testing.T) {
	testgolden.Part(t, "../../../docs/servers.md", "<!-- servers: go test ./examples/hostileweb/web -run ServersPage -update -->\n", "<!-- end of servers -->", "\n"+Markdown()+"\n")
}

func TestIndexListsAll(t *testing.T) {
	w := startWeb(t, Options{})
	resp, err := http.Get(w.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, trap := range Traps() {
		if !strings.Contains(string(page), `href="`+w.URL(trap)+`"`) {
			t.Errorf("%s%s is not listed", trap.Host, trap.Path)
		}
	}
	var table bytes.Buffer
	if err := List(&table); err != nil || strings.Count(table.String(), "\n") != len(Traps())+1 {
		t.Errorf("%v, table of %d lines", err, strings.Count(table.String(), "\n"))
	}
}

func TestStartRejectsInvalidAddresses(t *testing.T) {
	for _, listen := range []string{"localhost:80", "127.0.0.1", "127.0.0.1:65530", "127.0.0.1:-1", "127.0.0.1:http"} {
		if w, err := Start(Options{Listen: listen}); err == nil {
			w.Close()
			t.Errorf("Start on %s: no error", listen)
		}
	}
}

// The hosts take consecutive ports. A port in use is an error that leaves nothing open.
func TestPortInUse(t *testing.T) {
	w := startWeb(t, Options{})
	address := strings.TrimSuffix(strings.TrimPrefix(w.Root(), "http://"), "/")
	if second, err := Start(Options{Listen: address}); err == nil {
		second.Close()
		t.Error("two webs on one port")
	}
	if hosts := w.Hosts(); hosts[0].Name != "" || len(hosts) < 30 {
		t.Errorf("%d hosts, the first is %q", len(hosts), hosts[0].Name)
	}
}
