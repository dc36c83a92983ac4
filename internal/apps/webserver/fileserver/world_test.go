package fileserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/cli/seedlog"
	"hce/dc/internal/testkit/testlog"
)

// world is a server on a real socket and a folder.
type world struct {
	*Server
	dir, address string
	log          testlog.Recorder
	ended        chan error
	stop         func()
}

func start(t *testing.T, cfg Config, files map[string]string) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), ended: make(chan error, 1)}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if cfg.Folder, err = folder.Open(w.dir); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Log = slog.New(seedlog.New(&w.log, "test", slog.LevelDebug))
	if cfg.MaxRequests == 0 {
		cfg.MaxRequests, cfg.QueueTime = 4, time.Minute
	}
	w.Server, w.address = New(cfg), l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ended <- w.Serve(ctx, l); close(w.ended) }()
	t.Cleanup(func() {
		cancel()
		<-w.ended
		_ = cfg.Folder.Close()
	})
	return w
}

// get requests a path with headers, each of them "Name: value".
func (w *world) get(t *testing.T, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	c := w.dial(t)
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, w.address)
	for _, h := range headers {
		request += h + "\r\n"
	}
	send(t, c, request+"\r\n")
	return receive(t, bufio.NewReader(c), method)
}

func (w *world) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, r *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// occupy takes all places of the queue until the returned function is called.
func (w *world) occupy(t *testing.T) (release func()) {
	t.Helper()
	n := w.cfg.MaxRequests
	for range n {
		if err := w.queue.enterQueue(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for range n {
			w.queue.leaveQueue()
		}
	}
}
