package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

// rawPeer speaks ZMQ over TCP and sends arbitrary frames.
type rawPeer struct {
	t *testing.T
	s *zmq.Socket
}

func newRawPeer(t *testing.T, endpoint string) *rawPeer {
	t.Helper()
	ctx, err := zmq.NewContext()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ctx.NewSocket(zmq.DEALER)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.SetLinger(0), s.SetRcvtimeo(managertest.Patience), s.SetSndtimeo(managertest.Patience), s.Connect(endpoint)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ctx.SetRetryAfterEINTR(true)
		if err := ctx.Term(); err != nil {
			t.Error(err)
		}
	})
	return &rawPeer{t, s}
}

func (p *rawPeer) send(frames ...string) {
	p.t.Helper()
	if _, err := p.s.SendMessage(frames); err != nil {
		p.t.Fatal(err)
	}
}

func (p *rawPeer) recv() string {
	p.t.Helper()
	frames, err := p.s.RecvMessage(0)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(frames, "|")
}

const good = `{"class":"client","uid":"good","eventType":3,"eventObj":{"id":"x"},"cookie":{}}`

// After any message of one client, that client and the others are still served. A message with
// a readable uid gets an answer.
func TestWrongMessages(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", echo("sites"))
	endpoint, _ := start(t, b, Config{MaxFrame: 64 << 20})
	other := managertest.Call(t, b, endpoint)
	for name, c := range map[string]struct {
		frames []string
		answer string // "" for none
	}{
		"empty frame":             {[]string{""}, ""},
		"truncated message":       {[]string{good[:len(good)/2]}, ""},
		"not JSON":                {[]string{"\x00\xff\x7f"}, ""},
		"list":                    {[]string{"[]"}, ""},
		"too many frames":         {strings.Split(strings.Repeat("x", 60), ""), ""},
		"no uid":                  {[]string{`{"class":"client","eventType":3}`}, ""},
		"unknown class":           {[]string{`{"class":"root","uid":"u1","eventType":3}`}, `class \"root\" is unknown`},
		"no class":                {[]string{`{"uid":"u1","eventType":3}`}, "is unknown"},
		"class admin":             {[]string{`{"class":"admin","uid":"u1","eventType":1027,"eventObj":{"className":"*","command":2}}`}, "does not serve"},
		"class internal":          {[]string{`{"class":"internal","uid":"u1","eventType":4}`}, "does not serve"},
		"unknown operation":       {[]string{`{"class":"client","uid":"u1","eventType":999}`}, "operation 999 is unknown"},
		"negative operation":      {[]string{`{"class":"client","uid":"u1","eventType":-3}`}, "operation -3 is unknown"},
		"internal operation":      {[]string{`{"class":"client","uid":"u1","eventType":60}`}, "operation 60 is unknown"},
		"operation by name":       {[]string{`{"class":"client","uid":"u1","eventType":"SITE_NEW"}`}, "not an event"},
		"number out of range":     {[]string{`{"class":"client","uid":"u1","eventType":99999999999999999999}`}, "not an event"},
		"resource operation":      {[]string{`{"class":"client","uid":"u1","eventType":13}`}, "operation 13 is unknown"},
		"event after a delimiter": {[]string{"", good}, `"uid":"good"`},
		"100000 open brackets":    {[]string{strings.Repeat("[", 100000)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRawPeer(t, endpoint)
			p.send(c.frames...)
			p.send(good)
			if c.answer != "" {
				if got := p.recv(); !strings.Contains(got, c.answer) {
					t.Errorf("answer %s", got)
				}
			}
			if got := p.recv(); !strings.Contains(got, `"uid":"good"`) || !strings.Contains(got, `"eventType":103`) {
				t.Errorf("answer to the valid request: %s", got)
			}
			if e := other.Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
				t.Errorf("answer type to another client: %d", e.Type)
			}
		})
	}
}

// A frame above MaxMessageSize or a truncated greeting ends only the connection of its sender.
func TestHugeFrameAndHalfGreeting(t *testing.T) {
	b := managertest.Bus(t)
	answerer(t, b, "SitesManager", echo("sites"))
	endpoint, _ := start(t, b, Config{MaxFrame: 1 << 20})
	half, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err := half.Write([]byte("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03")); err != nil {
		t.Fatal(err)
	}

	// ZMTP 3.0 by hand, to see the end of the connection.
	huge, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer huge.Close()
	ready := "\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"
	greeting := "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + strings.Repeat("\x00", 16) + "\x00" + strings.Repeat("\x00", 31)
	long := "\x02\x00\x00\x00\x00\x06\x40\x00\x00" // a frame of 100 MiB follows
	if _, err := io.WriteString(huge, greeting+"\x04"+string(rune(len(ready)))+ready+long); err != nil {
		t.Fatal(err)
	}
	if err := huge.SetDeadline(time.Now().Add(managertest.Patience)); err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	sent := 0
	for ; sent < 100; sent++ {
		if _, err = huge.Write(chunk); err != nil {
			break
		}
	}
	if _, err := io.Copy(io.Discard, huge); os.IsTimeout(err) {
		t.Errorf("the connection is still open after %d MiB", sent)
	}
	if e := managertest.Call(t, b, endpoint).Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
		t.Errorf("answer type to another client: %d", e.Type)
	}
}

// While a client does not read its answers, others are served, and its waiting answers are
// limited by the high-water mark.
func TestSlowReader(t *testing.T) {
	b := managertest.Bus(t)
	big := strings.Repeat("x", 32<<10)
	var served atomic.Int64
	answerer(t, b, "SitesManager", func(e wire.Event) (wire.ClientResponse, bool) {
		served.Add(1)
		if e.Type == int(wire.URLContent) {
			e.Object = json.RawMessage(`"` + big + `"`)
		}
		return echo("sites")(e)
	})
	endpoint, _ := start(t, b, Config{})
	slow, quick := managertest.Call(t, b, endpoint), managertest.Call(t, b, endpoint)
	const requests = 1000
	uids := map[string]bool{}
	for n := range requests {
		e := managertest.Event(t, wire.ClassClient, int(wire.URLContent), nil)
		uids[e.UID] = true
		slow.Send(e)
		if n%50 == 0 {
			if e := quick.Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
				t.Fatalf("answer type to another client: %d", e.Type)
			}
		}
	}
	for end := time.Now().Add(managertest.Patience); served.Load() < requests+requests/50; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d requests of a client that does not read were served", served.Load())
		}
	}
	if e := quick.Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
		t.Errorf("answer type to another client: %d", e.Type)
	}
	for range requests { // within the marks nothing is lost, nothing comes twice
		if e := slow.Recv(); !uids[e.UID] {
			t.Fatalf("unexpected answer to %s", e.UID)
		} else {
			delete(uids, e.UID)
		}
	}
}

// The table of requests is empty after answers, timeouts and disconnected clients, and STAT
// shows that.
func TestTableOfRequestsExpires(t *testing.T) {
	b := managertest.Bus(t)
	ready, door := make(chan struct{}), ""
	var a *admin.Server
	a = admin.New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { door = a.Addr(); close(ready) }}, admin.Config{Port: -1})
	managertest.Run(t, a, ready)
	answerer(t, b, "SitesManager", func(e wire.Event) (wire.ClientResponse, bool) { return wire.ClientResponse{}, false })

	ready2, endpoint := make(chan struct{}), ""
	var s *Service
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s = New(manager.Config{Bus: b, Admin: admin.Endpoint, Log: managertest.Quiet(), Now: clock, PollTimeout: 20 * time.Millisecond, Ready: func() { endpoint = s.Addr(); close(ready2) }},
		Config{Port: -1, Timeout: time.Hour})
	managertest.Run(t, s, ready2)
	operator := managertest.Call(t, b, door)
	waiting := func(want float64) {
		t.Helper()
		var got any
		for end := time.Now().Add(managertest.Patience); time.Now().Before(end); runtime.Gosched() {
			e := operator.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: Name, Fields: map[string]any{"requests": nil}})
			if e.Type != wire.AdminStatAns {
				continue // not announced yet
			}
			if got = managertest.Object[wire.AdminFields](t, e).Fields["requests"]; got == want {
				return
			}
		}
		t.Fatalf("requests %v, want %v", got, want)
	}
	c := managertest.Call(t, b, endpoint)
	gone, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c.Send(managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil))
		if _, err := gone.Send(nil, managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil)); err != nil {
			t.Fatal(err)
		}
	}
	waiting(40)
	gone.Close()
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	for range 20 {
		if e := c.Recv(); !strings.Contains(string(e.Object), "no answer within 3600000 ms") {
			t.Errorf("answer %s", e.Object)
		}
	}
	waiting(0)
}

// A large answer of two nodes is merged by a worker: meanwhile another client gets its answer.
func TestMergingBlocksNoClient(t *testing.T) {
	large := strings.Repeat("x", smallAnswer)
	nodes := func(e wire.Event) (wire.ClientResponse, bool) {
		if e.Type != int(wire.URLContent) {
			return echo("sites")(e)
		}
		object := func(n int) string {
			return fmt.Sprintf(`[{"siteId":"s","urlMd5":"%d","rawContents":[%q]}]`, n, large)
		}
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{item("a", object(1)), item("b", object(2))}}, true
	}
	begin := func(t *testing.T) (*managertest.Caller, chan struct{}, chan struct{}, func()) {
		b := managertest.Bus(t)
		answerer(t, b, "SitesManager", nodes)
		endpoint, ready := "", make(chan struct{})
		var s *Service
		s = New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { endpoint = s.Addr(); close(ready) }}, Config{Port: -1, Nodes: 2})
		began, goOn := make(chan struct{}, 100), make(chan struct{})
		s.merge = func(m merge.Merger, object json.RawMessage) (json.RawMessage, error) {
			if len(object) > smallAnswer {
				began <- struct{}{}
				<-goOn
			}
			return mergeItems(m, object)
		}
		stop := managertest.Run(t, s, ready)
		return managertest.Call(t, b, endpoint), began, goOn, stop
	}
	t.Run("workers are limited", func(t *testing.T) {
		c, began, goOn, _ := begin(t)
		const n = mergers + 2 // more than merge at once
		content := map[string]bool{}
		for range n {
			e := managertest.Event(t, wire.ClassClient, int(wire.URLContent), nil)
			content[e.UID] = true
			c.Send(e)
		}
		for range mergers {
			<-began
		}
		if e := c.Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
			t.Errorf("answer %d", e.Type)
		}
		close(goOn)
		for range n {
			e := c.Recv()
			r := managertest.Object[wire.ClientResponse](t, e)
			if !content[e.UID] || len(r.ItemsList) != 1 || r.ItemsList[0].Node != "a;b" {
				t.Errorf("answer %s %.200s", e.UID, e.Object)
			}
			delete(content, e.UID)
		}
	})
	t.Run("the daemon stops", func(t *testing.T) {
		c, began, goOn, stop := begin(t)
		c.Send(managertest.Event(t, wire.ClassClient, int(wire.URLContent), nil))
		<-began
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		if e := c.Recv(); !strings.Contains(string(e.Object), "the daemon stops") {
			t.Errorf("answer %.200s", e.Object)
		}
		close(goOn)
		<-stopped
	})
}

// The cost of a large answer: passing it on, and merging two.
func BenchmarkBigAnswer(b *testing.B) {
	contents := func(n int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`[{"siteId":"s","urlMd5":"%d","rawContents":[%q]}]`, n, strings.Repeat("x", 32<<20)))
	}
	r := wire.ClientResponse{ItemsList: []wire.ClientResponseItem{item("a", string(contents(1))), item("b", string(contents(2)))}}
	raw, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	e := wire.Event{Class: wire.ClassClient, UID: "u", Type: 112, Object: raw}
	frame, err := e.Frame()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read an event", func(b *testing.B) {
		b.SetBytes(int64(len(frame)))
		for b.Loop() {
			if _, err := wire.ParseEvent(frame); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write an event", func(b *testing.B) {
		b.SetBytes(int64(len(frame)))
		for b.Loop() {
			if _, err := e.Frame(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("merge", func(b *testing.B) {
		b.SetBytes(int64(len(frame)))
		for b.Loop() {
			if _, err := mergeItems(merge.For(wire.URLContent, nil), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
