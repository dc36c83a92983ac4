// Package nameserver is a hostile DNS server: its answers may change with each question, be
// unusual, or be missing.
//
// It tests the egress guard of package fetch against DNS rebinding: a name that resolves to
// a permitted address when it is checked, and to a private network when it is dialled.
//
//	s, err := nameserver.Start("127.0.0.1:0", nameserver.Tricks)
//	defer s.Close()
//	r := &net.Resolver{PreferGo: true, Dial: s.Dial}
//
// It serves only UDP. Sources: RFC 1035, docs/spec/DECISIONS.md 6.7.
package nameserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer is the answer for a name.
type Answer struct {
	Addrs  []netip.Addr // IPv4 for A questions, others for AAAA
	Silent bool         // send nothing
}

// Answers returns the answer to the n-th question (from 1) of type A or AAAA for a name,
// lower case, without final dot. It is called from one goroutine.
type Answers func(name string, v6 bool, n int) Answer

// Server answers until Close.
type Server struct {
	conn    net.PacketConn
	answers Answers
	done    chan struct{}

	mu    sync.Mutex
	asked map[string]int
}

// Start listens on a UDP address.
func Start(addr string, answers Answers) (*Server, error) {
	conn, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("start name server: %w", err)
	}
	s := &Server{conn: conn, answers: answers, done: make(chan struct{}), asked: map[string]int{}}
	go s.servePackets()
	return s, nil
}

// Addr returns the address of the server.
func (s *Server) Addr() string { return s.conn.LocalAddr().String() }

// Dial connects a net.Resolver to this server and ignores the requested address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "udp", s.Addr())
}

// Asked returns the number of A questions for a name.
func (s *Server) Asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name+"/A"]
}

// Close stops the server.
func (s *Server) Close() error {
	err := s.conn.Close()
	<-s.done
	return err
}

func (s *Server) servePackets() {
	defer close(s.done)
	packet := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if reply := s.buildReply(packet[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from) // the client repeats a lost question
		}
	}
}

// buildReply builds the answer to one packet, or nil.
func (s *Server) buildReply(packet []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(packet)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionDesired: head.RecursionDesired},
		Questions: []dnsmessage.Question{q},
	}
	if q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA {
		a := s.answers(name, q.Type == dnsmessage.TypeAAAA, s.countQuestion(name, q.Type))
		if a.Silent {
			return nil
		}
		// TTL 0, so that no client caches the answer.
		rr := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		for _, addr := range a.Addrs {
			switch {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: rr, Body: &dnsmessage.AResource{A: addr.As4()}})
			case !addr.Is4() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: rr, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
		if len(a.Addrs) == 0 {
			m.RCode = dnsmessage.RCodeNameError
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// countQuestion counts one question.
func (s *Server) countQuestion(name string, t dnsmessage.Type) int {
	kind := "/A"
	if t == dnsmessage.TypeAAAA {
		kind = "/AAAA"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) > 10_000 { // bounds memory under random names
		clear(s.asked)
	}
	s.asked[name+kind]++
	return s.asked[name+kind]
}

// Tricks are the names of the program hostileweb.
func Tricks(name string, v6 bool, n int) Answer {
	here, inside := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")
	switch name {
	case "rebind.test":
		if n == 1 {
			return Answer{Addrs: []netip.Addr{here}}
		}
		return Answer{Addrs: []netip.Addr{inside}}
	case "inside.test":
		return Answer{Addrs: []netip.Addr{inside, netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:10.0.0.1")}}
	case "mixed.test":
		return Answer{Addrs: []netip.Addr{inside, here, netip.MustParseAddr("fd00::1")}}
	case "flood.test": // still fits a packet
		addrs := []netip.Addr{}
		for i := range 60 {
			addrs = append(addrs, netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))
		}
		return Answer{Addrs: addrs}
	case "silent.test":
		return Answer{Silent: true}
	}
	return Answer{}
}
