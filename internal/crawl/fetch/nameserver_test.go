package fetch

import (
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/examples/hostileweb/nameserver"
)

// serveOn serves on another loopback address with the port of u and counts requests.
func serveOn(t *testing.T, ip, u string, requests *atomic.Int32) {
	t.Helper()
	_, port, err := net.SplitHostPort(u[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) })}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
}

// A real name server changes its answers behind Go's resolver. The client dials only
// permitted addresses and never reaches a private one. 127.0.0.1 is the public address of
// this test, 127.0.0.2 the private one.
func TestLyingNameServers(t *testing.T) {
	public, private := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	answers := func(name string, v6 bool, n int) nameserver.Answer {
		switch name {
		case "rebind.test": // one permitted answer, then refused ones
			if n == 1 {
				return nameserver.Answer{Addrs: []netip.Addr{public}}
			}
			return nameserver.Answer{Addrs: []netip.Addr{private}}
		case "turns.test": // alternates
			if n%2 == 1 {
				return nameserver.Answer{Addrs: []netip.Addr{public}}
			}
			return nameserver.Answer{Addrs: []netip.Addr{private}}
		case "mixed.test":
			return nameserver.Answer{Addrs: []netip.Addr{private, public, netip.MustParseAddr("::1")}}
		case "private.test":
			return nameserver.Answer{Addrs: []netip.Addr{private}}
		case "six.test":
			return nameserver.Answer{Addrs: []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("64:ff9b::7f00:2")}}
		case "mapped.test":
			return nameserver.Answer{Addrs: []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.2")}}
		case "flood.test":
			var addrs []netip.Addr
			for i := range 60 {
				addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)}))
			}
			return nameserver.Answer{Addrs: addrs}
		case "silent.test":
			return nameserver.Answer{Silent: true}
		}
		return nameserver.Answer{}
	}
	names, err := nameserver.Start("127.0.0.1:0", answers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { names.Close() })
	var reached atomic.Int32
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // each request looks the name up again
		if r.URL.Path == "/go" {
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	})
	serveOn(t, "127.0.0.2", u, &reached)
	fresh := func() *Client {
		return newClient(t, Config{Resolver: &net.Resolver{PreferGo: true, Dial: names.Dial}})
	}

	c := fresh()
	must(t, c, Request{URL: named(u, "rebind.test")})
	fails(t, c, Request{URL: named(u, "rebind.test")}, Guard)
	if n := names.Asked("rebind.test"); n != 2 {
		t.Errorf("looked up %d times for 2 connections", n)
	}
	// The answer changes between the hops of one chain.
	fails(t, c, Request{URL: named(u, "turns.test") + "/go", MaxRedirects: 5}, Guard)
	must(t, c, Request{URL: named(u, "mixed.test")})
	for _, name := range []string{"private.test", "six.test", "mapped.test", "flood.test"} {
		fails(t, c, Request{URL: named(u, name)}, Guard)
	}
	fails(t, c, Request{URL: named(u, "nothing.test")}, Connect)
	fails(t, c, Request{URL: named(u, "silent.test"), ConnectTimeout: 100 * time.Millisecond}, Timeout)
	// Concurrent requests: some succeed, none reaches the private address.
	done := make(chan Kind, 20)
	for range cap(done) {
		go func() {
			_, err := c.Get(t.Context(), Request{URL: named(u, "turns.test"), Timeout: time.Minute})
			done <- KindOf(err)
		}()
	}
	for range cap(done) {
		if k := <-done; k != None && k != Guard {
			t.Errorf("fault %v", k)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the private address was reached %d times", n)
	}
}
