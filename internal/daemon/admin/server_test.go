package admin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// house is a server and its managers.
type house struct {
	t        *testing.T
	b        *bus.Bus
	operator *managertest.Caller
	stops    chan struct{}
}

func newHouse(t *testing.T, cfg Config) *house {
	t.Helper()
	h := &house{t: t, b: managertest.Bus(t), stops: make(chan struct{}, 10)}
	cfg.Port, cfg.Stop = -1, func() { h.stops <- struct{}{} }
	ready, endpoint := make(chan struct{}), ""
	var s *Server
	s = New(manager.Config{Bus: h.b, Log: managertest.Quiet(), Ready: func() { endpoint = s.Addr(); close(ready) }}, cfg)
	managertest.Run(t, s, ready)
	h.operator = managertest.Call(t, h.b, endpoint)
	return h
}

// add runs a manager and waits until it is registered.
func (h *house) add(name string, declare func(*manager.Loop)) (stop func()) {
	h.t.Helper()
	ready := make(chan struct{})
	l := manager.New(manager.Config{Name: name, Bus: h.b, Admin: Endpoint, Log: managertest.Quiet(), Ready: func() { close(ready) }})
	declare(l)
	stop = managertest.Run(h.t, l, ready)
	for end := time.Now().Add(managertest.Patience); !strings.Contains(h.clients(), name); {
		if time.Now().After(end) {
			h.t.Fatalf("%s is not registered", name)
		}
	}
	return stop
}

func (h *house) clients() string {
	e := h.operator.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: Name, Fields: map[string]any{"clients": nil}})
	return string(e.Object)
}

// refused sends a request and expects an error with these words.
func (h *house) refused(eventType int, object any, words string) {
	h.t.Helper()
	e := h.operator.Ask(wire.ClassAdmin, eventType, object)
	c := managertest.Object[wire.AdminCommand](h.t, e)
	if e.Type != wire.AdminStateAns || c.Command != wire.CommandError || !strings.Contains(c.Message, words) {
		h.t.Errorf("answer to %d %v: %d %s", eventType, object, e.Type, e.Object)
	}
}

func fields(class string) wire.AdminFields { return wire.AdminFields{ClassName: class} }

func TestForwarding(t *testing.T) {
	h := newHouse(t, Config{Version: "3.1"})
	n := int64(5)
	h.add("Sites", func(l *manager.Loop) { l.Var(manager.Int("N", &n, 1, 10)) })

	own := managertest.Object[wire.AdminFields](t, h.operator.Ask(wire.ClassAdmin, wire.AdminStat, fields(Name))).Fields
	if own["VERSION"] != "3.1" || own["Admin_recv_cnt"] == nil || own["127.0.0.1_recv_cnt"] == nil {
		t.Errorf("own STAT %v", own)
	}
	e := h.operator.Ask(wire.ClassAdmin, wire.AdminStat, fields("Sites"))
	if got := managertest.Object[wire.AdminFields](t, e); e.Type != wire.AdminStatAns || got.ClassName != "Sites" || got.Fields["START_DATE"] == nil {
		t.Errorf("STAT %d %s", e.Type, e.Object)
	}
	e = h.operator.Ask(wire.ClassAdmin, wire.AdminSet, wire.AdminFields{ClassName: "Sites", Fields: map[string]any{"N": 7}})
	if got := managertest.Object[wire.AdminFields](t, e); e.Type != wire.AdminSetAns || got.Fields["N"] != 7.0 {
		t.Errorf("SET %d %s", e.Type, e.Object)
	}
	e = h.operator.Ask(wire.ClassAdmin, wire.AdminGet, fields("Sites"))
	if got := managertest.Object[wire.AdminFields](t, e); e.Type != wire.AdminGetAns || got.Fields["N"] != 7.0 {
		t.Errorf("GET %d %s", e.Type, e.Object)
	}
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, Config{Timeout: 20 * time.Millisecond})
	h.add("Deaf", func(l *manager.Loop) {
		l.Handle(manager.AdminSocket, wire.ClassAdmin, wire.AdminGet, func(manager.Peer, wire.Event) {})
	})
	stop := h.add("Gone", func(*manager.Loop) {})
	stop()

	h.refused(wire.AdminStat, fields("Nobody"), "unknown")
	h.refused(wire.AdminStat, fields(""), "unknown")
	h.refused(wire.AdminStat, nil, "no className")
	h.refused(wire.AdminStat, []int{1}, "no className")
	h.refused(wire.AdminGet, fields("Deaf"), "no answer within 20 ms")
	// A disconnect is seen with a delay.
	last := ""
	for end := time.Now().Add(managertest.Patience); !strings.Contains(last, "stopped") && time.Now().Before(end); {
		last = string(h.operator.Ask(wire.ClassAdmin, wire.AdminGet, fields("Gone")).Object)
	}
	if !strings.Contains(last, "stopped") {
		t.Errorf("stopped class: %s", last)
	}
	h.refused(wire.AdminGet, fields("Gone"), "unknown")
	h.refused(1028, nil, "SYSTEM is not served")
	h.refused(1029, nil, "SQL_CUSTOM is not served")
	h.refused(1040, nil, "does not serve")
	h.refused(-1, nil, "does not serve")
	h.refused(wire.AdminState, wire.AdminCommand{ClassName: Name, Command: 5}, "only command 2")
	h.refused(wire.AdminSuspend, nil, "suspendType")
	if e := h.operator.Ask(wire.ClassClient, 1, nil); !strings.Contains(string(e.Object), "does not serve") {
		t.Errorf("class client: %s", e.Object)
	}
	if len(h.stops) != 0 {
		t.Error("the daemon was stopped")
	}
}

func TestSuspend(t *testing.T) {
	h := newHouse(t, Config{Timeout: 50 * time.Millisecond})
	ask := func(suspendType int) wire.GeneralResponse {
		t.Helper()
		e := h.operator.Ask(wire.ClassAdmin, wire.AdminSuspend, manager.Suspension{SuspendType: suspendType})
		if e.Type != wire.AdminSuspendAns {
			t.Fatalf("answer %d %s", e.Type, e.Object)
		}
		return managertest.Object[wire.GeneralResponse](t, e)
	}
	shown := func(g wire.GeneralResponse) string {
		b, _ := json.Marshal(g.Statuses)
		return string(b)
	}
	if g := ask(0); g.ErrorCode != 0 || shown(g) != "[]" {
		t.Errorf("no manager: %+v", g)
	}
	h.add("A", func(*manager.Loop) {})
	h.add("B", func(*manager.Loop) {})
	if g := ask(0); g.ErrorCode != 0 || shown(g) != `[{"A":"suspended"},{"B":"suspended"}]` {
		t.Errorf("two managers: %+v", g)
	}
	t.Run("by class", func(t *testing.T) {
		state := func(class string) any {
			e := h.operator.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: class, Fields: map[string]any{"state": nil}})
			return managertest.Object[wire.AdminFields](t, e).Fields["state"]
		}
		for _, c := range []struct {
			kind    int
			classes []string
			code    int
			want    string
			a, b    string
		}{
			{1, nil, 0, `[{"A":"running"},{"B":"running"}]`, "running", "running"},
			{0, []string{"B"}, 0, `[{"B":"suspended"}]`, "running", "suspended"},
			{0, []string{"B", "A", "B"}, 0, `[{"B":"suspended"},{"A":"suspended"}]`, "suspended", "suspended"},
			{1, []string{"A", "C"}, 1, `[{"A":"running"},{"C":"class C: unknown"}]`, "running", "suspended"},
			{0, []string{Name}, 1, `[{"AdminInterfaceServer":"class AdminInterfaceServer: cannot be suspended: it serves the operators"}]`, "running", "suspended"},
			{1, []string{"*"}, 0, `[{"A":"running"},{"B":"running"}]`, "running", "running"},
		} {
			e := h.operator.Ask(wire.ClassAdmin, wire.AdminSuspend, manager.Suspension{SuspendType: c.kind, Classes: c.classes})
			g := managertest.Object[wire.GeneralResponse](t, e)
			if g.ErrorCode != c.code || shown(g) != c.want {
				t.Errorf("%d %v: %+v", c.kind, c.classes, g)
			}
			if a, b := state("A"), state("B"); a != c.a || b != c.b {
				t.Errorf("%d %v: A %v, B %v", c.kind, c.classes, a, b)
			}
		}
	})
	h.add("Deaf", func(l *manager.Loop) {
		l.Handle(manager.AdminSocket, wire.ClassAdmin, wire.AdminSuspend, func(manager.Peer, wire.Event) {})
	})
	if g := ask(1); g.ErrorCode != 1 || shown(g) != `[{"A":"running"},{"B":"running"},{"Deaf":"class Deaf gave no answer within 50 ms"}]` {
		t.Errorf("one manager does not answer: %+v", g)
	}
}

func TestStop(t *testing.T) {
	h := newHouse(t, Config{})
	for _, class := range []string{Name, "", "*"} {
		e := h.operator.Ask(wire.ClassAdmin, wire.AdminState, wire.AdminCommand{ClassName: class, Command: wire.CommandShutdown})
		c := managertest.Object[wire.AdminCommand](t, e)
		if c.ClassName != class || c.Command != wire.CommandShutdown {
			t.Errorf("answer to %q: %s", class, e.Object)
		}
		<-h.stops
	}
}
