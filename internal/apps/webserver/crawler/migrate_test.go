package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/crawl/fetch"
)

// Each linked server is asked once in a run, the own one never.
func TestMigration(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	w := start(t, Config{MaxHosts: 4, DialServers: func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, address)
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if handshake.Valid(server) {
				_, _ = io.WriteString(server, map[bool]string{true: handshake.OK, false: handshake.Fail}[strings.HasPrefix(address, "b")])
			}
		}()
		return client, nil
	}}, &sink{})
	w.write(t, "1.html", `<a href="http://b.example/"> <a href="http://a.example:8080/2.html"> <img src="http://c.example:99/x.gif">`)
	w.write(t, "2.html", `<a href="http://b.example/other"> <a href="http://d.example:65535/">`)
	for range 2 { // unchanged pages migrate, too
		asked = nil
		r := w.crawl(t)
		if slices.Sort(asked); !slices.Equal(asked, []string{"b.example:81", "c.example:100"}) || r.Migrated != 1 {
			t.Errorf("%q, %+v", asked, r)
		}
	}
	asked = nil
	w.write(t, "3.html", `<a href="http://e.example/"> <a href="http://f.example/"> <a href="http://g.example/">`)
	if w.crawl(t); len(asked) != 4 || w.log.Count("more linked servers than max_hosts") != 1 {
		t.Errorf("%q", asked)
	}
}

// Of more servers than one run asks, all have their turn, also after a restart; a name that does not resolve
// waits for a day.
func TestTurns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var asked []string
	var mu sync.Mutex
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.TrimSuffix(address, ".example:81"))
		return nil, &net.DNSError{Name: address, IsNotFound: strings.HasPrefix(address, "b")}
	}
	cfg := Config{MaxHosts: 2, PortStep: 1, Table: filepath.Join(t.TempDir(), "table"), DialServers: dial, Now: func() time.Time { return now }}
	for i, want := range []string{"[a b]", "[c d]", "[a e]", "[c d]", "[a e]", "[b c]"} {
		if i == 5 {
			now = now.Add(absence)
		}
		now, asked = now.Add(time.Minute), nil
		m := cfg.loadMigration(slog.New(slog.DiscardHandler), "self.example")
		m.offerHosts([]string{"e.example", "d.example", "self.example", "c.example"})
		m.offerHosts([]string{"a.example", "b.example", "c.example"})
		m.askDueServers(t.Context())
		if slices.Sort(asked); fmt.Sprint(asked) != want {
			t.Errorf("run %d: %v, want %s", i, asked, want)
		}
	}
	if err := os.WriteFile(cfg.serversFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked = nil
	m := cfg.loadMigration(slog.New(slog.DiscardHandler))
	m.offerHosts([]string{"e.example"})
	if m.askDueServers(t.Context()); len(asked) != 1 {
		t.Errorf("after damage: %v", asked)
	}
}

func TestNoMigration(t *testing.T) {
	w := start(t, Config{MaxHosts: -1, DialServers: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a server was asked")
		return nil, errors.New("no")
	}}, &sink{})
	w.write(t, "1.html", `<a href="http://b.example/">`)
	if r := w.crawl(t); r.New != 1 || w.log.Count("level=WARN") > 0 {
		t.Errorf("%+v", r)
	}
}

// Links to addresses of the own machine or network lead nowhere unless the operator allows them.
func TestEgressGuard(t *testing.T) {
	client := fetch.New(fetch.Config{})
	defer client.Close()
	w := start(t, Config{DialServers: client.Dial}, &sink{})
	w.write(t, "1.html", `<a href="http://127.0.0.1:1/"> <a href="http://10.1.2.3/"> <a href="http://169.254.169.254/"> <a href="http://[::1]/"> <a href="http://localhost/">`)
	if r := w.crawl(t); r.Migrated != 0 || w.log.Count("no crawler at a linked server") != 5 || w.log.Count("no crawler at a linked server", "refused") < 5 {
		t.Errorf("%+v\n%s", r, w.log.String())
	}
}
