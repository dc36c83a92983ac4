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
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/places/placestest"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testrelay"
	"hce/dc/internal/testkit/testwait"
)

const base = "http://a.example:8080/"

// sink remembers documents in their order.
type sink struct {
	mu    sync.Mutex
	docs  []packet.Document
	block chan struct{} // Store waits for it
}

func (s *sink) Store(_ context.Context, docs []packet.Document) ([]packet.Outcome, error) {
	if s.block != nil {
		<-s.block
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var outcomes []packet.Outcome
	for _, d := range docs {
		outcome := packet.New
		if slices.ContainsFunc(s.docs, func(o packet.Document) bool { return o.URL == d.URL }) {
			outcome = packet.Updated
		}
		s.docs, outcomes = append(s.docs, d), append(outcomes, outcome)
	}
	return outcomes, nil
}

// take returns the names of the documents since the last call.
func (s *sink) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, d := range s.docs {
		names = append(names, strings.TrimPrefix(d.URL, base))
	}
	s.docs = nil
	slices.Sort(names)
	return strings.Join(names, " ")
}

// world is a crawler port for a folder, and a Web Store.
type world struct {
	*Crawler
	dir, address, store string
	sink                *sink
	log                 testlog.Recorder
	now                 atomic.Int64
}

func start(t *testing.T, cfg Config, s *sink) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), sink: s}
	w.now.Store(1000)
	var err error
	if cfg.Folder, err = folder.Open(w.dir); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	expiry, err := webstore.OpenExpiry(filepath.Join(data, "expiry"))
	if err != nil {
		t.Fatal(err)
	}
	w.store = listen(t, webstore.New(webstore.Config{Sink: s, Expiry: expiry, Log: log, Now: time.Now, MaxConnections: 9}).Serve)
	if cfg.Store == "" {
		cfg.Store = w.store
	}
	if cfg.DialServers == nil {
		cfg.DialServers = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	}
	cfg.BaseURL, cfg.Table, cfg.Log, cfg.DialStore, cfg.PortStep = base, filepath.Join(data, "md5"), log, (&net.Dialer{}).DialContext, 1
	cfg.Now = func() time.Time { return time.Unix(w.now.Load(), 0) }
	if cfg.MaxHosts == 0 {
		cfg.MaxHosts = 10
	}
	cfg.MaxHosts = max(cfg.MaxHosts, 0)
	if w.Crawler, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = w.Close(), expiry.Close(), cfg.Folder.Close() })
	w.address = listen(t, w.Serve)
	return w
}

// listen runs a server until the test ends.
func listen(t *testing.T, serve func(context.Context, net.Listener) error) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// ask sends the handshake.
func (w *world) ask(t *testing.T) bool {
	t.Helper()
	ok, err := handshake.Ask(t.Context(), (&net.Dialer{}).DialContext, w.address)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// crawl runs a crawler to its end.
func (w *world) crawl(t *testing.T) Run {
	t.Helper()
	_, before := w.Status()
	w.now.Add(1000)
	if !w.ask(t) {
		t.Fatal("refused")
	}
	var runs []Run
	testwait.Until(t, "the run ends", func() bool { _, runs = w.Status(); return len(runs) > len(before) })
	return runs[len(runs)-1]
}

func (w *world) table() string {
	var names []string
	for _, e := range w.Files() {
		names = append(names, strings.TrimPrefix(e.URL, base))
	}
	return strings.Join(names, " ")
}

// Only new and changed public files are sent; the table follows what is removed, private and public again.
func TestIndexing(t *testing.T) {
	w := start(t, Config{}, &sink{})
	w.write(t, "index.html", example)
	w.write(t, "sub/foto_vacas.jpg", "jpg")
	w.write(t, "private.html", "x")
	w.write(t, ".hidden", "x")
	mode := func(name string, mode os.FileMode) {
		if err := os.Chmod(filepath.Join(w.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	mode("private.html", 0o444)
	for _, step := range []struct {
		name        string
		change      func()
		sent, table string
		counts      string // files, private, unchanged, new, updated, removed
	}{
		{"first", func() {}, "index.html sub/foto_vacas.jpg", "index.html sub/foto_vacas.jpg", "2 1 0 2 0 0"},
		{"nothing changed", func() {}, "", "index.html sub/foto_vacas.jpg", "2 1 2 0 0 0"},
		{"only the time", func() { w.write(t, "index.html", example) }, "", "index.html sub/foto_vacas.jpg", "2 1 2 0 0 0"},
		{"changed", func() { w.write(t, "index.html", "other") }, "index.html", "index.html sub/foto_vacas.jpg", "2 1 1 1 0 0"},
		{"removed", func() { _ = os.Remove(filepath.Join(w.dir, "sub/foto_vacas.jpg")) }, "", "index.html", "1 1 1 0 0 1"},
		{"became private", func() { mode("index.html", 0o400) }, "", "", "0 2 0 0 0 1"},
		{"public again", func() { mode("index.html", 0o644); mode("private.html", 0o644) }, "index.html private.html", "index.html private.html", "2 0 0 2 0 0"},
	} {
		step.change()
		r := w.crawl(t)
		if got := w.sink.take(); got != step.sent {
			t.Errorf("%s: sent %q, want %q", step.name, got, step.sent)
		}
		if got := w.table(); got != step.table {
			t.Errorf("%s: table %q, want %q", step.name, got, step.table)
		}
		if got := fmt.Sprint(r.Files, r.Private, r.Unchanged, r.New, r.Updated, r.Removed); got != step.counts || r.Error != "" {
			t.Errorf("%s: %s, want %s; %s", step.name, got, step.counts, r.Error)
		}
	}
	if e := w.Files()[0]; e.MD5 != "795f3202b17cb6bc3d4b771d8c6c9eaf" { // of "other"
		t.Errorf("%+v", e)
	}
}

func TestDocuments(t *testing.T) {
	w := start(t, Config{}, &sink{})
	w.write(t, "a.html", example)
	w.write(t, "foto_vacas.JPG", "12345")
	w.write(t, "large.html", "<title>large</title>"+strings.Repeat("x", packet.MaxHTML))
	w.write(t, "control.html", strings.Repeat("\x01", packet.MaxHTML-10))
	w.write(t, "page", "<!doctype html><title>without extension</title>")
	if r := w.crawl(t); r.New != 5 || r.Failed != 0 {
		t.Errorf("%+v\n%s", r, w.log.String())
	}
	for _, d := range w.sink.docs {
		got := fmt.Sprint(d.Kind, d.Title, d.Words, d.Size, d.Extension, len(d.HTML) > 0, d.Modified.IsZero())
		want := map[string]string{
			"a.html":         fmt.Sprint(packet.Page, "Página de sistemas", []string{"operativos", "so", "ejemplo"}, len(example), "html", true, false),
			"foto_vacas.JPG": fmt.Sprint(packet.File, "", []string{"foto", "vacas"}, 5, "jpg", false, false),
			"large.html":     fmt.Sprint(packet.File, "", []string{"large"}, packet.MaxHTML+20, "html", false, false),
			"control.html":   fmt.Sprint(packet.File, "", []string{"control"}, packet.MaxHTML-10, "html", false, false),
			"page":           fmt.Sprint(packet.Page, "without extension", []string(nil), 47, "", true, false),
		}[strings.TrimPrefix(d.URL, base)]
		if got != want {
			t.Errorf("%s: %s, want %s", d.URL, got, want)
		}
	}
}

// A crawler is refused while one runs, and in the pause after it; so is everything but a handshake.
func TestConditions(t *testing.T) {
	s := &sink{block: make(chan struct{})}
	w := start(t, Config{Pause: time.Minute}, s)
	w.write(t, "a.html", "x")
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SOOGLE CRAWLER CONNECT/0.1\r\n\r\n", "\x00", strings.Repeat("x", 1<<16)} {
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		answer := make([]byte, len(handshake.Fail))
		if _, err := io.ReadFull(c, answer); string(answer) != handshake.Fail {
			t.Errorf("%.20q: %q, %v", text, answer, err)
		}
		_ = c.Close()
	}
	if !w.ask(t) {
		t.Fatal("the first one is refused")
	}
	if running, _ := w.Status(); !running || w.ask(t) {
		t.Error("two run at once")
	}
	close(s.block)
	testwait.Until(t, "the run ends", func() bool { running, _ := w.Status(); return !running })
	if w.now.Add(59); w.ask(t) {
		t.Error("accepted in the pause")
	}
	if w.now.Add(1); !w.ask(t) {
		t.Error("refused after the pause")
	}
	testwait.Until(t, "the run ends", func() bool { running, _ := w.Status(); return !running })
	if w.log.Count("crawler refused", "no handshake") != 4 || w.log.Count("crawler refused", "a crawler runs") != 1 || w.log.Count("pause for another 1s") != 1 {
		t.Error(w.log.String())
	}
}

// Silent connections do not keep others from the port for longer than their time.
func TestSilentConnections(t *testing.T) {
	w := start(t, Config{}, &sink{})
	placestest.Fill(t, w.address, 10*maxHandshakes)
	if !w.ask(t) {
		t.Error("refused")
	}
}

// The network to the store is cut in the middle of a run. What was acknowledged is in the table; the next
// run sends the rest, and the store ends with each document.
func TestStoreIsCutOff(t *testing.T) {
	s := &sink{}
	w := start(t, Config{Store: "127.0.0.1:1"}, s)
	const n = 60
	for i := range n {
		w.write(t, fmt.Sprintf("%02d.html", i), strings.Repeat(fmt.Sprint(i), 5000))
	}
	if r := w.crawl(t); !strings.Contains(r.Error, "connect to the Web Store") || w.table() != "" {
		t.Errorf("%+v", r)
	}
	relay, err := testrelay.Start(w.store)
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	w.cfg.Store = relay.Address()
	s.block = make(chan struct{}, n)
	for range 3 { // batches are stored, then the network is cut
		s.block <- struct{}{}
	}
	w.now.Add(1000)
	w.ask(t)
	testwait.Until(t, "something is stored", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.docs) > 0 })
	relay.Cut()
	close(s.block)
	var runs []Run
	testwait.Until(t, "the run ends", func() bool { _, runs = w.Status(); return len(runs) == 2 })
	if runs[1].Error == "" {
		t.Errorf("%+v", runs[1])
	}
	relay.Mend()
	known := len(w.Files())
	r := w.crawl(t)
	if r.Error != "" || r.Unchanged != known || r.New+r.Updated != n-known || len(w.Files()) != n {
		t.Errorf("%d known: %+v", known, r)
	}
	urls := map[string]int{}
	for _, d := range s.docs {
		urls[d.URL]++
	}
	if len(urls) != n || len(s.docs) > n+inFlight {
		t.Errorf("%d documents of %d URLs", len(s.docs), len(urls))
	}
}

// A part of the folder that cannot be read keeps its entries. (The tests may run as root, who can read
// everything.)
func TestUnreadable(t *testing.T) {
	x := &indexing{cfg: &Config{BaseURL: base}, log: slog.New(slog.DiscardHandler), public: map[string]bool{base + "c": true}}
	x.recordUnreadable("sub", errors.New("x"))
	for name, want := range map[string]bool{"sub": true, "sub/a": true, "sub/b/c": true, "subway": false, "c": true, "d": false} {
		if got := x.keepsEntry(base + name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if x.recordUnreadable(".", errors.New("x")); !x.keepsEntry(base + "anything") {
		t.Error("the whole folder cannot be read, but entries go")
	}
}

func TestBaseURL(t *testing.T) {
	for _, url := range []string{"", "http://a.example", "http://a.example/x", "ftp://a.example/", "http://A.example/", "/"} {
		if _, err := New(Config{BaseURL: url, Table: filepath.Join(t.TempDir(), "t")}); err == nil || !strings.Contains(err.Error(), "base URL") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
