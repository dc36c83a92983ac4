package bus

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// patience bounds a test that hangs; no result depends on it.
const patience = testwait.Deadline

func newBus(t *testing.T) *Bus {
	t.Helper()
	before := runtime.NumGoroutine()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Term(patience); err != nil {
			t.Error(err)
		}
		if b.Open() != 0 {
			t.Errorf("%d sockets are open", b.Open())
		}
		testwait.Until(t, "the goroutines of the bus end", func() bool { return runtime.NumGoroutine() <= before })
	})
	return b
}

func bind(t *testing.T, b *Bus, endpoint string, o Options) *Socket {
	t.Helper()
	s, err := b.Bind(endpoint, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, b *Bus, endpoint string) *Socket {
	t.Helper()
	s, err := b.Connect(endpoint, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func event(uid string) wire.Event {
	return wire.Event{Class: wire.ClassClient, UID: uid, Type: 1, Object: []byte(`{"a":1}`)}
}

// next waits for one message, or for an error other than ErrNone.
func next(t *testing.T, s *Socket) (Message, error) {
	t.Helper()
	if err := s.checkRefusal(); err != nil {
		return Message{}, err
	}
	p := NewPoller(s)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		ready, err := p.Wait(100 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if len(ready) == 0 {
			continue
		}
		if ready[0] != s {
			t.Fatal("the poller returned another socket")
		}
		m, err := s.Recv()
		if s.monitor != nil && errors.Is(err, ErrNone) {
			continue // a handshake event of the monitor
		}
		return m, err
	}
	t.Fatal("no message")
	return Message{}, nil
}

func TestRoundTrip(t *testing.T) {
	endpoints := []string{Inproc("a"), TCP("127.0.0.1", 0), TCP("localhost", 0)}
	if hasIPv6() {
		endpoints = append(endpoints, TCP("::1", 0))
	}
	for _, endpoint := range endpoints {
		t.Run(endpoint, func(t *testing.T) {
			b := newBus(t)
			server := bind(t, b, endpoint, Options{})
			client := connect(t, b, server.Endpoint())
			if _, err := server.Recv(); !errors.Is(err, ErrNone) {
				t.Errorf("empty socket: %v", err)
			}
			sent, err := client.Send(nil, event("u1"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := next(t, server)
			if err != nil || m.Event.UID != "u1" || m.Size != sent || len(m.Route) != 1 {
				t.Fatalf("%+v, %v", m, err)
			}
			if _, err := server.Send(m.Route, event("u2")); err != nil {
				t.Fatal(err)
			}
			if m, err = next(t, client); err != nil || m.Event.UID != "u2" || m.Route != nil {
				t.Fatalf("%+v, %v", m, err)
			}
			if string(m.Event.Object) != `{"a":1}` {
				t.Errorf("object %s", m.Event.Object)
			}
		})
	}
}

func TestConnectBeforeBind(t *testing.T) {
	b := newBus(t)
	client := connect(t, b, Inproc("later"))
	if _, err := client.Send(nil, event("early")); err != nil {
		t.Fatal(err)
	}
	if m, err := next(t, bind(t, b, Inproc("later"), Options{})); err != nil || m.Event.UID != "early" {
		t.Errorf("%+v, %v", m, err)
	}
}

// A poller that waits long wakes at once for a message of another goroutine: no message waits for a
// limit, or this test would take hours.
func TestPollerWakes(t *testing.T) {
	b := newBus(t)
	servers := []*Socket{bind(t, b, Inproc("a"), Options{}), bind(t, b, TCP("127.0.0.1", 0), Options{}), bind(t, b, Inproc("c"), Options{})}
	p := NewPoller(servers...)
	answered := make(chan error, len(servers))
	for _, s := range servers {
		c := connect(t, b, s.Endpoint())
		go func() {
			own := NewPoller(c)
			var err error
			for range 500 {
				_, err = c.Send(nil, event("u"))
				for err == nil {
					if _, err = c.Recv(); !errors.Is(err, ErrNone) {
						break
					}
					_, err = own.Wait(time.Hour)
				}
				if err != nil {
					break
				}
			}
			_, end := c.Send(nil, event("end"))
			answered <- errors.Join(err, end)
		}()
	}
	for left := len(servers); left > 0; {
		ready, err := p.Wait(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range ready {
			m, err := s.Recv()
			switch {
			case err != nil:
				t.Error(err)
			case m.Event.UID == "end":
				left--
			default:
				_, err = s.Send(m.Route, m.Event)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for range servers {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

func TestBusyAndGone(t *testing.T) {
	b := newBus(t)
	server := bind(t, b, Inproc("s"), Options{HighWater: 2})
	client, err := b.Connect(Inproc("s"), Options{HighWater: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // on inproc the limits of both ends add up
		if _, err := client.Send(nil, event("u")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Send(nil, event("u")); !errors.Is(err, ErrBusy) {
		t.Errorf("full queue: %v", err)
	}
	m, err := next(t, server)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = server.Send(m.Route, event("u"))
	}
	if !errors.Is(err, ErrBusy) {
		t.Errorf("peer that does not read: %v", err)
	}
	client.Close()
	client.Close() // a second call does nothing
	testwait.Until(t, "Send returns ErrGone after the peer disconnects", func() bool {
		_, _ = server.Recv() // processes the disconnect
		_, err = server.Send(m.Route, event("u"))
		return errors.Is(err, ErrGone)
	})
	if _, err := server.Send(nil, event("u")); err == nil {
		t.Error("sent without a route")
	}
}

// A watched socket has all answers of a peer that disconnects, and then ErrGone.
func TestPeerEnds(t *testing.T) {
	for _, answers := range []int{0, 1, 100} {
		t.Run(fmt.Sprint(answers), func(t *testing.T) {
			b, other := newBus(t), newBus(t)
			server := bind(t, b, "tcp://127.0.0.1:*", Options{Linger: time.Second})
			client, err := other.Connect(server.Endpoint(), Options{Watch: true})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Send(nil, event("u")); err != nil {
				t.Fatal(err)
			}
			m, err := next(t, server)
			if err != nil {
				t.Fatal(err)
			}
			for range answers {
				if _, err := server.Send(m.Route, event("u")); err != nil {
					t.Fatal(err)
				}
			}
			server.Close()
			received := 0
			testwait.Until(t, "Recv returns ErrGone", func() bool {
				_, err := client.Recv()
				if err == nil {
					received++
				}
				return errors.Is(err, ErrGone)
			})
			if received != answers {
				t.Errorf("%d answers of %d", received, answers)
			}
		})
	}
}

// raw returns a function that sends arbitrary ZMQ frames.
func raw(t *testing.T, b *Bus, endpoint string) func(frames ...string) {
	t.Helper()
	s := connect(t, b, endpoint)
	return func(frames ...string) {
		for i, f := range frames {
			more := zmq.SNDMORE
			if i == len(frames)-1 {
				more = 0
			}
			if _, err := s.zmq.Send(f, more); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	b := newBus(t)
	server := bind(t, b, TCP("127.0.0.1", 0), Options{})
	send := raw(t, b, server.Endpoint())
	good := `{"class":"client","uid":"u","eventType":1,"eventObj":null,"cookie":null}`
	cases := []struct {
		name       string
		frames     []string
		bad        bool
		answerable bool
	}{
		{"event", []string{good}, false, false},
		{"event after a delimiter", []string{"", good}, false, false},
		{"empty", []string{""}, true, false},
		{"not JSON", []string{"\x00\xff"}, true, false},
		{"truncated", []string{good[:20]}, true, false},
		{"list", []string{"[]"}, true, false},
		{"no class", []string{`{"uid":"u7","eventType":1}`}, true, true},
		{"unknown class", []string{`{"class":"root","uid":"u7","eventType":1}`}, true, true},
		{"no uid", []string{`{"class":"client","eventType":1}`}, true, false},
		{"invalid uid", []string{`{"class":"client","uid":"a b","eventType":1}`}, true, false},
		{"long uid", []string{`{"class":"client","uid":"` + strings.Repeat("a", 65) + `","eventType":1}`}, true, false},
		{"type is a text", []string{`{"class":"client","uid":"u7","eventType":"1"}`}, true, true},
		{"deep", []string{strings.Repeat("[", 100000)}, true, false},
		{"too many frames", append(strings.Split(strings.Repeat("x", 50), ""), good), true, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			send(tc.frames...)
			_, err := next(t, server)
			var bad *BadMessage
			if errors.As(err, &bad) != tc.bad || !tc.bad && err != nil {
				t.Fatal(err)
			}
			if tc.bad && bad.Answerable() != tc.answerable {
				t.Errorf("answerable %t: %v", bad.Answerable(), err)
			}
		})
	}
}

// A misbehaving TCP peer does not disturb other peers.
func TestHostilePeers(t *testing.T) {
	b := newBus(t)
	server := bind(t, b, TCP("127.0.0.1", 0), Options{MaxFrame: 1 << 20})
	address := strings.TrimPrefix(server.Endpoint(), "tcp://")
	peers := map[string]func(net.Conn){
		"silent":        func(net.Conn) {},
		"closes":        func(c net.Conn) { c.Close() },
		"garbage":       func(c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n")) },
		"half greeting": func(c net.Conn) { _, _ = c.Write([]byte("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03")) },
		"zeros":         func(c net.Conn) { _, _ = c.Write(make([]byte, 1<<16)) },
	}
	for _, act := range peers {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		act(c)
	}
	big := connect(t, b, server.Endpoint())
	if _, err := big.zmq.SendBytes(make([]byte, 100<<20), zmq.DONTWAIT); err != nil {
		t.Fatal(err)
	}
	client := connect(t, b, server.Endpoint())
	if _, err := client.Send(nil, event("u")); err != nil {
		t.Fatal(err)
	}
	if m, err := next(t, server); err != nil || m.Event.UID != "u" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestTermDoesNotHang(t *testing.T) {
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Connect(TCP("127.0.0.1", 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(nil, event("never delivered")); err != nil {
		t.Fatal(err)
	}
	if err := b.Term(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "1 sockets") {
		t.Errorf("open socket: %v", err)
	}
	s.Close()
}

// The routing id of a connected peer is not given to another peer.
func TestRoutingIDInUse(t *testing.T) {
	b := newBus(t)
	s := bind(t, b, TCP("127.0.0.1", 0), Options{})
	named := func() *Socket {
		c, err := b.newSocket(zmq.DEALER, s.Endpoint(), Options{}.withDefaults(s.Endpoint()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := errors.Join(c.zmq.SetIdentity("name"), c.zmq.Connect(s.Endpoint())); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := named()
	if _, err := first.Send(nil, event("first")); err != nil {
		t.Fatal(err)
	}
	m, err := next(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := named().Send(nil, event("second")); err != nil {
		t.Fatal(err)
	}
	// Other messages may arrive first; the answer still goes to the first peer.
	if _, err := s.Send(m.Route, event("answer")); err != nil {
		t.Fatal(err)
	}
	if m, err := next(t, first); err != nil || m.Event.UID != "answer" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestUnsupportedTransports(t *testing.T) {
	b := newBus(t)
	for _, endpoint := range []string{"ipc:///tmp/x", "ws://127.0.0.1:*", "udp://127.0.0.1:1", "127.0.0.1:1", ""} {
		if s, err := b.Bind(endpoint, Options{}); err == nil {
			s.Close()
			t.Errorf("bound to %q", endpoint)
		}
		if s, err := b.Connect(endpoint, Options{}); err == nil {
			s.Close()
			t.Errorf("connected to %q", endpoint)
		}
	}
}

func FuzzRecv(f *testing.F) {
	f.Add([]byte(`{"class":"client","uid":"u","eventType":1,"eventObj":{},"cookie":{}}`))
	f.Add([]byte(`{"uid":"u7"}`))
	f.Add([]byte{})
	b, err := New()
	if err != nil {
		f.Fatal(err)
	}
	server, err := b.Bind(Inproc("f"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	client, err := b.Connect(Inproc("f"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		server.Close()
		client.Close()
		if err := b.Term(patience); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if _, err := client.zmq.SendBytes(frame, zmq.DONTWAIT); err != nil {
			t.Fatal(err)
		}
		m, err := server.Recv()
		var bad *BadMessage
		switch {
		case errors.As(err, &bad):
			if bad.Answerable() {
				e := bad.Event
				e.Class = wire.ClassClient
				if _, err := server.Send(bad.Route, e); err != nil {
					t.Error(err)
				}
			}
		case err != nil:
			t.Error(err)
		case !usableUID(m.Event.UID):
			t.Errorf("uid %q", m.Event.UID)
		}
		for !errors.Is(err, ErrNone) {
			_, err = client.Recv()
		}
	})
}
