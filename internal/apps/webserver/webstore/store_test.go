package webstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/places"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// world is a Web Store with a journal on a real socket.
type world struct {
	*Store
	dir, address string
	journal      *Journal
	expiry       *Expiry
	log          testlog.Recorder
	now          atomic.Int64 // Unix time
	stop         func()
	ended        chan error
}

func start(t *testing.T, cfg Config) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), ended: make(chan error, 1)}
	w.now.Store(1000)
	now := func() time.Time { return time.Unix(w.now.Load(), 0) }
	var err error
	if w.journal, err = OpenJournal(filepath.Join(w.dir, "documents.jsonl"), now); err != nil {
		t.Fatal(err)
	}
	if w.expiry, err = OpenExpiry(filepath.Join(w.dir, "expiry.jsonl")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Sink == nil {
		cfg.Sink = w.journal
	}
	cfg.Expiry, cfg.Now, cfg.Log = w.expiry, now, slog.New(slog.NewTextHandler(&w.log, nil))
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = 16
	}
	w.Store, w.address = New(cfg), l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ended <- w.Serve(ctx, l); close(w.ended) }()
	t.Cleanup(func() {
		cancel()
		<-w.ended
		_, _ = w.journal.Close(), w.expiry.Close()
	})
	return w
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

func page(host, name, html string) packet.Document {
	return packet.Document{Kind: packet.Page, URL: "http://" + host + "/" + name, Title: "t", Words: []string{"uno"}, HTML: html, Size: int64(len(html))}
}

// send sends a document and returns the kind and the answer.
func send(t *testing.T, c net.Conn, d packet.Document) (packet.Kind, packet.Answer) {
	t.Helper()
	f, err := packet.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := packet.Write(c, f); err != nil {
		t.Fatal(err)
	}
	return receive(t, c, f.ID)
}

func receive(t *testing.T, c net.Conn, id packet.ID) (packet.Kind, packet.Answer) {
	t.Helper()
	r, err := packet.Read(c, packet.MaxAnswer)
	if err != nil || r.ID != id {
		t.Fatalf("answer %x to %x: %v", r.ID, id, err)
	}
	a, err := packet.DecodeAnswer(r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Kind, a
}

// records reads the journal as any program can.
func (w *world) records(t *testing.T) (all []Record) {
	t.Helper()
	f, err := os.Open(filepath.Join(w.dir, "documents.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// A document is new, unchanged or updated; all versions of a URL have one UUID, also after a restart.
func TestOutcomes(t *testing.T) {
	w := start(t, Config{})
	c := w.dial(t)
	file := packet.Document{Kind: packet.File, URL: "http://b.example:8080/foto_vacas.jpg", Words: []string{"foto", "vacas"}, Size: 23552, Extension: "jpg"}
	touched := page("a.example", "1", "<p>one")
	touched.Modified = time.Unix(5, 0)
	for _, step := range []struct {
		doc  packet.Document
		want packet.Outcome
	}{
		{page("a.example", "1", "<p>one"), packet.New}, {touched, packet.Unchanged}, {file, packet.New}, {file, packet.Unchanged},
		{page("a.example", "1", "<p>two"), packet.Updated}, {page("a.example", "1", "<p>one"), packet.Updated},
	} {
		if kind, a := send(t, c, step.doc); kind != packet.Stored || a.Outcome != step.want {
			t.Errorf("%s: %d %+v, want %s", step.doc.URL, kind, a, step.want)
		}
	}
	all := w.records(t)
	if len(all) != 4 || all[0].UUID != all[2].UUID || all[0].UUID != all[3].UUID || all[0].UUID == all[1].UUID || all[0].UUID != "b89fb408-31c3-503c-a502-ce68a2bf4fdd" || all[0].HTML != "<p>one" || all[2].HTML != "<p>two" {
		t.Fatalf("%+v", all)
	}
	w.stop()
	<-w.ended
	again, err := OpenJournal(filepath.Join(w.dir, "documents.jsonl"), time.Now)
	if err != nil || again.Documents() != 2 {
		t.Fatal(err)
	}
	outcomes, err := again.Store(t.Context(), []packet.Document{page("a.example", "1", "<p>one"), page("a.example", "1", "x"), page("a.example", "1", "x"), file})
	if want := fmt.Sprint([]packet.Outcome{packet.Unchanged, packet.Updated, packet.Unchanged, packet.Unchanged}); err != nil || fmt.Sprint(outcomes) != want {
		t.Errorf("%v, %v", outcomes, err)
	}
}

// Many crawlers send at once, each many packets without waiting. Each document is stored once, and each
// host is once in the expiry directory.
func TestManyCrawlers(t *testing.T) {
	w := start(t, Config{MaxConnections: 4})
	const crawlers, docs = 12, 60
	var all sync.WaitGroup
	var created, unchanged atomic.Int64
	for i := range crawlers {
		all.Go(func() {
			c := w.dial(t)
			ids := map[packet.ID]bool{}
			go func() {
				for n := range docs {
					f, _ := packet.Encode(page(fmt.Sprintf("h%d.example", i/2), fmt.Sprint(n), "<p>same for both crawlers of a host"))
					_ = packet.Write(c, f)
				}
			}()
			for range docs {
				f, err := packet.Read(c, packet.MaxAnswer)
				if err != nil || f.Kind != packet.Stored {
					t.Errorf("%v %v", f.Kind, err)
					return
				}
				ids[f.ID] = true
				switch a, err := packet.DecodeAnswer(f); {
				case err != nil:
					t.Error(err)
				case a.Outcome == packet.New:
					created.Add(1)
				case a.Outcome == packet.Unchanged:
					unchanged.Add(1)
				}
			}
			if len(ids) != docs {
				t.Errorf("%d ids", len(ids))
			}
			_ = c.Close()
		})
	}
	all.Wait()
	if created.Load() != crawlers/2*docs || unchanged.Load() != crawlers/2*docs || len(w.records(t)) != crawlers/2*docs {
		t.Errorf("%d new, %d unchanged, %d stored", created.Load(), unchanged.Load(), len(w.records(t)))
	}
	if hosts := w.expiry.List(); len(hosts) != crawlers/2 || hosts[0] != (Host{"h0.example", 1000}) {
		t.Errorf("%v", hosts)
	}
}

// failing is a Sink that fails while told so.
type failing struct {
	Sink
	fails atomic.Bool
}

func (f *failing) Store(ctx context.Context, docs []packet.Document) ([]packet.Outcome, error) {
	if f.fails.Load() {
		return nil, errors.New("the disk is full")
	}
	return f.Sink.Store(ctx, docs)
}

func TestFailingSink(t *testing.T) {
	sink := &failing{}
	w := start(t, Config{Sink: sink})
	sink.Sink = w.journal
	sink.fails.Store(true)
	c := w.dial(t)
	if kind, a := send(t, c, page("a.example", "1", "x")); kind != packet.Failed || a.Error != "the disk is full" {
		t.Errorf("%d %+v", kind, a)
	}
	if len(w.expiry.List()) != 0 || len(w.records(t)) != 0 {
		t.Error("something was stored")
	}
	sink.fails.Store(false)
	if kind, a := send(t, c, page("a.example", "1", "x")); kind != packet.Stored || a.Outcome != packet.New {
		t.Errorf("%d %+v", kind, a)
	}
}

// Hostile clients get a refusal or the end of the connection; others are served in the meantime.
func TestHostileCrawlers(t *testing.T) {
	w := start(t, Config{PacketTime: time.Second, IdleTime: 1500 * time.Millisecond})
	frame := func(kind byte, payload string) string {
		return "0123456789abcdef" + string(kind) + "\x00\x00\x00" + string(byte(len(payload))) + payload
	}
	for name, c := range map[string]struct {
		text string
		want packet.Kind // 0: the connection ends
	}{
		"HTTP":           {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 0},
		"largest claim":  {"0123456789abcdef\x01\xff\xff\xff\xff", 0},
		"large and slow": {"0123456789abcdef\x01\x00\xf0\x00\x00x", 0},
		"slow header":    {"0123", 0},
		"silence":        {"", 0},
		"no JSON":        {frame(1, "hello"), packet.Refused},
		"other kind":     {frame(99, "{}"), packet.Refused},
		"file URL":       {frame(1, `{"url":"file:///etc/passwd"}`), packet.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := w.dial(t)
			if _, err := io.WriteString(conn, c.text); err != nil {
				t.Fatal(err)
			}
			f, err := packet.Read(conn, packet.MaxAnswer)
			if (c.want == 0) != (err != nil) || f.Kind != c.want {
				t.Errorf("%d, %v", f.Kind, err)
			}
			if kind, _ := send(t, w.dial(t), page("a.example", "x", "y")); kind != packet.Stored {
				t.Error(kind)
			}
		})
	}
	t.Run("takes no answers", func(t *testing.T) {
		t.Parallel()
		client, server := net.Pipe() // without the buffers of a socket
		ended := make(chan struct{})
		accepted, err := places.New(one{conn: server}, 1).Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() { defer close(ended); w.serveConnection(t.Context(), places.Of(accepted)) }()
		f, err := packet.Encode(page("b.example", "x", ""))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil { // until the store gives up
			err = packet.Write(client, f)
		}
		<-ended
	})
}

// one is a listener of one connection.
type one struct {
	net.Listener
	conn net.Conn
}

func (l one) Accept() (net.Conn, error) { return l.conn, nil }

// Silent and slow connections give their places to crawlers.
func TestIdleConnections(t *testing.T) {
	w := start(t, Config{MaxConnections: 4})
	for i := range 60 {
		c := w.dial(t)
		if i%2 == 0 {
			_, _ = c.Write([]byte{0, 0})
		}
		if i%20 == 19 {
			if kind, _ := send(t, w.dial(t), page("a.example", fmt.Sprint(i), "y")); kind != packet.Stored {
				t.Error(kind)
			}
		}
	}
}

// At the end, what has come is stored and answered.
func TestEnd(t *testing.T) {
	w := start(t, Config{})
	c := w.dial(t)
	send(t, c, page("a.example", "1", "x"))
	w.stop()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	if _, err := packet.Read(c, packet.MaxAnswer); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if len(w.records(t)) != 1 {
		t.Error("not stored")
	}
	if _, err := net.Dial("tcp", w.address); err == nil {
		t.Error("the port is open")
	}
	testwait.Until(t, "nothing runs", func() bool { return len(w.ended) == 0 })
}
