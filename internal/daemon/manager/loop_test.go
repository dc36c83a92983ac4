package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
)

// run runs the loop until the test ends or stop is called.
func run(t *testing.T, l *Loop) (stop func()) {
	t.Helper()
	ready := make(chan struct{})
	l.cfg.Ready = func() { close(ready) }
	return managertest.Run(t, l, ready)
}

// echo is a manager that answers client events of type 1 with their object.
func echo(b *bus.Bus, name string) *Loop {
	l := New(Config{Name: name, Bus: b, Log: managertest.Quiet()})
	l.Bind("in", bus.Inproc(name), bus.Options{})
	l.Handle("in", wire.ClassClient, 1, func(from Peer, e wire.Event) { l.Reply(from, e, 101, e.Object) })
	return l
}

func TestEachRequestHasOneAnswer(t *testing.T) {
	b := managertest.Bus(t)
	l := echo(b, "Echo")
	l.Handle("in", wire.ClassClient, 2, func(Peer, wire.Event) { panic("handler panic") })
	run(t, l)
	c := managertest.Call(t, b, bus.Inproc("Echo"))

	if e := c.Ask(wire.ClassClient, 1, "hello"); e.Type != 101 || string(e.Object) != `"hello"` {
		t.Errorf("answer %d %s", e.Type, e.Object)
	}
	c.Send(managertest.Event(t, wire.ClassClient, 2, nil)) // must not end the loop
	unknown := []struct {
		name, class string
		eventType   int
		answerType  int
	}{
		{"type", wire.ClassClient, 77, 177},
		{"class", wire.ClassInternal, 1, 101},
		{"admin", wire.ClassAdmin, wire.AdminStat, wire.AdminStateAns},
	}
	for _, tc := range unknown {
		t.Run("unknown "+tc.name, func(t *testing.T) {
			e := c.Ask(tc.class, tc.eventType, nil)
			if e.Type != tc.answerType || e.Class != tc.class || !strings.Contains(string(e.Object), "does not serve") {
				t.Errorf("answer %s %d %s", e.Class, e.Type, e.Object)
			}
		})
	}
}

// asker is a loop whose timer sends one request; the channel receives the outcome.
func asker(b *bus.Bus, endpoint string, timeout time.Duration) (*Loop, chan error) {
	l := New(Config{Name: "Asker", Bus: b, Log: managertest.Quiet()})
	l.Connect("out", endpoint, bus.Options{})
	outcome := make(chan error, 10)
	asked := false
	l.Every("ask", func() time.Duration { return time.Millisecond }, func(time.Time) {
		if asked {
			return
		}
		asked = true
		l.Ask(Peer{Socket: "out"}, wire.ClassClient, 1, "x", timeout, func(_ wire.Event, err error) { outcome <- err })
	})
	return l, outcome
}

// A message that is no event gets its answer also from a loop that stops.
func TestUnreadableRequestAtAStop(t *testing.T) {
	b := managertest.Bus(t)
	l := echo(b, "Echo")
	stopping, sent, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.OnStop(func() {
		close(stopping)
		<-sent
	})
	stop := run(t, l)
	c := managertest.Call(t, b, bus.Inproc("Echo"))
	go func() {
		stop()
		close(stopped)
	}()
	<-stopping
	e := managertest.Event(t, "nonsense", 1, nil)
	c.Send(e)
	close(sent)
	if answer := c.Recv(); answer.UID != e.UID || answer.Class != wire.ClassClient || !strings.Contains(string(answer.Object), "nonsense") {
		t.Errorf("answer %s %s", answer.Class, answer.Object)
	}
	<-stopped
}

func TestAsk(t *testing.T) {
	t.Run("answer", func(t *testing.T) {
		b := managertest.Bus(t)
		run(t, echo(b, "Echo"))
		l, outcome := asker(b, bus.Inproc("Echo"), managertest.Patience)
		run(t, l)
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		b := managertest.Bus(t)
		silent := echo(b, "Silent")
		silent.Handle("in", wire.ClassClient, 1, func(Peer, wire.Event) {})
		run(t, silent)
		l, outcome := asker(b, bus.Inproc("Silent"), 30*time.Millisecond)
		run(t, l)
		if err := <-outcome; !errors.Is(err, ErrNoAnswer) {
			t.Error(err)
		}
	})
	t.Run("too many pending", func(t *testing.T) {
		b := managertest.Bus(t)
		l, outcome := asker(b, bus.Inproc("Nobody"), managertest.Patience)
		l.pending.limit = 0
		run(t, l)
		if err := <-outcome; !errors.Is(err, bus.ErrBusy) {
			t.Error(err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		b := managertest.Bus(t)
		l, outcome := asker(b, bus.Inproc("Nobody"), managertest.Patience)
		asked := make(chan struct{})
		l.Every("after", func() time.Duration { return time.Hour }, func(time.Time) { close(asked) })
		stop := run(t, l)
		<-asked
		stop()
		if err := <-outcome; !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		if len(outcome) != 0 {
			t.Error("the callback ran twice")
		}
	})
}

// Timers run under steady traffic (docs/spec/daemon.md F10).
func TestTimersUnderTraffic(t *testing.T) {
	b := managertest.Bus(t)
	l := echo(b, "Echo")
	ticks, got := 0, make(chan int, 1)
	l.Every("tick", func() time.Duration { return time.Millisecond }, func(time.Time) {
		if ticks++; ticks == 50 {
			got <- int(l.byName["in"].recvCount)
		}
	})
	run(t, l)
	c := managertest.Call(t, b, bus.Inproc("Echo"))
	// Keep more messages waiting than one turn takes.
	for range 4 * maxPerSocket {
		c.Send(managertest.Event(t, wire.ClassClient, 1, nil))
	}
	for end := time.Now().Add(managertest.Patience); ; {
		select {
		case n := <-got:
			if n == 0 {
				t.Error("no message arrived before the timer ran")
			}
			return
		default:
			if time.Now().After(end) {
				t.Fatal("the timer did not run")
			}
			c.Recv()
			c.Send(managertest.Event(t, wire.ClassClient, 1, nil))
		}
	}
}

func TestTimerClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	period, runs := time.Minute, 0
	l := New(Config{Name: "T", Log: managertest.Quiet(), Now: func() time.Time { return now }})
	l.Every("job", func() time.Duration { return period }, func(time.Time) { runs++ })
	steps := []struct {
		name   string
		before func()
		runs   int
	}{
		{"at the start", func() {}, 1},
		{"second check at the same time", func() {}, 1},
		{"before the period", func() { now = now.Add(59 * time.Second) }, 1},
		{"after the period", func() { now = now.Add(time.Second) }, 2},
		{"late", func() { now = now.Add(10 * time.Minute) }, 3},
		{"kicked", func() { l.Kick("job") }, 4},
		{"off", func() { period = 0; now = now.Add(time.Hour) }, 4},
		{"kicked while off", func() { l.Kick("job") }, 4},
		{"on again", func() { period = time.Minute }, 5},
		{"suspended", func() { l.Suspend(true); now = now.Add(time.Hour) }, 5},
		{"resumed", func() { l.Suspend(false) }, 6},
		{"clock set back", func() { now = now.Add(-24 * time.Hour) }, 6},
	}
	for _, s := range steps {
		s.before()
		l.runTimers(now)
		if runs != s.runs {
			t.Errorf("%s: %d runs, want %d", s.name, runs, s.runs)
		}
	}
	if d := l.timers.untilTimer(now, l.Suspended()); d <= 0 || d > maxWait {
		t.Errorf("wait of %v", d)
	}
}

func TestWorkers(t *testing.T) {
	b := managertest.Bus(t)
	l := New(Config{Name: "Boss", Bus: b, Log: managertest.Quiet(), MaxWorkers: 2})
	type outcome struct {
		value string
		err   error
	}
	outcomes, overflow := make(chan outcome, 3), make(chan error, 1)
	done := func(value string, err error) { outcomes <- outcome{value, err} }
	l.Every("start", func() time.Duration { return time.Hour }, func(time.Time) {
		Work(l, func(context.Context) (string, error) { return "fine", nil }, done)
		Work(l, func(context.Context) (string, error) { panic("worker panic") }, done)
		l.Go(func(context.Context) error { return nil }, func(err error) { overflow <- err })
	})
	stop := run(t, l)
	if err := <-overflow; !errors.Is(err, bus.ErrBusy) {
		t.Errorf("worker above MaxWorkers: %v", err)
	}
	var fine, failed int
	for range 2 {
		switch o := <-outcomes; {
		case o.err == nil && o.value == "fine":
			fine++
		case o.err != nil && o.value == "" && strings.Contains(o.err.Error(), "worker panic"):
			failed++
		default:
			t.Errorf("outcome %+v", o)
		}
	}
	if fine != 1 || failed != 1 {
		t.Errorf("%d fine, %d failed", fine, failed)
	}
	stop()
}

// Run cancels its workers and returns after the last one.
func TestWorkersAreJoined(t *testing.T) {
	b := managertest.Bus(t)
	l := New(Config{Name: "Boss", Bus: b, Log: managertest.Quiet()})
	running, ended := make(chan struct{}), false
	l.Every("start", func() time.Duration { return time.Hour }, func(time.Time) {
		l.Go(func(ctx context.Context) error {
			close(running)
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}, func(error) {})
	})
	stop := run(t, l)
	<-running
	stop()
	if !ended {
		t.Error("the worker is still running")
	}
}

func TestOperator(t *testing.T) {
	b := managertest.Bus(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Sites_stat_vars.json"), []byte(`{"served": 40, "old": 1, "seen": {"a.b": 7}, "broken": "x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	admin, err := b.Bind(bus.Inproc("Admin"), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)

	var served, maxURLs int64 = 0, 5
	period, mode, text := 20*time.Second, true, "a"
	l := New(Config{Name: "Sites", Bus: b, Admin: bus.Inproc("Admin"), StatDir: folder, Log: managertest.Quiet()})
	l.Counter("served", &served)
	var seen, unseen counting.Tally
	l.Tally("seen", &seen)
	l.Tally("unseen", &unseen)
	var broken int64
	l.Counter("broken", &broken)
	l.Var(
		Int("MaxURLs", &maxURLs, 1, 100), Span("Period", &period, time.Second, 0, time.Hour),
		Switch("Mode", &mode), Text("Text", &text, func(s string) error {
			if s == "bad" {
				return errors.New("is bad")
			}
			return nil
		}), Program("Fixed", "fixed"),
	)
	done := make(chan error, 1)
	l.OnStop(func() { served++ })
	go func() { done <- l.Run(context.Background()) }()

	poll := bus.NewPoller(admin)
	recv := func() bus.Message {
		t.Helper()
		for end := time.Now().Add(managertest.Patience); time.Now().Before(end); {
			if _, err := poll.Wait(100 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if m, err := admin.Recv(); err == nil {
				return m
			}
		}
		t.Fatal("no message")
		return bus.Message{}
	}
	hello := recv()
	if c := managertest.Object[wire.AdminCommand](t, hello.Event); hello.Event.Type != wire.InternalReady || c.ClassName != "Sites" {
		t.Fatalf("registration %+v", hello.Event)
	}
	ask := func(eventType int, object any) wire.Event {
		t.Helper()
		e := managertest.Event(t, wire.ClassAdmin, eventType, object)
		if _, err := admin.Send(hello.Route, e); err != nil {
			t.Fatal(err)
		}
		m := recv()
		if m.Event.UID != e.UID {
			t.Fatalf("answer has uid %s, request has %s", m.Event.UID, e.UID)
		}
		return m.Event
	}
	fields := func(m map[string]any) wire.AdminFields { return wire.AdminFields{ClassName: "Sites", Fields: m} }

	t.Run("STAT", func(t *testing.T) {
		all := managertest.Object[wire.AdminFields](t, ask(wire.AdminStat, fields(nil))).Fields
		for _, name := range []string{"START_DATE", "RAMV", "RAMR", "CPUU", "CPUS", "THREADS", "Admin_send_cnt", "Admin_recv_bytes"} {
			if all[name] == nil {
				t.Errorf("no %s", name)
			}
		}
		if fmt.Sprint(all["seen"], all["unseen"], all["broken"]) != "map[a.b:7] map[] 0" {
			t.Errorf("seen %v, unseen %v, broken %v", all["seen"], all["unseen"], all["broken"])
		}
		if all["served"] != 40.0 {
			t.Errorf("served %v, want the saved 40", all["served"])
		}
		some := managertest.Object[wire.AdminFields](t, ask(wire.AdminStat, fields(map[string]any{"served": nil, "no such": nil}))).Fields
		if v, ok := some["no such"]; some["served"] != 40.0 || !ok || v != nil || some["START_DATE"] != nil {
			t.Errorf("fields %v", some)
		}
	})
	t.Run("GET", func(t *testing.T) {
		got := managertest.Object[wire.AdminFields](t, ask(wire.AdminGet, fields(map[string]any{"Period": "", "Mode": "", "none": ""}))).Fields
		if got["Period"] != 20.0 || got["Mode"] != 1.0 || got["none"] != nil {
			t.Errorf("fields %v", got)
		}
		if all := managertest.Object[wire.AdminFields](t, ask(wire.AdminGet, fields(map[string]any{"*": ""}))).Fields; len(all) != 7 {
			t.Errorf("%d variables: %v", len(all), all)
		}
	})
	sets := []struct {
		name, variable string
		to, want       any
	}{
		{"number", "MaxURLs", 7, 7.0},
		{"number as text", "MaxURLs", "8", 8.0},
		{"word for a number", "MaxURLs", "many", nil},
		{"fraction", "MaxURLs", 1.5, nil},
		{"out of range", "MaxURLs", 101, nil},
		{"null", "MaxURLs", nil, nil},
		{"huge", "MaxURLs", 1e300, nil},
		{"list", "MaxURLs", []int{1}, nil},
		{"span", "Period", 0, 0.0},
		{"span out of range", "Period", 3601, nil},
		{"switch", "Mode", "0", 0.0},
		{"switch by bool", "Mode", true, 1.0},
		{"switch out of range", "Mode", 2, nil},
		{"text", "Text", "a:b,c", "a:b,c"},
		{"text refused", "Text", "bad", nil},
		{"number for a text", "Text", 5, nil},
		{"fixed", "Fixed", 5, nil},
		{"unknown", "Nothing", 5, nil},
		{"log level", "LOG_LEVEL", 10, 10.0},
		{"log level unknown", "LOG_LEVEL", 15, nil},
		{"poll timeout", "POLL_TIMEOUT", 50, 50.0},
	}
	for _, tc := range sets {
		t.Run("SET "+tc.name, func(t *testing.T) {
			got := managertest.Object[wire.AdminFields](t, ask(wire.AdminSet, fields(map[string]any{tc.variable: tc.to})))
			if got.Fields[tc.variable] != tc.want || (got.Errors[tc.variable] != "") != (tc.want == nil) {
				t.Errorf("answer %+v", got)
			}
		})
	}
	t.Run("SUSPEND", func(t *testing.T) {
		got := managertest.Object[wire.GeneralResponse](t, ask(wire.AdminSuspend, Suspension{SuspendType: 0}))
		if len(got.Statuses) != 1 || got.Statuses[0] != "suspended" {
			t.Errorf("answer %+v", got)
		}
		if e := ask(wire.AdminSuspend, nil); e.Type != wire.AdminStateAns {
			t.Errorf("answer to an empty request: %d %s", e.Type, e.Object)
		}
	})
	t.Run("STATE", func(t *testing.T) {
		for _, wrong := range []any{nil, 5, wire.AdminCommand{ClassName: "Other", Command: 2}, wire.AdminCommand{ClassName: "Sites", Command: 1}} {
			if c := managertest.Object[wire.AdminCommand](t, ask(wire.AdminState, wrong)); c.Command != wire.CommandError {
				t.Errorf("answer to %v: %+v", wrong, c)
			}
		}
		c := managertest.Object[wire.AdminCommand](t, ask(wire.AdminState, wire.AdminCommand{ClassName: "Sites", Command: wire.CommandShutdown}))
		if c.ClassName != "Sites" || c.Command != wire.CommandShutdown {
			t.Errorf("answer %+v", c)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		saved, err := os.ReadFile(filepath.Join(folder, "Sites_stat_vars.json"))
		if err != nil || !strings.Contains(string(saved), `"served": 41`) || !strings.Contains(string(saved), `"a.b": 7`) {
			t.Errorf("saved %s, %v", saved, err)
		}
	})
}

// The counters of a manager are written when one of them has changed that is not quiet, and at the
// end. So an idle manager writes nothing.
func TestCountersAreWrittenWhenTheyChanged(t *testing.T) {
	folder := t.TempDir()
	l := New(Config{Name: "M", Bus: managertest.Bus(t), StatDir: folder, Log: managertest.Quiet()})
	l.Bind("in", bus.Inproc("M"), bus.Options{})
	var pages, looks int64
	l.Counter("pages", &pages)
	l.Counter("looks", &looks)
	l.Quiet("in", "looks")
	l.loadStats()
	written := func() bool {
		t.Helper()
		l.timers.findTimer("save statistics").do(l.Now())
		err := os.Remove(l.statFile())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, step := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"nothing has changed", func() {}, false},
		{"quiet counters", func() { looks++; l.byName["in"].recvCount++; l.byName[Workers].recvBytes += 5 }, false},
		{"a counter", func() { pages++ }, true},
		{"nothing more", func() {}, false},
		{"a quiet counter that matters", func() { looks++; l.Changed() }, true},
		{"nothing more again", func() {}, false},
	} {
		if step.change(); written() != step.want {
			t.Errorf("%s: written %v", step.name, !step.want)
		}
	}
}

// STAT shows the last and the next run of each schedule.
func TestSchedules(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	period := time.Minute
	l := New(Config{Name: "Clock", Bus: managertest.Bus(t), Log: managertest.Quiet(), Now: func() time.Time { return now }})
	l.Every("work", func() time.Duration { return period }, func(time.Time) {})
	l.Maintain("ends", func() time.Duration { return time.Second }, func(time.Time) {})
	shows := func(want string) {
		t.Helper()
		got, err := json.Marshal(l.stats.selectValues(map[string]any{"schedules": nil})["schedules"])
		if err != nil || string(got) != `{"work":`+want+`}` {
			t.Errorf("schedules %s, %v, want %s", got, err, want)
		}
	}
	shows(`{"periodSeconds":60,"last":null,"next":"2026-01-02 03:04:05"}`)
	l.runTimers(now)
	now = now.Add(10 * time.Second)
	shows(`{"periodSeconds":60,"last":"2026-01-02 03:04:05","next":"2026-01-02 03:05:05"}`)
	l.Suspend(true)
	shows(`{"periodSeconds":60,"last":"2026-01-02 03:04:05","next":null}`)
	l.Suspend(false)
	period = 0
	shows(`{"periodSeconds":0,"last":"2026-01-02 03:04:05","next":null}`)
	period = time.Minute
	l.Kick("work")
	shows(`{"periodSeconds":60,"last":"2026-01-02 03:04:05","next":"2026-01-02 03:04:15"}`)
}

// A loop without work sleeps for a minute at a time, and the end of its context wakes it.
func TestIdleLoopSleeps(t *testing.T) {
	b := managertest.Bus(t)
	ready := make(chan struct{})
	l := New(Config{Name: "Idle", Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }})
	busy := false
	l.Maintain("queue", func() time.Duration {
		if busy {
			return time.Second
		}
		return 0
	}, func(time.Time) {})
	now := l.Now()
	l.runTimers(now)
	if d := l.sleepDeadline(now); d != maxWait {
		t.Errorf("an idle loop waits %v, want %v", d, maxWait)
	}
	busy = true
	l.runTimers(now)
	if d := l.sleepDeadline(now); d != time.Second {
		t.Errorf("a busy loop waits %v, want a second", d)
	}
	busy = false
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	<-ready
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(managertest.Patience):
		t.Fatal("the loop did not notice the end of its context")
	}
}

// A manager that fails ends with its error.
func TestFail(t *testing.T) {
	b := managertest.Bus(t)
	fault := errors.New("another process took over")
	l := echo(b, "Failing")
	l.Maintain("fail", func() time.Duration { return time.Second }, func(time.Time) { l.Fail(fault) })
	if err := l.Run(t.Context()); !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}
