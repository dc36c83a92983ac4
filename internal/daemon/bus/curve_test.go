package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// party is a holder of keys.
type party struct{ public, secret string }

func newParty(t *testing.T) party {
	t.Helper()
	public, secret, err := zmq.NewCurveKeypair()
	if err != nil {
		t.Fatal(err)
	}
	return party{public, secret}
}

func (p party) to(server party) *Curve {
	return &Curve{Public: p.public, Secret: p.secret, ServerPublic: server.public}
}

// guests is an Allower that tests change.
type guests struct {
	mu    sync.Mutex
	keys  map[string]bool
	asked int
	err   error
}

func invite(parties ...party) *guests {
	g := &guests{keys: map[string]bool{}}
	for _, p := range parties {
		g.keys[p.public] = true
	}
	return g
}

func (g *guests) Allowed(public string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.keys[public], g.err
}

func (g *guests) set(p party, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[p.public] = ok
}

func (g *guests) questions() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// awaitLine waits until one line of the log has all words.
func awaitLine(t *testing.T, log *testlog.Recorder, words ...string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("a log line has %q", words), func() bool { return log.Count(words...) > 0 })
}

// bindWithKeys binds a socket with keys.
func bindWithKeys(t *testing.T, b *Bus, server party, allowed Allower) (*Socket, *testlog.Recorder) {
	t.Helper()
	j := &testlog.Recorder{}
	return bind(t, b, TCP("127.0.0.1", 0), Options{
		Curve: &Curve{Secret: server.secret, Allowed: allowed}, Log: slog.New(slog.NewTextHandler(j, nil)), MaxFrame: 1 << 20,
	}), j
}

// visit connects and sends one event.
func visit(t *testing.T, b *Bus, s *Socket, keys *Curve, uid string) *Socket {
	t.Helper()
	c, err := b.Connect(s.Endpoint(), Options{Curve: keys, Watch: true, Linger: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// A server may refuse before the send.
	if _, err := c.Send(nil, event(uid)); err != nil && !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	return c
}

// receives takes the next message, checks its uid and answers it.
func receives(t *testing.T, s, client *Socket, uid string) {
	t.Helper()
	m, err := next(t, s)
	if err != nil || m.Event.UID != uid {
		t.Fatalf("%+v, %v; want %s", m, err, uid)
	}
	if _, err := s.Send(m.Route, event(uid)); err != nil {
		t.Fatal(err)
	}
	if client == nil {
		return
	}
	if m, err := next(t, client); err != nil || m.Event.UID != uid {
		t.Fatalf("the answer: %+v, %v", m, err)
	}
}

// refused waits for the refusal of a connection.
func refused(t *testing.T, c *Socket, want string) {
	t.Helper()
	for range 2 { // the refusal is permanent
		if _, err := next(t, c); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
}

func TestCurve(t *testing.T) {
	server, alice, bob := newParty(t), newParty(t), newParty(t)
	b := newBus(t)
	s, _ := bindWithKeys(t, b, server, invite(alice))
	receives(t, s, visit(t, b, s, alice.to(server), "alice"), "alice")

	cases := []struct {
		name   string
		keys   *Curve
		client string   // the error of the client
		log    []string // words in the server's log
	}{
		{"unlisted key", bob.to(server), "does not list", []string{"not listed", "address=127.0.0.1", bob.public}},
		{"wrong server key", alice.to(bob), "it has another public key", []string{"another public key", "address="}},
		{"no keys", nil, "want", []string{"address="}},
		{"public key without its secret", &Curve{Public: alice.public, Secret: bob.secret, ServerPublic: server.public}, "it has another public key", []string{"another public key", "address="}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			list := invite(alice)
			s, log := bindWithKeys(t, b, server, list)
			refused(t, visit(t, b, s, tc.keys, "refused"), tc.client)
			awaitLine(t, log, append(tc.log, "client refused")...)
			// The refused message was dropped: the next one is alice's.
			receives(t, s, visit(t, b, s, alice.to(server), "alice"), "alice")
		})
	}
	t.Run("keys for a server without keys", func(t *testing.T) {
		plain := bind(t, b, TCP("127.0.0.1", 0), Options{})
		refused(t, visit(t, b, plain, alice.to(server), "refused"), "uses no keys")
		receives(t, plain, visit(t, b, plain, nil, "plain"), "plain")
	})
	t.Run("inproc ignores keys", func(t *testing.T) {
		inner := bind(t, b, Inproc("x"), Options{Curve: &Curve{Secret: server.secret, Allowed: invite()}})
		c, err := b.Connect(Inproc("x"), Options{Curve: alice.to(server)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Send(nil, event("u")); err != nil {
			t.Fatal(err)
		}
		receives(t, inner, c, "u")
	})
	t.Run("incomplete keys", func(t *testing.T) {
		for _, keys := range []*Curve{{}, {Public: alice.public, Secret: alice.secret}, {Public: "x", Secret: "y", ServerPublic: "z"}} {
			if c, err := b.Connect(s.Endpoint(), Options{Curve: keys}); err == nil {
				c.Close()
				t.Errorf("connected with %+v", keys)
			}
		}
	})
}

func TestCurvePrintsNoSecret(t *testing.T) {
	alice, server := newParty(t), newParty(t)
	c := alice.to(server)
	shown := struct{ Curve *Curve }{c}
	asJSON, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", *c), fmt.Sprintf("%+v", shown), string(asJSON)} {
		if strings.Contains(text, alice.secret) {
			t.Errorf("it prints as %s", text)
		}
	}
}

// Each socket has its own list.
func TestListsAreSeparate(t *testing.T) {
	server, alice, bob := newParty(t), newParty(t), newParty(t)
	b := newBus(t)
	operators, _ := bindWithKeys(t, b, server, invite(alice))
	clients, _ := bindWithKeys(t, b, server, invite(alice, bob))
	refused(t, visit(t, b, operators, bob.to(server), "bob"), "does not list")
	receives(t, clients, visit(t, b, clients, bob.to(server), "bob"), "bob")
	receives(t, operators, visit(t, b, operators, alice.to(server), "alice"), "alice")

	// Closing one socket does not affect the handshakes of the other.
	clients.Close()
	receives(t, operators, visit(t, b, operators, alice.to(server), "alice"), "alice")
	refused(t, visit(t, b, operators, bob.to(server), "bob"), "does not list")
}

// A client removed from the list is refused, on open and on new connections.
func TestListedThenRemoved(t *testing.T) {
	server, alice, bob := newParty(t), newParty(t), newParty(t)
	b := newBus(t)
	list := invite(alice, bob)
	s, _ := bindWithKeys(t, b, server, list)
	c := visit(t, b, s, alice.to(server), "before")
	receives(t, s, c, "before")
	list.set(alice, false)
	if _, err := c.Send(nil, event("after")); err != nil {
		t.Fatal(err)
	}
	_, err := next(t, s)
	var bad *BadMessage
	if !errors.As(err, &bad) || bad.Answerable() || bad.Route != nil || !strings.Contains(err.Error(), alice.public) || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	refused(t, visit(t, b, s, alice.to(server), "again"), "does not list")
	receives(t, s, visit(t, b, s, bob.to(server), "bob"), "bob")
	list.set(alice, true)
	receives(t, s, visit(t, b, s, alice.to(server), "welcome"), "welcome")
}

type broken struct{}

func (broken) Allowed(string) (bool, error) { panic("no list") }

// A list that returns an error still decides; the error is logged.
func TestFailingLists(t *testing.T) {
	server, alice := newParty(t), newParty(t)
	b := newBus(t)
	t.Run("error", func(t *testing.T) {
		list := invite(alice)
		list.err = errors.New("line 7 is no key")
		s, log := bindWithKeys(t, b, server, list)
		receives(t, s, visit(t, b, s, alice.to(server), "alice"), "alice")
		awaitLine(t, log, "level=WARN", "list of clients", "line 7 is no key")
	})
	t.Run("panic", func(t *testing.T) {
		s, log := bindWithKeys(t, b, server, broken{})
		refused(t, visit(t, b, s, alice.to(server), "alice"), "does not list")
		awaitLine(t, log, "list of clients", "no list")
	})
}

// A thousand refused connections do not block listed clients and do not fill the log.
func TestManyRefused(t *testing.T) {
	const strangers, each, visits = 4, 60, 100
	server, alice, bob := newParty(t), newParty(t), newParty(t)
	outside, b := newBus(t), newBus(t)
	list := invite(alice)
	s, log := bindWithKeys(t, b, server, list)
	regular := visit(t, outside, s, alice.to(server), "0")
	receives(t, s, regular, "0")

	var joined sync.WaitGroup
	failures := make(chan error, strangers)
	for range strangers {
		joined.Go(func() {
			for range each {
				c, err := outside.Connect(s.Endpoint(), Options{Curve: bob.to(server), Watch: true, Linger: -1})
				if err != nil {
					failures <- err
					return
				}
				p := NewPoller(c)
				for end := time.Now().Add(patience); !errors.Is(err, ErrRefused); _, err = c.Recv() {
					if _, e := p.Wait(100 * time.Millisecond); e != nil || time.Now().After(end) {
						failures <- fmt.Errorf("not refused: %v, %v", e, err)
						c.Close()
						return
					}
				}
				c.Close()
			}
		})
	}
	for i := range visits {
		uid := fmt.Sprint("open", i)
		if _, err := regular.Send(nil, event(uid)); err != nil {
			t.Fatal(err)
		}
		receives(t, s, regular, uid)
		if i%10 == 0 {
			uid = fmt.Sprint("new", i)
			c := visit(t, outside, s, alice.to(server), uid)
			receives(t, s, c, uid)
			c.Close()
		}
	}
	joined.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	if n := list.questions(); n < strangers*each {
		t.Errorf("the list was checked %d times", n)
	}
	if n := strings.Count(log.String(), "not listed"); n == 0 || n > 10 {
		t.Errorf("%d lines in the log", n)
	}
	receives(t, s, visit(t, outside, s, alice.to(server), "end"), "end")
}

// greeting is the first message of a client with CURVE (ZMTP 3.0).
const greeting = "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00CURVE\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Arbitrary bytes on the port do no harm, and the connection is closed.
func TestGarbageOnThePort(t *testing.T) {
	server, alice := newParty(t), newParty(t)
	b := newBus(t)
	s, log := bindWithKeys(t, b, server, invite(alice))
	regular := visit(t, b, s, alice.to(server), "before")
	receives(t, s, regular, "before")
	hello := "\x04\xc8\x05HELLO\x01\x00" + strings.Repeat("\x00", 192)
	acts := map[string]string{
		"silent":           "",
		"bytes":            "\x01\x02\x03 not a known protocol \xff\xfe",
		"HTTP":             "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"TLS":              "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 508),
		"zeros":            strings.Repeat("\x00", 10<<20),
		"half greeting":    greeting[:20],
		"greeting":         greeting,
		"half HELLO":       greeting + hello[:100],
		"HELLO of zeros":   greeting + hello,
		"INITIATE at once": greeting + "\x04\xc8\x08INITIATE" + strings.Repeat("\x00", 191),
		"large command":    greeting + "\x06\x00\x00\x00\x00\x7f\xff\xff\xff" + strings.Repeat("\x00", 4096),
		"message at once":  greeting + "\x00\x05hello",
		"old protocol":     "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x01\x05\x00\x00",
	}
	var joined sync.WaitGroup
	for name, text := range acts {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.Endpoint(), "tcp://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		joined.Go(func() {
			_ = c.SetDeadline(time.Now().Add(patience))
			_, _ = c.Write([]byte(text)) // the server may close the connection meanwhile
			for buffer := make([]byte, 4096); ; {
				if _, err := c.Read(buffer); err != nil {
					if errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%s: the connection is still open", name)
					}
					return
				}
			}
		})
	}
	for i := range 20 {
		uid := fmt.Sprint("among", i)
		if _, err := regular.Send(nil, event(uid)); err != nil {
			t.Fatal(err)
		}
		receives(t, s, regular, uid)
		c := visit(t, b, s, alice.to(server), "new"+uid)
		receives(t, s, c, "new"+uid)
		c.Close()
	}
	joined.Wait()
	receives(t, s, visit(t, b, s, alice.to(server), "after"), "after")
	if n := strings.Count(log.String(), "\n"); n > 20 {
		t.Errorf("%d lines in the log\n%s", n, log)
	}
	awaitLine(t, log, "it does not speak the protocol", "address=")
}

// A frame above the limit ends only the connection of its sender.
func TestLargeFrameWithKeys(t *testing.T) {
	server, alice := newParty(t), newParty(t)
	b := newBus(t)
	s, _ := bindWithKeys(t, b, server, invite(alice))
	big := visit(t, b, s, alice.to(server), "small")
	receives(t, s, big, "small")
	if _, err := big.zmq.SendBytes(make([]byte, 8<<20), zmq.DONTWAIT); err != nil {
		t.Fatal(err)
	}
	receives(t, s, visit(t, b, s, alice.to(server), "other"), "other")
}

// A socket that is never closed keeps the ZAP handler running: clients are still checked.
func TestTermWithAnOpenSocket(t *testing.T) {
	server, alice, bob := newParty(t), newParty(t), newParty(t)
	outside, b := newBus(t), newBus(t) // newBus checks at the end that b has ended
	s, _ := bindWithKeys(t, b, server, invite(alice))
	if err := b.Term(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "1 sockets") {
		t.Errorf("open socket: %v", err)
	}
	refused(t, visit(t, outside, s, bob.to(server), "bob"), "does not list")
	s.Close()
}

func TestThrottle(t *testing.T) {
	var c Throttle
	at := time.Unix(1000, 0)
	steps := []struct {
		kind     string
		after    time.Duration
		heldBack int
		ok       bool
	}{
		{"a", 0, 0, true}, {"a", 0, 0, false}, {"b", 0, 0, true}, {"a", time.Second, 0, false},
		{"a", throttleGap - time.Nanosecond, 0, false}, {"a", throttleGap, 3, true}, {"a", throttleGap, 0, false},
		{"b", throttleGap, 0, true}, {"a", 2 * throttleGap, 1, true},
	}
	for i, s := range steps {
		if heldBack, ok := c.Allow(s.kind, at.Add(s.after)); heldBack != s.heldBack || ok != s.ok {
			t.Errorf("step %d: %d, %t", i, heldBack, ok)
		}
	}
}
