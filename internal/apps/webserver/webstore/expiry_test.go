package webstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

func directory(t *testing.T, path string) *Expiry {
	t.Helper()
	e, err := OpenExpiry(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.file.Close() })
	return e
}

func TestExpiry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expiry")
	e := directory(t, path)
	for i, hosts := range [][]string{{"b:8080", "a", "b:8080", ""}, {"a"}, {"a"}} {
		if err := e.Touch(time.Unix(int64(1000+i/2*60), 0), hosts...); err != nil {
			t.Fatal(err)
		}
	}
	want := []Host{{"b:8080", 1000}, {"a", 1060}}
	if got := e.List(); !slices.Equal(got, want) || e.file.Lines() != 3 {
		t.Errorf("%v, %d lines", got, e.file.Lines())
	}
	if got := directory(t, path).List(); !slices.Equal(got, want) {
		t.Errorf("after a kill: %v", got)
	}
	for now, want := range map[int64]string{1540: "[]", 1541: "[b:8080]", 1600: "[b:8080]", 1601: "[b:8080 a]"} {
		if got := fmt.Sprint(e.Due(time.Unix(now, 0), 9*time.Minute)); got != want {
			t.Errorf("due at %d: %s, want %s", now, got, want)
		}
	}
}

func TestExpiryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expiry")
	e := directory(t, path)
	for i := range 600 {
		if err := e.Touch(time.Unix(int64(i), 0), "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	if n := e.file.Lines(); n > 1010 {
		t.Errorf("%d lines for two hosts", n)
	}
	if got := directory(t, path).List(); !slices.Equal(got, []Host{{"a", 599}, {"b", 599}}) {
		t.Error(got)
	}
	for i := range maxHosts {
		e.hosts[fmt.Sprint(i)] = 1
	}
	if err := e.Touch(time.Unix(9999, 0), "new", "a"); !errors.Is(err, ErrFull) || e.hosts["a"] != 9999 || e.hosts["new"] != 0 {
		t.Errorf("%v, a %d", err, e.hosts["a"])
	}
}

// ports are crawler ports that count their requests by address.
type ports struct {
	mu    sync.Mutex
	asked []string
}

func (p *ports) dial(_ context.Context, _, address string) (net.Conn, error) {
	if address == "down:81" {
		return nil, errors.New("connection refused")
	}
	p.mu.Lock()
	p.asked = append(p.asked, address)
	p.mu.Unlock()
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		if handshake.Valid(server) {
			_, _ = io.WriteString(server, handshake.OK)
		}
	}()
	return client, nil
}

func (p *ports) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	slices.Sort(asked)
	return asked
}

// The first server is asked when crawling begins, each host when its time is old, and then its time is
// now, also if the host does not answer.
func TestSchedule(t *testing.T) {
	e := directory(t, filepath.Join(t.TempDir(), "expiry"))
	var p ports
	var log testlog.Recorder
	var now atomic.Int64
	now.Store(1000)
	s := Schedule{
		First: "first:8080", Period: 5 * time.Millisecond, Age: 9 * time.Minute, PortStep: 1, Dial: p.dial, Expiry: e,
		Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return time.Unix(now.Load(), 0) },
	}
	begin, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); s.Run(ctx, begin) }()
	if err := e.Touch(time.Unix(400, 0), "old", "down"); err != nil {
		t.Fatal(err)
	}
	if got := p.take(); got != nil {
		t.Errorf("before the begin: %q", got)
	}
	begin <- struct{}{}
	begin <- struct{}{} // returns after the first round
	testwait.Until(t, "the first server is asked twice", func() bool { return log.Count("crawling begins") == 2 && log.Count("host=first:8080") == 2 })
	if got, want := p.take(), []string{"first:8081", "first:8081", "old:81"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if log.Count("WARN", "host=down") != 1 {
		t.Error(log.String())
	}
	now.Store(1000 + 9*60)
	before := e.List()
	if len(before) != 3 || before[0].Time != 1000 || before[2].Time != 1000 {
		t.Errorf("%v", before)
	}
	now.Store(1000 + 9*60 + 1)
	testwait.Until(t, "all hosts are asked by the timer", func() bool {
		return !slices.ContainsFunc(e.List(), func(h Host) bool { return h.Time == 1000 })
	})
	if got, want := p.take(), []string{"first:8081", "old:81"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	cancel()
	<-ended
}
