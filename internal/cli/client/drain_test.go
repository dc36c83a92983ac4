package client

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// testCluster is a real AdminInterfaceServer and managers with unfinished work.
type testCluster struct {
	t      *testing.T
	b      *bus.Bus
	server Server
	caller *managertest.Caller
	stops  atomic.Int64
	work   map[string]*atomic.Int64
}

func newCluster(t *testing.T, gauges map[string]string) *testCluster {
	t.Helper()
	p := &testCluster{t: t, b: managertest.Bus(t), work: map[string]*atomic.Int64{}}
	ready, endpoint := make(chan struct{}), ""
	var s *admin.Server
	s = admin.New(manager.Config{Bus: p.b, Log: managertest.Quiet(), Ready: func() { endpoint = s.Addr(); close(ready) }},
		admin.Config{Port: -1, Timeout: managertest.Patience, Stop: func() { p.stops.Add(1) }})
	managertest.Run(t, s, ready)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(port)
	p.server = Server{Host: "127.0.0.1", Port: n, Timeout: managertest.Patience}
	p.caller = managertest.Call(t, p.b, endpoint)
	for class, gauge := range gauges {
		left := new(atomic.Int64)
		p.work[class] = left
		ready := make(chan struct{})
		l := manager.New(manager.Config{Name: class, Bus: p.b, Admin: admin.Endpoint, Log: managertest.Quiet(), Ready: func() { close(ready) }})
		l.Gauge(gauge, func() any { return left.Load() })
		managertest.Run(t, l, ready)
	}
	testwait.Until(t, "all managers are registered", func() bool {
		list, _ := p.stat("AdminInterfaceServer")["clients"].([]any)
		return len(list) == len(gauges)
	})
	return p
}

func (p *testCluster) stat(class string) map[string]any {
	e := p.caller.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: class})
	return managertest.Object[wire.AdminFields](p.t, e).Fields
}

// stopped waits for the number of stop requests: the daemon answers before it stops.
func (p *testCluster) stopped(times int64) {
	p.t.Helper()
	testwait.Until(p.t, "the daemon is requested to stop", func() bool { return p.stops.Load() >= times })
	if n := p.stops.Load(); n != times {
		p.t.Errorf("%d stop requests, want %d", n, times)
	}
}

func (p *testCluster) states(classes ...string) string {
	var all []string
	for _, class := range classes {
		all = append(all, fmt.Sprint(p.stat(class)["state"]))
	}
	return strings.Join(all, " ")
}

// clusterGauges has a gauge of each manager. No drain waits for that of Extra.
var clusterGauges = map[string]string{"Crawl": "batches_crawl_queue", "Process": "batches_process_queue", "Extra": "requests"}

func (p *testCluster) drain() Drain {
	p.work["Crawl"].Store(2)
	p.work["Process"].Store(1)
	p.work["Extra"].Store(7)
	return Drain{Server: p.server, Stop: []string{"Crawl", "Process", "Extra", "AdminInterfaceServer"}, Limit: time.Hour, Every: time.Millisecond}
}

// The daemon stops after the last work has ended, not before.
func TestDrain(t *testing.T) {
	p := newCluster(t, clusterGauges)
	d := p.drain()
	var seen []string
	d.Progress = func(r Remaining) {
		seen = append(seen, strings.SplitN(r.String(), ": ", 2)[1])
		if p.stops.Load() != 0 {
			t.Error("the daemon stops while work is left")
		}
		if got := p.states("Crawl", "Process", "Extra"); got != "suspended suspended suspended" {
			t.Errorf("while it drains: %s", got)
		}
		for _, class := range []string{"Crawl", "Process"} { // end one batch
			if p.work[class].Load() > 0 {
				p.work[class].Add(-1)
				return
			}
		}
	}
	out := d.Do(t.Context())
	want := []string{
		"Crawl batches_crawl_queue 2, Extra 0, Process batches_process_queue 1",
		"Crawl batches_crawl_queue 1, Extra 0, Process batches_process_queue 1",
		"Crawl 0, Extra 0, Process batches_process_queue 1",
		"Crawl 0, Extra 0, Process 0",
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("seen %q", seen)
	}
	p.stopped(1)
	if out.Exit != command.ExitDone || strings.Count(string(text(t, out)), `"command": 2`) != 4 {
		t.Errorf("exit %d, %s", out.Exit, text(t, out))
	}
}

// A failed drain leaves the managers in their earlier states.
func TestDrainFails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Drain, context.CancelFunc)
		exit   int
		words  string
		stops  int64
		states string
	}{
		"at the limit":  {func(d *Drain, _ context.CancelFunc) { d.Limit = time.Millisecond }, 1, "not in time, after", 0, "running running suspended"},
		"at the signal": {func(d *Drain, cancel context.CancelFunc) { d.Progress = func(Remaining) { cancel() } }, 4, "Crawl batches_crawl_queue 2", 0, "running running suspended"},
		"force":         {func(d *Drain, _ context.CancelFunc) { d.Limit, d.Force = time.Millisecond, true }, 0, `"command": 2`, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCluster(t, clusterGauges)
			p.caller.Ask(wire.ClassAdmin, wire.AdminSuspend, manager.Suspension{Classes: []string{"Extra"}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := p.drain()
			c.change(&d, cancel)
			out := d.Do(ctx)
			p.stopped(c.stops)
			if out.Exit != c.exit || !strings.Contains(string(text(t, out)), c.words) {
				t.Errorf("exit %d, %s", out.Exit, text(t, out))
			}
			if c.states != "" && p.states("Crawl", "Process", "Extra") != c.states {
				t.Errorf("left %s", p.states("Crawl", "Process", "Extra"))
			}
		})
	}
	t.Run("no daemon", func(t *testing.T) {
		out := Drain{Server: Server{Host: "127.0.0.1", Port: 1, Timeout: 24 * time.Hour}, Limit: time.Hour}.Do(t.Context())
		if out.Exit != command.ExitFailed || !strings.Contains(string(text(t, out)), "cannot reach the daemon at 127.0.0.1:1") {
			t.Errorf("exit %d %s", out.Exit, text(t, out))
		}
	})
}

// A drain waits for the answer of every manager.
func TestDrainNeedsEveryManager(t *testing.T) {
	var once sync.Once
	silent := true
	server := daemon(t, func(e wire.Event) []wire.Event {
		switch {
		case e.Type == wire.AdminSuspend:
			return []wire.Event{reply(e, wire.AdminSuspendAns, `{"errorCode":0,"errorMessage":"","statuses":[]}`)}
		case e.Type == wire.AdminState:
			return []wire.Event{reply(e, wire.AdminStateAns, string(e.Object))}
		case strings.Contains(string(e.Object), "clients"):
			return []wire.Event{reply(e, wire.AdminStatAns, `{"className":"AdminInterfaceServer","fields":{"clients":["A"]}}`)}
		case strings.Contains(string(e.Object), "batches") && silent:
			once.Do(func() { silent = false })
			return []wire.Event{reply(e, wire.AdminStateAns, `{"className":"A","command":7,"errorMessage":"class A gave no answer"}`)}
		}
		return []wire.Event{reply(e, wire.AdminStatAns, `{"className":"A","fields":{"batches_crawl_queue":null}}`)}
	})
	var seen []string
	d := Drain{Server: server, Stop: []string{"A"}, Limit: time.Hour, Every: time.Millisecond, Progress: func(r Remaining) { seen = append(seen, r.String()) }}
	if out := d.Do(t.Context()); out.Exit != command.ExitDone {
		t.Errorf("exit %d %s", out.Exit, text(t, out))
	}
	if len(seen) != 2 || !strings.Contains(seen[0], "class A gave no answer") || !strings.HasSuffix(seen[1], "A 0") {
		t.Errorf("seen %q", seen)
	}
}
