package bus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// A plain ZMTP client: the greeting and READY.
const (
	plainGreeting = "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	plainReady = "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
)

// handPeer is a client whose bytes a test writes itself.
type handPeer struct {
	t *testing.T
	net.Conn
}

func newHandPeer(t *testing.T, s *Socket) *handPeer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.Endpoint(), "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := &handPeer{t, c}
	p.write(plainGreeting + plainReady)
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.CopyN(io.Discard, c, 64); err != nil { // its greeting
		t.Fatal(err)
	}
	if ready := p.frame(); !strings.Contains(ready, "READY") {
		t.Fatalf("%q instead of READY", ready)
	}
	return p
}

func (p *handPeer) write(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, text); err != nil {
		p.t.Fatal(err)
	}
}

// frame reads one frame.
func (p *handPeer) frame() string {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	head := make([]byte, 2, 9)
	if _, err := io.ReadFull(p, head); err != nil {
		p.t.Fatal(err)
	}
	size := uint64(head[1])
	if head[0]&flagLong != 0 {
		head = head[:9]
		if _, err := io.ReadFull(p, head[2:]); err != nil {
			p.t.Fatal(err)
		}
		size = binary.BigEndian.Uint64(head[1:])
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(p, body); err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// closed waits until the server has closed the connection.
func (p *handPeer) closed(limit time.Duration) bool {
	_ = p.SetReadDeadline(time.Now().Add(limit))
	_, err := io.Copy(io.Discard, p)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// announced is the header of a frame of that size.
func announced(size int) string {
	return string(binary.BigEndian.AppendUint64([]byte{flagLong}, uint64(size)))
}

// request is an event of size bytes; the object comes first or last.
func request(op wire.Op, uid string, size int, objectFirst bool) string {
	fields := fmt.Sprintf(`"class":"client","uid":%q,"eventType":%d`, uid, int(op))
	object := `"eventObj":"` + strings.Repeat("x", max(0, size-len(fields)-len(`{,"eventObj":""}`))) + `"`
	if objectFirst {
		return "{" + object + "," + fields + "}"
	}
	return "{" + fields + "," + object + "}"
}

// answering answers each event with its own uid until the test ends.
func answering(t *testing.T, b *Bus, o Options) *Socket {
	t.Helper()
	s, err := b.Bind(TCP("127.0.0.1", 0), o)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		poll := NewPoller(s)
		for {
			select {
			case <-stop:
				s.Close()
				return
			default:
			}
			_, _ = poll.Wait(20 * time.Millisecond)
			m, err := s.Recv()
			var bad *BadMessage
			switch {
			case err == nil:
				_, _ = s.Send(m.Route, wire.Event{Class: "client", UID: m.Event.UID, Type: m.Event.Type + 100})
			case errors.As(err, &bad) && bad.Answerable():
				text, _ := wire.Event{}.Answer(0, bad.Error())
				_, _ = s.Send(bad.Route, wire.Event{Class: "client", UID: bad.Event.UID, Type: bad.Event.Type + 100, Object: text.Object})
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return s
}

// ask sends one small request and waits for its answer.
func ask(t *testing.T, b *Bus, s *Socket, uid string) {
	t.Helper()
	c := connect(t, b, s.Endpoint())
	if _, err := c.Send(nil, event(uid)); err != nil {
		t.Fatal(err)
	}
	if m, err := next(t, c); err != nil || m.Event.UID != uid {
		t.Fatalf("%+v, %v", m, err)
	}
}

// A request above the limit of its operation is answered at once, with the limit and its key,
// before its bytes arrive. The connection stays usable.
func TestRefusedBeforeItIsRead(t *testing.T) {
	b := newBus(t)
	s := answering(t, b, Options{MaxFrame: 8 << 20, MaxPlain: 1 << 20})
	for name, c := range map[string]struct {
		op          wire.Op
		size        int
		objectFirst bool
		want        string
	}{
		"status":                      {wire.SiteStatus, 2 << 20, false, "the limit is 1048576 (MaxPlainSize"},
		"contents":                    {wire.URLPut, 9 << 20, false, "the limit is 8388608 (MaxMessageSize"},
		"status after its object":     {wire.SiteStatus, 2 << 20, true, "the limit is 1048576 (MaxPlainSize"},
		"contents after their object": {wire.URLPut, 9 << 20, true, "the limit is 8388608 (MaxMessageSize"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHandPeer(t, s)
			text := request(c.op, "big", c.size, c.objectFirst)
			p.write(announced(len(text)))
			if c.objectFirst {
				p.write(text)
			} else {
				p.write(text[:freeFrame]) // the rest is still to come
			}
			if got := p.frame(); !strings.Contains(got, `"uid":"big"`) || !strings.Contains(got, c.want) {
				t.Errorf("answer %.300s", got)
			}
			if !c.objectFirst {
				p.write(text[freeFrame:])
			}
			p.write(announced(len(request(c.op, "small", 200, false))) + request(c.op, "small", 200, false))
			if got := p.frame(); !strings.Contains(got, `"uid":"small"`) {
				t.Errorf("answer %.300s", got)
			}
		})
	}
}

// Unfinished requests hold at most the budget. Meanwhile other peers get their answers, and other
// large requests are refused.
func TestUnfinishedRequestsHoldTheBudgetAtMost(t *testing.T) {
	b := newBus(t)
	budget := NewBudget(16 << 20)
	s := answering(t, b, Options{Budget: budget, MaxFrame: 8 << 20, stall: time.Hour})
	text := request(wire.URLPut, "big", 8<<20, false)
	var refused atomic.Int32
	var peers []*handPeer
	for range 40 {
		p := newHandPeer(t, s)
		p.write(announced(len(text)) + text[:freeFrame+1])
		peers = append(peers, p)
	}
	testwait.Until(t, "the budget is in use", func() bool { return budget.Used() == budget.Size() })
	for i := range 10 {
		ask(t, b, s, fmt.Sprint("other", i))
	}
	if budget.Used() != budget.Size() {
		t.Error("the other clients waited for unfinished requests")
	}
	var readers sync.WaitGroup
	for _, p := range peers {
		_ = p.SetReadDeadline(time.Time{})
		readers.Go(func() { // ends with its connection
			if _, err := io.ReadFull(p, make([]byte, 1)); err == nil {
				refused.Add(1)
			}
		})
	}
	testwait.Until(t, "38 of 40 requests are refused", func() bool { return refused.Load() == 38 })
	for _, p := range peers {
		p.Close()
	}
	readers.Wait()
	testwait.Until(t, "the budget is free", func() bool { return budget.Used() == 0 })
	if n := refused.Load(); n != 38 {
		t.Errorf("%d of 40 requests were refused", n)
	}
}

// A request that does not go on ends, and gives its part of the budget back.
func TestUnfinishedRequestEnds(t *testing.T) {
	b := newBus(t)
	budget := NewBudget(8 << 20)
	s := answering(t, b, Options{Budget: budget, MaxFrame: 8 << 20, stall: 50 * time.Millisecond})
	text := request(wire.URLPut, "big", 8<<20, false)
	p := newHandPeer(t, s)
	p.write(announced(len(text)) + text[:freeFrame+1])
	if !p.closed(patience) {
		t.Error("the connection is open")
	}
	testwait.Until(t, "the budget is free", func() bool { return budget.Used() == 0 })
}

// When all connections are in use, the one that is idle for the longest time makes room. One
// with a request under way stays.
func TestConnectionsAreLimited(t *testing.T) {
	b := newBus(t)
	log := &testlog.Recorder{}
	s := bind(t, b, TCP("127.0.0.1", 0), Options{Connections: 3, Log: slog.New(slog.NewTextHandler(log, nil))})
	busy := newHandPeer(t, s)
	small := request(wire.SiteStatus, "busy", 100, false)
	busy.write("\x00" + string(rune(len(small))) + small)
	m, err := next(t, s)
	if err != nil {
		t.Fatal(err)
	}
	oldest := newHandPeer(t, s)
	newHandPeer(t, s)
	newest := newHandPeer(t, s)
	if !oldest.closed(patience) {
		t.Error("the oldest idle connection is open")
	}
	if newest.closed(50 * time.Millisecond) {
		t.Error("the new connection was closed")
	}
	if _, err := s.Send(m.Route, event("answer")); err != nil {
		t.Fatal(err)
	}
	if got := busy.frame(); !strings.Contains(got, `"uid":"answer"`) {
		t.Errorf("answer %.300s", got)
	}
	if _, err := s.Send(Route{append([]byte("12345678"), m.Route[0][8:]...)}, event("nobody")); !errors.Is(err, ErrGone) {
		t.Errorf("an unknown connection: %v", err)
	}

	full := bind(t, b, TCP("127.0.0.1", 0), Options{Connections: 1, Log: slog.New(slog.NewTextHandler(log, nil))})
	first := newHandPeer(t, full)
	first.write("\x00" + string(rune(len(small))) + small)
	if _, err := next(t, full); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(full.Endpoint(), "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	if !(&handPeer{t, c}).closed(patience) {
		t.Error("a connection above the limit is open")
	}
	awaitLine(t, log, "all connections are in use", "limit=1")
}

// A peer that sends requests without end has a limited number under way, and leaves the turn
// to others.
func TestRequestsUnderWayAreLimited(t *testing.T) {
	b := newBus(t)
	s := bind(t, b, TCP("127.0.0.1", 0), Options{})
	small := request(wire.SiteStatus, "many", 100, false)
	many := newHandPeer(t, s)
	go func() { _, _ = io.WriteString(many.Conn, strings.Repeat("\x00"+string(rune(len(small)))+small, 5000)) }()
	var routes []Route
	for range mostUnderWay {
		m, err := next(t, s)
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, m.Route)
	}
	if m, err := s.Recv(); !errors.Is(err, ErrNone) {
		t.Errorf("one more: %+v, %v", m, err)
	}
	c := connect(t, b, s.Endpoint())
	if _, err := c.Send(nil, event("single")); err != nil {
		t.Fatal(err)
	}
	if m, err := next(t, s); err != nil || m.Event.UID != "single" {
		t.Errorf("%+v, %v", m, err)
	}
	s.Forget(routes[0])
	if m, err := next(t, s); err != nil || m.Event.UID != "many" {
		t.Errorf("after an answer: %+v, %v", m, err)
	}
}

// A peer that does not read its answers is not read any more; its answers do not pile up, and
// another peer with an answer of its own stays connected.
func TestUnreadAnswersAreLimited(t *testing.T) {
	b := newBus(t)
	s := bind(t, b, TCP("127.0.0.1", 0), Options{})
	small := request(wire.URLContent, "big", 100, false)
	p := newHandPeer(t, s)
	go func() { _, _ = io.WriteString(p.Conn, strings.Repeat("\x00"+string(rune(len(small)))+small, 5000)) }()
	big := event("big")
	big.Object = []byte(`"` + strings.Repeat("x", 8<<20) + `"`)
	answered := 0
	other := newHandPeer(t, s)
	other.write("\x00" + string(rune(len(small))) + strings.Replace(small, `"big"`, `"own"`, 1))
	poll := NewPoller(s)
	for quiet := 0; quiet < 5; {
		if ready, err := poll.Wait(100 * time.Millisecond); err != nil {
			t.Fatal(err)
		} else if len(ready) == 0 {
			quiet++
			continue
		}
		m, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		big.UID = m.Event.UID
		if _, err := s.Send(m.Route, big); err != nil && !errors.Is(err, ErrGone) {
			t.Fatal(err)
		} else if err == nil {
			answered++
		}
	}
	if bytes := answered * len(big.Object); bytes > unsentOfAll+16<<20 {
		t.Errorf("%d bytes of answers wait", bytes)
	}
	if got := other.frame(); !strings.Contains(got, `"uid":"own"`) {
		t.Errorf("another peer got %.100s", got)
	}
}

// PING is answered, also while the peer waits for its turn.
func TestPingIsAnswered(t *testing.T) {
	b := newBus(t)
	s := bind(t, b, TCP("127.0.0.1", 0), Options{})
	p := newHandPeer(t, s)
	p.write("\x04\x0a\x04PING\x00\x0aabc")
	if got := p.frame(); got != "\x04PONGabc" {
		t.Errorf("%q", got)
	}
}

// Large objects between sockets of one bus are not copied.
func TestLargeObjectsAreHandedOver(t *testing.T) {
	b := newBus(t)
	server := bind(t, b, Inproc("large"), Options{})
	client := connect(t, b, Inproc("large"))
	e := event("u")
	e.Object = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	sent, err := client.Send(Route{[]byte("client")}, e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := next(t, server)
	if err != nil || &m.Event.Object[0] != &e.Object[0] || m.Size != sent || len(m.Route) != 2 || string(m.Route[1]) != "client" {
		t.Errorf("%d bytes of %d, route %q, %v", len(m.Event.Object), sent, m.Route, err)
	}
	left := 0
	b.objects.Range(func(any, any) bool { left++; return true })
	if left != 0 {
		t.Errorf("%d objects are left", left)
	}
}

func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"class":"client","uid":"u","eventType":3,"eventObj":{"uid":"no","a":["}",1]},"cookie":{}}`))
	f.Add([]byte(`{"eventObj":"\"uid\":\"no\"","uid":"u\u0041","eventType":-3 , "class" : "client"}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var whole, parts peek
		whole.readPart(frame)
		for _, c := range frame {
			parts.readPart([]byte{c})
		}
		if whole.event.UID != parts.event.UID || whole.event.Type != parts.event.Type || whole.depth != parts.depth {
			t.Errorf("%+v and %+v", whole.event, parts.event)
		}
		e, err := wire.ParseEvent(frame)
		if err != nil || strings.ContainsAny(string(frame), `\`) || strings.Count(strings.ToLower(string(frame)), "uid") != 1 ||
			strings.Count(strings.ToLower(string(frame)), "eventtype") != 1 {
			return
		}
		if whole.event.UID != e.UID || whole.typed && whole.event.Type != e.Type {
			t.Errorf("%+v, want %+v", whole.event, e)
		}
	})
}

// A burst of large requests does not stay in memory, nor does what encoding/json has kept of them, which small values use later.
func TestMemoryIsGivenBack(t *testing.T) {
	b := newBus(t)
	s := answering(t, b, Options{})
	text := request(wire.URLPut, "big", 15<<20, false)
	p := newHandPeer(t, s)
	for range 10 {
		p.write(announced(len(text)) + text)
		p.frame()
	}
	encode := func(v any) {
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	}
	encode(text)
	text = ""
	testwait.Until(t, "the memory of the requests is free", func() bool {
		encode("small")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc < 10<<20 && m.HeapSys-m.HeapReleased < 30<<20
	})
}
