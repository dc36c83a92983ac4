package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/apps/archive/server"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testrelay"
	"hce/dc/internal/testkit/testwait"
)

// world is an archive with a server.
type world struct {
	*archivetest.Store
	server *server.Server
	log    *testlog.Recorder
	stop   func() // ends the server
}

// start starts a server on a free port. edit may change its configuration.
func start(t testing.TB, store archive.Store, edit func(*server.Config)) *world {
	t.Helper()
	w := &world{log: &testlog.Recorder{}}
	w.Store, _ = store.(*archivetest.Store)
	cfg := server.Config{Store: store, Interval: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	if edit != nil {
		edit(&cfg)
	}
	var err error
	if w.server, err = server.Listen(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		w.stop()
		if t.Failed() {
			t.Log("log of the server:\n" + w.log.String())
		}
	})
	return w
}

// connect returns a client of an address.
func connect(t testing.TB, address string, edit func(*client.Config)) *client.Client {
	t.Helper()
	cfg := client.Config{URL: address}
	if edit != nil {
		edit(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// page crawls a page and returns it.
func (w *world) page(t testing.TB) archive.Meta {
	t.Helper()
	w.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	return archivetest.Page(t, w.Store)
}

// A client is a store with the same laws as the store of the server.
func TestClientIsAStore(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T) (archive.Store, archivetest.Crawler) {
		w := start(t, archivetest.New(t), nil)
		return connect(t, w.server.URL(), nil), w.Crawl
	})
}

// endless has files of any size, which it makes and forgets.
type endless struct {
	archive.Store
	size int64
}

func (e endless) Open(context.Context, archive.Meta, string) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(rand.NewChaCha8([32]byte{1}), e.size)), nil
}

func (e endless) Create(context.Context, archive.Meta, string) (archive.Writer, error) {
	return &comparing{want: rand.NewChaCha8([32]byte{1}), size: e.size}, nil
}

// comparing compares what is written with what Open gives.
type comparing struct {
	want *rand.ChaCha8
	size int64
	seen int64
	bad  bool
}

func (c *comparing) Write(p []byte) (int, error) {
	want := make([]byte, len(p))
	_, _ = c.want.Read(want)
	c.bad = c.bad || string(want) != string(p)
	c.seen += int64(len(p))
	return len(p), nil
}

func (c *comparing) Close() error {
	if c.bad || c.seen != c.size {
		return archive.ErrInvalid
	}
	return nil
}

func (c *comparing) Abort() error { return nil }

// A file travels with a buffer on each side, and not as a whole, in both directions.
func TestStreams(t *testing.T) {
	const size = 32 << 20
	w := start(t, endless{archivetest.New(t), size}, nil)
	m := archive.Meta{URL: "u", CommitTag: "t"}
	c := connect(t, w.server.URL(), nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := c.Open(t.Context(), m, "large.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := &comparing{want: rand.NewChaCha8([32]byte{1}), size: size}
	buffer := make([]byte, 32<<10)
	if _, err := io.CopyBuffer(to, struct{ io.Reader }{r}, buffer); err != nil || to.Close() != nil {
		t.Errorf("read: %d bytes, %v", to.seen, err)
	}
	file, err := c.Create(t.Context(), m, "large.bin")
	if err != nil {
		t.Fatal(err)
	}
	from := io.LimitReader(rand.NewChaCha8([32]byte{1}), size)
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, from, buffer); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Errorf("write: %v", err)
	}
	if _, err := file.Write([]byte("x")); err == nil || file.Close() == nil {
		t.Error("a closed file takes more")
	}
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapSys) - int64(before.HeapSys); held > size/4 {
		t.Errorf("the heap grew by %d bytes for files of %d", held, size)
	}
}

// A file that the store refuses is refused before it is sent: Create returns the error.
func TestRefusedBeforeTheBody(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	c := connect(t, w.server.URL(), nil)
	if _, err := c.Create(t.Context(), m, "data.html"); !errors.Is(err, archive.ErrExists) {
		t.Errorf("%v", err)
	}
	if n := w.OpenWriters(); n != 0 {
		t.Errorf("%d open writers", n)
	}
}

func TestTooLarge(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.MaxFile = 1000 })
	m := w.page(t)
	c := connect(t, w.server.URL(), nil)
	if err := archivetest.Write(t, c, m, "a", strings.Repeat("x", 1000)); err != nil {
		t.Error(err)
	}
	if err := archivetest.Write(t, c, m, "b", strings.Repeat("x", 1001)); !errors.Is(err, protocol.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if err := c.SetTag(t.Context(), m, "t", strings.Repeat("x", protocol.MaxNode+1)); !errors.Is(err, protocol.ErrTooLarge) {
		t.Errorf("tag: %v", err)
	}
	if _, err := c.Open(t.Context(), m, "b"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("open: %v", err)
	}
}

// broken is a store whose files end with an error, and whose notifier fails.
type broken struct{ archive.Store }

func (b broken) Open(ctx context.Context, m archive.Meta, name string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", 100000)), failing{})), nil
}

func (broken) List(context.Context, archive.Meta) ([]archive.File, error) {
	return nil, errors.New("/secret/path: disk full")
}

func (broken) Commits(context.Context, int64, int) ([]archive.Commit, error) {
	return nil, errors.New("no database")
}

type failing struct{}

func (broken) Tag(context.Context, archive.Meta, string) (string, error) { panic("bug") }

func (failing) Read([]byte) (int, error) { return 0, errors.New("bad sector") }

// A failure of the store is an error of the client, which does not see its cause, and is in the log.
// A file that breaks off is never taken for a whole one.
func TestFailuresOfTheStore(t *testing.T) {
	w := start(t, broken{archivetest.New(t)}, nil)
	c := connect(t, w.server.URL(), nil)
	m := archive.Meta{URL: "u", CommitTag: "t"}
	_, err := c.List(t.Context(), m)
	if !errors.Is(err, protocol.ErrInternal) || strings.Contains(err.Error(), "secret") || w.log.Count("disk full", "level=ERROR") != 1 {
		t.Errorf("%v\n%s", err, w.log)
	}
	r, err := c.Open(t.Context(), m, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); err == nil || w.log.Count("bad sector") != 1 {
		t.Errorf("%d bytes, %v\n%s", n, err, w.log)
	}
	if _, err := c.Tag(t.Context(), m, "a"); err == nil || w.log.Count("request panics", "bug", "level=ERROR") == 0 {
		t.Errorf("panic: %v\n%s", err, w.log)
	}
	testwait.Until(t, "the notifier fails", func() bool { return w.log.Count("cannot look for new commits") > 0 })
	if n := w.log.Count("cannot look for new commits"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// A connection that is cut while a file is written leaves nothing, in the store and of the writer.
func TestCutWhileWriting(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	relay, err := testrelay.Start(w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	c := connect(t, "http://"+relay.Address(), nil)
	file, err := c.Create(t.Context(), m, "part.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(make([]byte, 200000)); err != nil {
		t.Fatal(err)
	}
	relay.Cut()
	if err := file.Close(); err == nil {
		t.Error("the file is stored")
	}
	testwait.Until(t, "the server forgets the file", func() bool { return w.OpenWriters() == 0 })
	if _, err := w.Open(t.Context(), m, "part.bin"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("open: %v", err)
	}
	relay.Mend()
	if err := archivetest.Write(t, c, m, "part.bin", "whole"); err != nil {
		t.Errorf("second attempt: %v", err)
	}
}

// A connection that is cut while a file is read is an error of the reader.
func TestCutWhileReading(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	if err := archivetest.Write(t, w.Store, m, "large.bin", strings.Repeat("x", 32<<20)); err != nil {
		t.Fatal(err)
	}
	relay, err := testrelay.Start(w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	c := connect(t, "http://"+relay.Address(), nil)
	r, err := c.Open(t.Context(), m, "large.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	relay.Cut()
	if n, err := io.Copy(io.Discard, r); err == nil {
		t.Errorf("%d bytes without an error", n)
	}
}

// A ctx that ends breaks what runs.
func TestCancelledWrite(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	c := connect(t, w.server.URL(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	file, err := c.Create(ctx, m, "part.bin")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := file.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	if _, err := c.Query(ctx, archive.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("query: %v", err)
	}
	testwait.Until(t, "the server forgets the file", func() bool { return w.OpenWriters() == 0 })
}

// A server that is silent is an error after the patience of the client.
func TestSilentServer(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	if err := archivetest.Write(t, w.Store, m, "large.bin", strings.Repeat("x", 32<<20)); err != nil {
		t.Fatal(err)
	}
	relay, err := testrelay.Start(w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	c := connect(t, "http://"+relay.Address(), func(cfg *client.Config) { cfg.Patience = time.Second })
	r, err := c.Open(t.Context(), m, "large.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	relay.Hold()
	if _, err := io.Copy(io.Discard, r); err == nil || !strings.Contains(err.Error(), "silent for 1s") || errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	hasty := connect(t, "http://"+relay.Address(), func(cfg *client.Config) { cfg.Patience = 10 * time.Millisecond })
	if _, err := hasty.Query(t.Context(), archive.Query{}); err == nil {
		t.Error("query: no error")
	}
}

func TestNoArchiveServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = other.Serve(l) }()
	defer other.Close()
	c := connect(t, "http://"+l.Addr().String(), nil)
	if _, err := c.Query(t.Context(), archive.Query{}); err == nil || !strings.Contains(err.Error(), "check address and port") {
		t.Errorf("%v", err)
	}
	other.Close()
	if _, err := c.Query(t.Context(), archive.Query{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// The server stops while observers wait and files are written.
func TestStop(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	c := connect(t, w.server.URL(), nil)
	var all sync.WaitGroup
	all.Go(func() { _ = c.Observe(t.Context(), 0, func([]archive.Commit) error { return errors.New("enough") }) })
	all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	all.Go(func() { _ = c.Observe(ctx, 0, func([]archive.Commit) error { return nil }) })
	testwait.Until(t, "the observer is registered", func() bool { s, err := c.Status(t.Context()); return err == nil && len(s.Observers) == 1 })
	if err := archivetest.Write(t, c, m, "a.txt", "x"); err != nil {
		t.Fatal(err)
	}
	w.stop()
	cancel()
	all.Wait()
	if _, err := c.Query(t.Context(), archive.Query{}); err == nil {
		t.Error("the server still answers")
	}
}
