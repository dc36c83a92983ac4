package crawl_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// relayAddr is the source address of relays, so that an origin can recognise them.
var relayAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}

// relay is a proxy: HTTP with CONNECT, and SOCKS5.
type relay struct {
	web   *httptest.Server
	sock  net.Listener
	code  int    // of its own answer to everything; 0: it relays
	text  string // of that answer
	login string // "Basic ..." that it requires; "" for nothing

	onlyTo string // host and port; it refuses others. "" for all

	mu    sync.Mutex
	asked []string
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	p := &relay{}
	p.web = httptest.NewUnstartedServer(p)
	p.web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	p.web.Start()
	t.Cleanup(p.web.Close)
	var err error
	if p.sock, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.sock.Close() })
	go func() {
		for {
			conn, err := p.sock.Accept()
			if err != nil {
				return
			}
			go p.serveSOCKS(conn)
		}
	}()
	return p
}

// http and socks return the addresses of the proxy for USER_PROXY.
func (p *relay) http() string  { return strings.TrimPrefix(p.web.URL, "http://") }
func (p *relay) socks() string { return "socks5://" + p.sock.Addr().String() }

// requests returns the requests that it received: method and host, or path of plain HTTP.
func (p *relay) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func (p *relay) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

func (p *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.note("CONNECT")
	} else {
		p.note(r.Method + " " + r.URL.Path)
	}
	if p.login != "" && r.Header.Get("Proxy-Authorization") != p.login {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if p.onlyTo != "" && r.Host != p.onlyTo {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if p.code != 0 {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(p.code)
		fmt.Fprint(w, p.text)
		return
	}
	target := r.Host
	if r.Method != http.MethodConnect && r.URL.Port() == "" {
		target += ":80"
	}
	server, err := dialFrom(target)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	if r.Method == http.MethodConnect {
		w.WriteHeader(http.StatusOK)
		client, ahead, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		splice(client, ahead, server)
		return
	}
	one := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	one.DialContext = func(context.Context, string, string) (net.Conn, error) { return server, nil }
	r.RequestURI = ""
	r.Header.Del("Proxy-Authorization")
	resp, err := one.RoundTrip(r)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

// serveSOCKS implements RFC 1928 without a login.
func (p *relay) serveSOCKS(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	buf := make([]byte, 256)
	read := func(n int) []byte {
		if _, err := io.ReadFull(conn, buf[:n]); err != nil {
			clear(buf)
		}
		return buf[:n]
	}
	read(int(read(2)[1]))
	conn.Write([]byte{5, 0})
	host := ""
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	}
	port := int(binary.BigEndian.Uint16(read(2)))
	p.note("SOCKS")
	server, err := dialFrom(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	splice(conn, conn, server)
}

// dialFrom connects to target as a relay, on this machine for any name.
func dialFrom(target string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{LocalAddr: relayAddr}
	return d.Dial("tcp", "127.0.0.1:"+port)
}

// splice copies bytes both ways until one side ends.
func splice(client net.Conn, from io.Reader, server net.Conn) {
	go func() {
		io.Copy(server, from)
		server.Close()
	}()
	io.Copy(client, server)
	client.Close()
}

// origin is a server that counts the connections that came from a relay.
type origin struct {
	*httptest.Server

	mu              sync.Mutex
	direct, relayed int
	asked           []string
}

func newOrigin(t *testing.T, handler http.HandlerFunc) *origin {
	t.Helper()
	o := unstarted(handler)
	o.Start()
	t.Cleanup(o.Close)
	return o
}

// newSecureOrigin serves TLS with an unknown certificate.
func newSecureOrigin(t *testing.T, handler http.HandlerFunc) *origin {
	t.Helper()
	o := unstarted(handler)
	o.StartTLS()
	t.Cleanup(o.Close)
	return o
}

func unstarted(handler http.HandlerFunc) *origin {
	o := &origin{}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.asked = append(o.asked, r.Method+" "+r.URL.Path)
		o.mu.Unlock()
		handler(w, r)
	}))
	o.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	o.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state != http.StateNew {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if conn.RemoteAddr().(*net.TCPAddr).IP.Equal(relayAddr.IP) {
			o.relayed++
		} else {
			o.direct++
		}
	}
	return o
}

// checkRelayed fails unless at least so many connections came from relays, and none from elsewhere.
func (o *origin) checkRelayed(t *testing.T, least int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.direct > 0 || o.relayed < least || least == 0 && o.relayed > 0 {
		t.Errorf("%d connections came past the proxy, %d through it: %v", o.direct, o.relayed, o.asked)
	}
}

func (o *origin) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.asked...)
}

// pool returns a USER_PROXY of proxies that are used in this order.
func pool(tries int, hosts ...string) string {
	return poolWith(map[string]any{"tries_count": tries}, hosts...)
}

// poolWith is pool with other members.
func poolWith(members map[string]any, hosts ...string) string {
	list := map[string]any{}
	for i, host := range hosts {
		list[fmt.Sprint("p", i)] = map[string]any{"host": host, "priority": i + 1}
	}
	members["proxies"] = list
	text, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// forget clears the log of a server.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = nil
}
