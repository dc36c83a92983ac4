package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/apps/archive/server"
	"hce/dc/internal/testkit/testrelay"
	"hce/dc/internal/testkit/testwait"
)

// told collects what an observer is told.
type told struct {
	mu   sync.Mutex
	tags []string
	last int64
}

func (o *told) take(list []archive.Commit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range list {
		o.tags = append(o.tags, c.CommitTag)
		o.last = c.Number
	}
	return nil
}

func (o *told) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.tags...)
}

func (o *told) position() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// observe runs an observer until stop, which returns its error.
func observe(t testing.TB, c *client.Client, after int64, o client.Observer) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Observe(ctx, after, o) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func (w *world) observers(t testing.TB, n int) []protocol.ObserverState {
	t.Helper()
	c := connect(t, w.server.URL(), nil)
	var list []protocol.ObserverState
	testwait.Until(t, fmt.Sprintf("%d observers are registered", n), func() bool {
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = s.Observers
		return len(list) == n
	})
	return list
}

// crawls stores n crawls and returns their tags.
func (w *world) crawls(t testing.TB, n int) (tags []string) {
	t.Helper()
	for range n {
		tags = append(tags, w.Crawl(t, "example.org", map[string]string{"/a.html": "x"}).CommitTag)
	}
	return tags
}

func wantTags(t testing.TB, o *told, want []string) {
	t.Helper()
	testwait.Until(t, "the observer is told", func() bool { return len(o.list()) >= len(want) })
	if got := o.list(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// A client is registered while it observes. Closing its observation or losing its connection removes it.
func TestRegistration(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	relay, err := testrelay.Start(w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	var one, two told
	stopOne := observe(t, connect(t, w.server.URL(), nil), 0, one.take)
	observe(t, connect(t, "http://"+relay.Address(), nil), 0, two.take)
	w.observers(t, 2)
	tags := w.crawls(t, 1)
	wantTags(t, &one, tags)
	wantTags(t, &two, tags)
	testwait.Until(t, "the positions are known", func() bool {
		list := w.observers(t, 2)
		return list[0].Position == 1 && list[1].Position == 1 && list[0].Since != "" && list[0].Address != list[1].Address
	})
	if err := stopOne(); !errors.Is(err, context.Canceled) {
		t.Errorf("end of the observer: %v", err)
	}
	w.observers(t, 1)
	relay.Cut()
	w.observers(t, 0)
	more := w.crawls(t, 2)
	relay.Mend()
	wantTags(t, &two, append(tags, more...))
	w.observers(t, 1)
}

// What happens while a client is away, or the server is down, is told later, once and in order.
func TestNoTagIsMissed(t *testing.T) {
	store := archivetest.New(t)
	w := start(t, store, nil)
	tags := w.crawls(t, 3)
	var o told
	stop := observe(t, connect(t, w.server.URL(), nil), 0, o.take)
	wantTags(t, &o, tags)
	_ = stop()
	tags = append(tags, w.crawls(t, 2)...)
	stop = observe(t, connect(t, w.server.URL(), nil), o.position(), o.take)
	wantTags(t, &o, tags)

	port := w.server.Addr()[strings.LastIndex(w.server.Addr(), ":")+1:]
	w.stop()
	tags = append(tags, w.crawls(t, 2)...)
	w = start(t, store, func(c *server.Config) { _, _ = fmt.Sscan(port, &c.Port) })
	wantTags(t, &o, tags)
	tags = append(tags, w.crawls(t, 1)...)
	wantTags(t, &o, tags)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An observer that is far behind gets everything from the store, in portions.
func TestFarBehind(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	var tags []string
	for i := range 5000 {
		tags = append(tags, w.Crawl(t, fmt.Sprintf("d%d.example", i%7), nil).CommitTag)
	}
	var o told
	observe(t, connect(t, w.server.URL(), nil), 0, o.take)
	wantTags(t, &o, tags)
	var late told
	observe(t, connect(t, w.server.URL(), nil), 4900, late.take)
	wantTags(t, &late, tags[4900:])
}

// From now on means without what was before.
func TestFromNow(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	w.crawls(t, 3)
	var o told
	c := connect(t, w.server.URL(), nil)
	testwait.Until(t, "the notifier has searched", func() bool { s, err := c.Status(t.Context()); return err == nil && s.Number == 3 && s.Searched != "" })
	observe(t, c, client.FromNow, o.take)
	w.observers(t, 1)
	wantTags(t, &o, w.crawls(t, 1))
}

// A position that the archive does not know ends the observation: it would miss commits.
func TestUnknownPosition(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	w.crawls(t, 2)
	err := connect(t, w.server.URL(), nil).Observe(t.Context(), 7, func([]archive.Commit) error { return nil })
	if !errors.Is(err, archive.ErrInvalid) || !strings.Contains(err.Error(), "number 7") {
		t.Errorf("%v", err)
	}
}

// An error of the observer ends its observation, and comes back.
func TestObserverFails(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	w.crawls(t, 1)
	full := errors.New("disk full")
	if err := connect(t, w.server.URL(), nil).Observe(t.Context(), 0, func([]archive.Commit) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	w.observers(t, 0)
}

// An observer that takes nothing is removed after the patience of the server, and delays nobody.
func TestSlowObserver(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Patience = 100 * time.Millisecond })
	for range 30000 { // more than the buffers of the kernel take
		w.Crawl(t, strings.Repeat("long.", 50)+"example", nil)
	}
	slow, err := net.Dial("tcp", w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_ = slow.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(slow, "GET /v1/observe?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	var o told
	observe(t, connect(t, w.server.URL(), nil), 29990, o.take)
	testwait.Until(t, "the other observer is told", func() bool { return len(o.list()) == 10 })
	w.observers(t, 1)
	w.crawls(t, 1)
	testwait.Until(t, "the other observer is told again", func() bool { return len(o.list()) == 11 })
}

// Without commits there is a sign of life, so that a lost connection is noticed.
func TestSignsOfLife(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Heartbeat = 5 * time.Millisecond })
	r, err := http.Get(w.server.URL() + "/v1/observe?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	alive := 0
	for lines := bufio.NewScanner(r.Body); alive < 3 && lines.Scan(); {
		if lines.Text() == ": alive" {
			alive++
		}
	}
	if alive < 3 {
		t.Errorf("%d signs of life", alive)
	}
}

// A client whose server gives no sign of life connects again.
func TestDeadServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	observe(t, connect(t, "http://"+l.Addr().String(), func(c *client.Config) { c.Patience = 50 * time.Millisecond }), 0, func([]archive.Commit) error { return nil })
	for range 2 {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nArchive-Kind: events\r\n\r\nevent: registered\nid: 0\ndata: {}\n\n")
	}
}

// Half of the connections are for observers.
func TestTooManyObservers(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Connections = 6 })
	var list [3]told
	for i := range list {
		observe(t, connect(t, w.server.URL(), nil), 0, list[i].take)
	}
	w.observers(t, 3)
	r, err := http.Get(w.server.URL() + "/v1/observe?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get(protocol.KindHeader) != "error" {
		t.Errorf("HTTP %s", r.Status)
	}
}

// The browser's own reconnection continues, too.
func TestLastEventID(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	w.crawls(t, 3)
	for header, want := range map[string]int{"2": 200, "x": 400, "-1": 400, "9": 400} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL()+"/v1/observe?after=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(protocol.LastEventID, header)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%s: HTTP %s", header, answer.Status)
		}
		if want == 200 {
			events := protocol.NewEventReader(answer.Body)
			if e, err := events.Next(); err != nil || e.Kind != protocol.Registered || e.ID != 2 {
				t.Errorf("%+v %v", e, err)
			}
			if e, err := events.Next(); err != nil || e.Kind != protocol.Changes || e.ID != 3 {
				t.Errorf("%+v %v", e, err)
			}
		}
		answer.Body.Close()
	}
}
