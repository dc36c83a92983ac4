package crawler

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/webserver/handshake"
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
	if w.crawl(t); len(asked) != 3 || w.log.Count("more linked servers than max_hosts") != 1 {
		t.Errorf("%q", asked)
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
