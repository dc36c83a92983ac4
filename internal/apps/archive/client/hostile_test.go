package client_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
)

var version = archive.Meta{URL: "http://example.org/", CommitTag: "example.org@2026-01-05T10:00:00"}

// use calls everything of a client and returns the errors.
func use(t *testing.T, c *client.Client) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["query"] = c.Query(t.Context(), archive.Query{})
	_, errs["list"] = c.List(t.Context(), version)
	_, errs["tag"] = c.Tag(t.Context(), version, "a")
	_, errs["commits"] = c.Commits(t.Context(), 0, 1)
	_, errs["status"] = c.Status(t.Context())
	errs["settag"] = c.SetTag(t.Context(), version, "a", "b")
	r, err := c.Open(t.Context(), version, "a")
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		r.Close()
	}
	errs["open"] = err
	w, err := c.Create(t.Context(), version, "a")
	if err == nil {
		_, err = w.Write(make([]byte, 1000))
		err = errors.Join(err, w.Close())
	}
	errs["create"] = err
	return errs
}

// answering returns the address of a server that sends bytes to each connection and closes it.
func answering(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(conn, text)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// Whatever a server answers, each call returns an error in time, and none takes it for data.
func TestHostileServers(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        "",
		"garbage":        "\x00\xff garbage",
		"other server":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
		"redirect":       "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		"unknown kind":   "HTTP/1.1 200 OK\r\nArchive-Kind: \x01\r\nContent-Length: 2\r\n\r\n[]",
		"wrong kind":     "HTTP/1.1 200 OK\r\nArchive-Kind: registered\r\nContent-Length: 2\r\n\r\n[]",
		"bad failure":    "HTTP/1.1 400 Bad\r\nArchive-Kind: error\r\nContent-Length: 3\r\n\r\n{{{",
		"huge header":    "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"huge failure":   "HTTP/1.1 400 Bad\r\nArchive-Kind: error\r\n\r\n{\"message\":\"" + strings.Repeat("x", 1<<20),
		"endless 100":    strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100),
		"cut in a chunk": "HTTP/1.1 200 OK\r\nArchive-Kind: stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
	} {
		c, err := client.New(client.Config{URL: answering(t, text), Patience: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for call, err := range use(t, c) {
			if err == nil || len(err.Error()) > 1000 {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		c.Close()
	}
}

// Events that make no sense end the connection, not the observation, and the observer sees none of them.
func TestHostileEvents(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nArchive-Kind: events\r\n\r\nevent: registered\nid: 0\ndata: {}\n\n"
	for name, text := range map[string]string{
		"no JSON":     "event: changes\nid: 1\ndata: {{\n\n",
		"no list":     "event: changes\nid: 1\ndata: 7\n\n",
		"no number":   "event: changes\nid: one\ndata: []\n\n",
		"endless":     "data: " + strings.Repeat("x", 2*protocol.MaxEvent),
		"old commits": "event: changes\nid: 1\ndata: [{\"number\":-5},{\"number\":0}]\n\n",
		"empty":       "event: changes\nid: 1\ndata: []\n\nevent: other\n\n\n\n",
	} {
		enough := errors.New("enough")
		var lost atomic.Int64
		ctx := t.Context()
		ended := make(chan struct{})
		c, err := client.New(client.Config{URL: answering(t, head+text), Lost: func(error) {
			if lost.Add(1) == 2 {
				close(ended)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			err := c.Observe(ctx, 0, func([]archive.Commit) error { return enough })
			if errors.Is(err, enough) {
				t.Errorf("%s: the observer is told", name)
			}
		}()
		<-ended
	}
}

// The token goes to the configured server only.
func TestNoTokenForOthers(t *testing.T) {
	var seen atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	defer other.Close()
	c, err := client.New(client.Config{URL: answering(t, "HTTP/1.1 307 Moved\r\nLocation: "+other.URL+"\r\nContent-Length: 0\r\n\r\n"), Token: "secret-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	use(t, c)
	if seen.Load() != 0 {
		t.Errorf("the client follows a redirect")
	}
}
