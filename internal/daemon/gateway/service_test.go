package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

// start runs a service and returns its TCP endpoint.
func start(t *testing.T, b *bus.Bus, cfg Config) (endpoint string, stop func()) {
	t.Helper()
	cfg.Port = -1
	ready := make(chan struct{})
	var s *Service
	s = New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { endpoint = s.Addr(); close(ready) }}, cfg)
	stop = managertest.Run(t, s, ready)
	return endpoint, stop
}

// answerer is a manager that answers each client event with its own name and the event's
// object.
func answerer(t *testing.T, b *bus.Bus, name string, answer func(wire.Event) (wire.ClientResponse, bool)) {
	t.Helper()
	ready := make(chan struct{})
	l := manager.New(manager.Config{Name: name, Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }})
	l.Bind(name, bus.Inproc(name), bus.Options{})
	l.HandleClass(name, wire.ClassClient, func(from manager.Peer, e wire.Event) {
		if r, ok := answer(e); ok {
			l.Reply(from, e, e.Type+wire.ResponseOffset, r)
		}
	})
	managertest.Run(t, l, ready)
}

func echo(name string) func(wire.Event) (wire.ClientResponse, bool) {
	return func(e wire.Event) (wire.ClientResponse, bool) {
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{{ErrorCode: 0, Node: name, ItemObject: e.Object}}}, true
	}
}

func TestRoutes(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", echo("sites"))
	answerer(t, b, "BatchTasksManagerRealTime", echo("realtime"))
	endpoint, _ := start(t, b, Config{})
	c := managertest.Call(t, b, endpoint)
	for op := wire.Op(-2); op < 70; op++ {
		e := managertest.Event(t, wire.ClassClient, int(op), map[string]int{"n": int(op)})
		e.Cookie = map[string]json.RawMessage{"mine": json.RawMessage(`[1]`)}
		c.Send(e)
		got := c.Recv()
		want := `"node":"sites"`
		switch {
		case op == wire.BatchRun:
			want = `"node":"realtime"`
		case !op.Client():
			want = fmt.Sprintf("operation %d is unknown", op)
		}
		if got.UID != e.UID || got.Class != wire.ClassClient || got.Type != int(op)+100 || string(got.Cookie["mine"]) != "[1]" ||
			!strings.Contains(string(got.Object), want) {
			t.Errorf("%s: %+v %s", op, got, got.Object)
		}
	}
	for _, class := range []string{wire.ClassAdmin, wire.ClassInternal} {
		if e := c.Ask(class, 1, nil); !strings.Contains(string(e.Object), "does not serve") {
			t.Errorf("class %s: %s", class, e.Object)
		}
	}
}

// Equal uids of two clients do not collide.
func TestSameUID(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", echo("sites"))
	endpoint, _ := start(t, b, Config{})
	const n = 20
	var callers [n]*managertest.Caller
	for i := range callers {
		callers[i] = managertest.Call(t, b, endpoint)
		callers[i].Send(wire.Event{Class: wire.ClassClient, UID: "same", Type: int(wire.SiteStatus), Object: json.RawMessage(fmt.Sprint(i))})
	}
	for i, c := range callers {
		if e := c.Recv(); e.UID != "same" || !strings.Contains(string(e.Object), fmt.Sprintf(`"itemObject":%d}`, i)) {
			t.Errorf("client %d: answer %s", i, e.Object)
		}
	}
}

func TestEndsOfARequest(t *testing.T) {
	silent := func(wire.Event) (wire.ClientResponse, bool) { return wire.ClientResponse{}, false }
	t.Run("no answer", func(t *testing.T) {
		b := managertest.Bus(t)
		answerer(t, b, "SitesManager", silent)
		endpoint, _ := start(t, b, Config{Timeout: 20 * time.Millisecond})
		e := managertest.Call(t, b, endpoint).Ask(wire.ClassClient, int(wire.SiteStatus), nil)
		if r := managertest.Object[wire.ClientResponse](t, e); r.ErrorCode != wire.ResponseNoAnswer || r.ErrorMessage != "no answer within 20 ms" || e.Type != 103 {
			t.Errorf("answer %d %s", e.Type, e.Object)
		}
	})
	t.Run("the daemon stops", func(t *testing.T) {
		b := managertest.Bus(t)
		seen := make(chan struct{}, 1)
		answerer(t, b, "SitesManager", func(e wire.Event) (wire.ClientResponse, bool) {
			seen <- struct{}{}
			return silent(e)
		})
		endpoint, stop := start(t, b, Config{})
		c := managertest.Call(t, b, endpoint)
		c.Send(managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil))
		<-seen
		stop()
		if e := c.Recv(); !strings.Contains(string(e.Object), "the daemon stops") {
			t.Errorf("answer %s", e.Object)
		}
	})
	t.Run("disconnected client", func(t *testing.T) {
		b := managertest.Bus(t)
		seen, answer := make(chan struct{}, 1), make(chan struct{})
		answerer(t, b, "SitesManager", func(e wire.Event) (wire.ClientResponse, bool) {
			if e.Type == int(wire.SiteStatus) {
				seen <- struct{}{}
				<-answer
			}
			return echo("sites")(e)
		})
		endpoint, _ := start(t, b, Config{})
		left, err := b.Connect(endpoint, bus.Options{Linger: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := left.Send(nil, managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil)); err != nil {
			t.Fatal(err)
		}
		<-seen
		left.Close()
		close(answer)
		if e := managertest.Call(t, b, endpoint).Ask(wire.ClassClient, int(wire.SiteFind), nil); e.Type != 115 {
			t.Errorf("answer %d %s", e.Type, e.Object)
		}
	})
}

func item(node string, object string) wire.ClientResponseItem {
	return wire.ClientResponseItem{ErrorCode: 0, Host: node, Node: node, Port: 1, Time: 5, ID: 3, ItemObject: json.RawMessage(object)}
}

func TestMergingIsOptional(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", func(wire.Event) (wire.ClientResponse, bool) {
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{
			item("a", `{"errorCode":0,"errorMessage":"","statuses":[1]}`), item("b", `{"errorCode":0,"errorMessage":"","statuses":[2]}`),
		}}, true
	})
	endpoint, _ := start(t, b, Config{Nodes: 2})
	c := managertest.Call(t, b, endpoint)
	for cookie, items := range map[string]int{"": 1, "1": 1, `"1"`: 1, "0": 2, `"0"`: 2, "false": 2, `"False"`: 2, "true": 1, "null": 1} {
		e := managertest.Event(t, wire.ClassClient, int(wire.SiteNew), nil)
		if cookie != "" {
			e.Cookie = map[string]json.RawMessage{"MERGE_RESULTS": json.RawMessage(cookie)}
		}
		c.Send(e)
		if r := managertest.Object[wire.ClientResponse](t, c.Recv()); len(r.ItemsList) != items {
			t.Errorf("cookie %s: %d items", cookie, len(r.ItemsList))
		}
	}
}

// The request determines the order of the merged answer, and numbers keep all digits.
func TestMergingFollowsTheRequest(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", func(wire.Event) (wire.ClientResponse, bool) {
		a, z := item("a", `[{"urlMd5":"m","size":1,"batchId":9007199254740993}]`), item("b", `[{"urlMd5":"n","size":2}]`)
		a.ID, a.Time = int64(9007199254740993), 21000000
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{a, z}}, true
	})
	endpoint, _ := start(t, b, Config{Nodes: 2})
	request := json.RawMessage(`[{"urlsCriterions":{"ORDER BY":"Size DESC"}}]`)
	e := managertest.Call(t, b, endpoint).Ask(wire.ClassClient, int(wire.URLFetch), request)
	want := `"time":"21000000;5","id":9007199254740993,"itemObject":[{"host":"b","size":2,"urlMd5":"n"},` +
		`{"batchId":9007199254740993,"host":"a","size":1,"urlMd5":"m"}]}]}`
	if !strings.HasSuffix(string(e.Object), want) {
		t.Errorf("got %s", e.Object)
	}
}

func TestInvalidAnswer(t *testing.T) {
	for _, object := range []string{`{"itemsList":5}`, `[1]`} {
		if got, err := mergeItems(merge.For(wire.URLFetch, nil), json.RawMessage(object)); err == nil {
			t.Errorf("%s: %s", object, got)
		}
	}
}
