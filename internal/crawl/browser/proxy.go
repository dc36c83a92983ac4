package browser

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/wire/prop"
)

// Limits of the proxy of one page.
const (
	maxConnections  = 64  // at once
	maxFailures     = 256 // hosts whose failure is remembered
	proxyIdle       = 30 * time.Second
	proxyDialTime   = 15 * time.Second
	proxyHeaderTime = 60 * time.Second
	maxHeader       = 1 << 20 // bytes of a response header
	maxRedirectBody = 16 << 10
)

// pageProxy is the forward proxy of one page, on loopback. It dials through the egress
// guard, counts traffic, and records why a host was not reached, which Chromium does not
// report. Only processes of this user can connect.
type pageProxy struct {
	cfg      *Config
	upstream *url.URL // proxy of the request; may be nil

	listener  net.Listener
	server    *http.Server
	transport *http.Transport
	life      context.Context
	end       context.CancelFunc
	tunnels   sync.WaitGroup
	slots     chan struct{}

	bytes atomic.Int64 // received from all servers
	full  atomic.Bool  // Config.MaxTraffic is exceeded

	mu       sync.Mutex
	failures map[string]error // by host and port
	repaired map[string]bool  // URLs whose response header violates HTTP
	cut      map[string]error // URLs whose response body broke off, and why

	redirects map[string]*redirected // by URL
}

var errTraffic = errors.New("the page exceeds its traffic limit")

// newPageProxy starts a proxy, which connects through upstream unless it is nil.
func newPageProxy(cfg *Config, upstream *url.URL) (*pageProxy, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &pageProxy{cfg: cfg, upstream: upstream, listener: listener, slots: make(chan struct{}, maxConnections), failures: map[string]error{}, repaired: map[string]bool{}, cut: map[string]error{}, redirects: map[string]*redirected{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return repairHeaders(p.dialForPage(ctx, network, addr))
		},
		DisableCompression:     true, // pass bodies on unchanged
		MaxIdleConnsPerHost:    6,
		IdleConnTimeout:        proxyIdle,
		MaxResponseHeaderBytes: maxHeader,
	}
	if p.forwardsUnchanged() {
		p.transport.Proxy = http.ProxyURL(upstream)
		p.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return repairHeaders(p.dialUpstream(ctx))
		}
	}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serveRequest),
		ReadHeaderTimeout: proxyHeaderTime,
		IdleTimeout:       proxyIdle,
		MaxHeaderBytes:    1 << 20,
		BaseContext:       func(net.Listener) context.Context { return p.life },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go p.server.Serve(&ownListener{listener})
	return p, nil
}

// proxyURL returns the URL of the proxy.
func (p *pageProxy) proxyURL() string { return "http://" + p.listener.Addr().String() }

// closeConnections closes all connections and waits for their goroutines.
func (p *pageProxy) closeConnections() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.server.Close()
	p.transport.CloseIdleConnections()
	p.tunnels.Wait()
}

// dialFailure returns why the last dial to a host and port failed, or nil.
func (p *pageProxy) dialFailure(hostPort string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures[hostPort]
}

func (p *pageProxy) recordDial(addr string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.failures, addr)
	} else if len(p.failures) < maxFailures || p.failures[addr] != nil {
		p.failures[addr] = err
	}
}

// dialForPage dials addr for a page, through the upstream proxy if there is one.
func (p *pageProxy) dialForPage(ctx context.Context, network, addr string) (net.Conn, error) {
	if p.full.Load() {
		return nil, errTraffic
	}
	ctx, cancel := context.WithTimeout(ctx, proxyDialTime)
	defer cancel()
	var conn net.Conn
	var err error
	if p.upstream != nil {
		conn, err = p.connectUpstream(ctx, addr)
	} else if conn, err = p.cfg.Dial(ctx, network, addr); err == nil {
		conn = &counted{Conn: conn, proxy: p}
	}
	if ctx.Err() == nil || !errors.Is(ctx.Err(), context.Canceled) {
		p.recordDial(strings.ToLower(addr), err)
	}
	return conn, err
}

func (p *pageProxy) serveRequest(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-r.Context().Done():
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.serveTunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "" && r.URL.User == nil:
		p.forwardRequest(w, r)
	default:
		http.Error(w, "not a request to a proxy", http.StatusBadRequest)
	}
}

// forwardRequest passes on one request in plain HTTP. A failure closes the connection without a
// response, since Chromium would take a response for the server's.
func (p *pageProxy) forwardRequest(w http.ResponseWriter, r *http.Request) {
	target := hostPort(r.URL)
	if p.forwardsUnchanged() {
		err := p.cfg.Resolve(r.Context(), r.URL.Hostname())
		p.recordDial(target, err)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	r, received := p.withExpectation(r)
	rp := &httputil.ReverseProxy{
		Rewrite:   func(pr *httputil.ProxyRequest) {}, // keep the URL, add no forwarding fields
		Transport: p.transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			p.cfg.Log.Debug("page proxy cannot connect", "host", r.URL.Host, "error", err)
			var op *net.OpError
			if up := new(upstreamError); errors.As(err, &up) {
				p.recordDial(target, up)
			} else if kind := kindOfResponse(err); kind != None {
				p.recordDial(target, &responseError{kind, err})
			} else if errors.As(err, &op) && op.Op == "proxyconnect" {
				p.recordDial(target, &upstreamError{err})
			}
			panic(http.ErrAbortHandler)
		},
		ModifyResponse: func(resp *http.Response) error {
			received()
			p.recordDial(target, nil)
			resp.Body = &watchedBody{p.keepRedirect(r.URL.String(), resp), func(err error) { p.cutBody(r.URL.String(), err) }}
			if resp.StatusCode == http.StatusProxyAuthRequired && p.forwardsUnchanged() {
				return &upstreamError{fmt.Errorf("status %s", prop.Clip(resp.Status))}
			}
			return nil
		},
		FlushInterval: -1,
	}
	rp.ServeHTTP(w, r)
}

// serveTunnel serves CONNECT.
func (p *pageProxy) serveTunnel(w http.ResponseWriter, r *http.Request) {
	if _, _, err := net.SplitHostPort(r.Host); err != nil {
		http.Error(w, "want host and port", http.StatusBadRequest)
		return
	}
	server, err := p.dialForPage(r.Context(), "tcp", r.Host)
	if err != nil {
		p.cfg.Log.Debug("page proxy cannot connect", "host", r.Host, "error", err)
		http.Error(w, "not connected", http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	p.mu.Lock()
	if p.life.Err() != nil {
		p.mu.Unlock()
		return
	}
	p.tunnels.Add(1)
	p.mu.Unlock()
	defer p.tunnels.Done()
	stop := context.AfterFunc(p.life, func() { client.Close(); server.Close() })
	defer stop()
	client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(server, withBuffered(buffered.Reader, client))
		closeWrite(server)
	}()
	io.Copy(client, server)
	client.Close()
	server.Close()
	<-done
}

// withBuffered reads the bytes that ahead has buffered, then conn.
func withBuffered(ahead *bufio.Reader, conn net.Conn) io.Reader {
	if n := ahead.Buffered(); n > 0 {
		return io.MultiReader(io.LimitReader(ahead, int64(n)), conn)
	}
	return conn
}

func closeWrite(conn net.Conn) {
	if c, ok := conn.(*counted); ok {
		conn = c.Conn
	}
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
}

// counted is a connection to a server. Its bytes count as traffic of the page.
type counted struct {
	net.Conn
	proxy *pageProxy
}

func (c *counted) Read(b []byte) (int, error) {
	if c.proxy.full.Load() {
		return 0, errTraffic
	}
	n, err := c.Conn.Read(b)
	if c.proxy.bytes.Add(int64(n)) > c.proxy.cfg.MaxTraffic {
		c.proxy.full.Store(true)
	}
	return n, err
}

// ownListener accepts connections of this user's processes only. Others could use the
// crawler's network access otherwise.
type ownListener struct{ net.Listener }

func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if ownPeer(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

// ownPeer reports whether this user owns the other end of a loopback connection. The kernel
// lists the owner of every socket.
func ownPeer(conn net.Conn) bool {
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false
	}
	from, to := procAddress(conn.RemoteAddr()), procAddress(conn.LocalAddr())
	for line := range strings.Lines(string(sockets)) {
		// sl local remote state queues timer retransmits uid
		fields := strings.Fields(line)
		if len(fields) > 7 && fields[1] == from && fields[2] == to {
			uid, err := strconv.Atoi(fields[7])
			return err == nil && uid == os.Geteuid()
		}
	}
	return false
}

// procAddress formats an IPv4 address as in /proc/net/tcp: the IP address as a native-endian
// number in hex, and the port.
func procAddress(a net.Addr) string {
	tcp := a.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port)
}
