package nameserver

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func startTricks(t testing.TB) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0", Tricks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Go's resolver understands the answers.
func TestTricks(t *testing.T) {
	s := startTricks(t)
	r := &net.Resolver{PreferGo: true, Dial: s.Dial}
	look := func(name string) []netip.Addr {
		t.Helper()
		addrs, err := r.LookupNetIP(t.Context(), "ip4", name)
		if err != nil {
			t.Fatal(err)
		}
		return addrs
	}
	for i, want := range []string{"127.0.0.1", "10.0.0.1", "10.0.0.1"} {
		if addrs := look("rebind.test"); len(addrs) != 1 || addrs[0].Unmap().String() != want {
			t.Errorf("question %d: %v, want %s", i+1, addrs, want)
		}
	}
	if n := s.Asked("rebind.test"); n != 3 {
		t.Errorf("%d questions are counted", n)
	}
	if addrs := look("mixed.test"); len(addrs) != 2 {
		t.Errorf("mixed.test: %v", addrs)
	}
	if addrs := look("flood.test"); len(addrs) != 60 {
		t.Errorf("flood.test: %d addresses", len(addrs))
	}
	if six, err := r.LookupNetIP(t.Context(), "ip6", "inside.test"); err != nil || len(six) == 0 {
		t.Errorf("inside.test: %v, %v", six, err)
	}
	if _, err := r.LookupNetIP(t.Context(), "ip4", "nothing.test"); err == nil {
		t.Error("nothing.test has an address")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.LookupNetIP(ctx, "ip4", "silent.test"); err == nil {
		t.Error("silent.test has an address")
	}
}

func TestCloseEndsTheServer(t *testing.T) {
	s, err := Start("127.0.0.1:0", Tricks)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Start("nowhere", Tricks); err == nil {
		t.Error("no error for an invalid address")
	}
}

// FuzzReply checks that no packet crashes the server and that an answer is a DNS message.
func FuzzReply(f *testing.F) {
	name := dnsmessage.MustNewName("rebind.test.")
	question, err := (&dnsmessage.Message{Header: dnsmessage.Header{ID: 1}, Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}).Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(question)
	f.Add(question[:len(question)-3])
	f.Add([]byte{})
	f.Add([]byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01")) // a name that points to itself
	s := &Server{answers: Tricks, asked: map[string]int{}}
	f.Fuzz(func(t *testing.T, packet []byte) {
		reply := s.buildReply(packet)
		if reply == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || !m.Response {
			t.Errorf("%v, response %v", err, m.Response)
		}
	})
}
