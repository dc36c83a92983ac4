package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/examples/siteserver/site"
)

// Options say where the web listens. The zero value takes free ports of 127.0.0.1 and has
// no log.
type Options struct {
	// Listen is the address of the main host; "" means 127.0.0.1:0. The other hosts take
	// the following ports, or free ones if the port is 0.
	Listen string
	// Log receives a JSON line, a site.Request, for each HTTP request that has ended, one
	// at a time. Nil: no log.
	Log io.Writer
}

// Web is a running hostile web. Its methods are safe for concurrent use.
type Web struct {
	hosts   map[string]string // name to scheme://address
	order   []string
	signer  *authority
	servers []*http.Server
	raws    []net.Listener
	group   sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// Start listens on all hosts. On an error nothing stays open. The caller closes the Web.
func Start(o Options) (_ *Web, err error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	ip, port, err := listenAddress(o.Listen)
	if err != nil {
		return nil, err
	}
	w := &Web{hosts: map[string]string{}, open: map[net.Conn]struct{}{}}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if w.signer, err = newAuthority(); err != nil {
		return nil, err
	}
	byHost := map[string][]Trap{}
	for _, t := range Traps() {
		if byHost[t.Host] == nil {
			w.order = append(w.order, t.Host)
		}
		byHost[t.Host] = append(byHost[t.Host], t)
	}
	for i, name := range w.order {
		at := 0
		if port != 0 {
			at = port + i
		}
		var h http.Handler = w.hostHandler(name, byHost[name])
		if o.Log != nil {
			h = site.Logged(h, o.Log)
		}
		if err := w.startHost(name, ip, at, h); err != nil {
			return nil, fmt.Errorf("start host %q: %w", name, err)
		}
	}
	return w, nil
}

// startHost listens on a port, 0 for a free one, and serves one host.
func (w *Web) startHost(name string, ip net.IP, port int, h http.Handler) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
	if err != nil {
		return err
	}
	listener = &tracked{listener, w}
	scheme := "http://"
	if strings.HasPrefix(name, "tls-") {
		scheme = "https://"
	}
	w.hosts[name] = scheme + listener.Addr().String()
	if talk := plainTalk[name]; talk != nil {
		w.raws = append(w.raws, listener)
		w.group.Go(func() { acceptConnections(listener, talk) })
		return nil
	}
	for _, t := range tlsTraps() {
		if t.name != name {
			continue
		}
		cert, err := w.signer.issueCertificate(t, ip)
		if err != nil {
			listener.Close()
			return err
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}})
	}
	// No write timeout: slow answers are a purpose of this server.
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	w.servers = append(w.servers, server)
	w.group.Go(func() { _ = server.Serve(listener) })
	return nil
}

// listenAddress parses a numeric address, which the certificates contain.
func listenAddress(text string) (net.IP, int, error) {
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		return nil, 0, fmt.Errorf("listen on %q: %w", text, err)
	}
	ip := net.ParseIP(host)
	port, err := strconv.Atoi(portText)
	if ip == nil || err != nil || port < 0 || port+len(Traps()) > 65535 {
		return nil, 0, fmt.Errorf("listen on %q: expected an IP address and a port, such as 127.0.0.1:8990", text)
	}
	return ip, port, nil
}

// acceptConnections calls talk for every connection.
func acceptConnections(l net.Listener, talk func(c net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if c.SetDeadline(time.Now().Add(longestTalk)) == nil {
				talk(c)
			}
		}()
	}
}

// hostHandler serves one host.
func (w *Web) hostHandler(name string, traps []Trap) http.Handler {
	routes := map[string]http.HandlerFunc{}
	for _, t := range traps {
		routes[t.Path] = t.serve
	}
	for _, f := range robotsFiles() {
		if f.name == name {
			routes["/robots.txt"] = f.serve
		}
	}
	if name == "" {
		routes["/"] = w.serveIndex
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		serve := routes[r.URL.Path]
		switch {
		case serve != nil:
		case strings.HasPrefix(r.URL.Path, "/trap/grow/"):
			serve = serveGrowing
		case strings.HasPrefix(r.URL.Path, "/trap/session"):
			serve = serveSession
		case strings.HasPrefix(r.URL.Path, "/trap/random/"):
			serve = serveRandomLinks
		case strings.HasPrefix(r.URL.Path, "/trap/"):
			serve = serveText(htmlUTF8, doc)
		default:
			serve = http.NotFound
		}
		serve(rw, r)
	})
}

// URL returns the URL of a trap.
func (w *Web) URL(t Trap) string { return w.hosts[t.Host] + t.Path }

// Root returns the URL of the page that lists all traps.
func (w *Web) Root() string { return w.hosts[""] + "/" }

// Host is one server of the web.
type Host struct{ Name, URL string }

// Hosts lists all hosts. The main one, with the name "", is first.
func (w *Web) Hosts() []Host {
	var list []Host
	for _, name := range w.order {
		list = append(list, Host{name, w.hosts[name] + "/"})
	}
	return list
}

// Authority returns the PEM certificate that a client must trust so that only the bad TLS
// hosts fail.
func (w *Web) Authority() []byte { return w.signer.certificatePEM() }

// Close ends all connections and waits for the servers. It may be called more than once.
func (w *Web) Close() error {
	w.mu.Lock()
	w.closed = true
	var open []net.Conn
	for c := range w.open {
		open = append(open, c)
	}
	w.mu.Unlock()
	var errs []error
	for _, s := range w.servers {
		errs = append(errs, s.Close())
	}
	for _, l := range w.raws {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for _, c := range open {
		c.Close() // the servers do not close hijacked connections
	}
	w.group.Wait()
	return errors.Join(errs...)
}

// tracked records the open connections of a listener.
type tracked struct {
	net.Listener
	web *Web
}

func (t *tracked) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("accept a connection of type %T", c)
	}
	k := &known{tcp, t.web}
	t.web.mu.Lock()
	defer t.web.mu.Unlock()
	if t.web.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	t.web.open[k] = struct{}{}
	return k, nil
}

// known is a recorded connection.
type known struct {
	*net.TCPConn
	web *Web
}

func (k *known) Close() error {
	k.web.mu.Lock()
	delete(k.web.open, k)
	k.web.mu.Unlock()
	return k.TCPConn.Close()
}
