// Package fetch requests one URL and returns one response, within limits.
//
// A Client sends requests for many goroutines and hosts, keeps connections, speaks HTTP/1.1
// and HTTP/2, and follows redirects and decodes bodies itself. Everything that a server
// controls has a limit: time, header, body, redirects, and the growth of a compressed body.
// Every dialled address passes the egress guard, whatever name, redirect or proxy led to
// it. Errors are of type *Fault, whose Kind the crawler maps to its error bits.
//
// The caller decides whether and when a URL may be fetched: Request.Allow is called before
// each redirect. This package stores nothing.
//
//	c := fetch.New(fetch.Config{})
//	defer c.Close()
//	resp, err := c.Get(ctx, fetch.Request{URL: "https://example.com/", Timeout: 30 * time.Second})
//	if fetch.KindOf(err) == fetch.Timeout { ... }
//
// Sources: docs/spec/crawling.md 2.3, 4.2, 4.4 and 7.2; docs/spec/DECISIONS.md 6.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Defaults of Config and Request.
const (
	DefaultUserAgent      = "HCE-DC/1.0"
	DefaultTimeout        = 30 * time.Second
	DefaultConnectTimeout = 10 * time.Second
	DefaultMaxBytes       = 512 << 20
	DefaultMaxHeaderBytes = 256 << 10
)

// maxIdlePerHost is the highest number of concurrent requests to one host, so that each finds its
// connection again.
const maxIdlePerHost = 64

// Resolver looks up the addresses of a name; *net.Resolver implements it. network is always
// "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config holds the settings that all requests of a Client share. The zero Config is usable.
type Config struct {
	// AllowedNetworks are exceptions from the egress guard, see Permitted.
	AllowedNetworks []netip.Prefix
	// MaxBytes limits every decoded body, whatever its request allows.
	MaxBytes int64
	// MaxHeaderBytes limits the status line and header of a response.
	MaxHeaderBytes int64
	// MinRate is the least number of bytes a second at which a body may arrive, over RateWindow.
	// A slower one is a Timeout. 0: none.
	MinRate int64
	// RateWindow is 10 s unless set.
	RateWindow time.Duration
	// RootCAs replaces the system's certificate authorities.
	RootCAs *x509.CertPool
	// Resolver replaces the system's resolver.
	Resolver Resolver
}

// Client fetches URLs. Goroutines may share it.
type Client struct {
	cfg        Config
	transports map[pool]*http.Transport

	life context.Context // ends with Close
	end  context.CancelFunc
}

// pool identifies the connections that a request may use. Without a pool of its own, a
// request that wants a TLS check could use a connection without one.
type pool struct{ proxied, insecure, legacy bool }

// New returns a Client. It opens no connection.
func New(cfg Config) *Client {
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), DefaultMaxBytes)
	cfg.RateWindow = cmp.Or(max(cfg.RateWindow, 0), rateWindow)
	cfg.MaxHeaderBytes = cmp.Or(max(cfg.MaxHeaderBytes, 0), DefaultMaxHeaderBytes)
	if cfg.Resolver == nil {
		cfg.Resolver = &net.Resolver{PreferGo: true} // lookups of libc cannot be cancelled
	}
	c := &Client{cfg: cfg, transports: map[pool]*http.Transport{}}
	c.life, c.end = context.WithCancel(context.Background())
	for i := range 8 {
		p := pool{i&1 > 0, i&2 > 0, i&4 > 0}
		c.transports[p] = c.newTransport(p)
	}
	return c
}

// Close ends running requests with a Cancelled fault, and closes dials and kept
// connections. The Client must not be used afterwards.
func (c *Client) Close() {
	c.end()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// allowLegacy lets a connection use what crypto/tls refuses by default: TLS 1.0 and 1.1, RSA key exchange,
// CBC and 3DES. It offers the curves of before 2024 only: some old servers fail at longer handshakes.
func allowLegacy(conf *tls.Config) {
	conf.MinVersion = tls.VersionTLS10
	conf.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !strings.Contains(suite.Name, "RC4") {
			conf.CipherSuites = append(conf.CipherSuites, suite.ID)
		}
	}
}

// newTransport returns a connection pool. The HTTP/2 pool of net/http ignores the proxy of a
// connection, so requests through a proxy speak HTTP/1.1 only.
func (c *Client) newTransport(p pool) *http.Transport {
	conf := &tls.Config{
		RootCAs:            c.cfg.RootCAs,
		InsecureSkipVerify: p.insecure, // set by the site property TLSVerify=0
		NextProtos:         []string{"h2", "http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if p.legacy {
		allowLegacy(conf)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!p.proxied)
	if p.proxied {
		conf.NextProtos = []string{"http/1.1"}
	}
	return &http.Transport{
		Protocols:              &protocols,
		Proxy:                  func(r *http.Request) (*url.URL, error) { return hopOf(r.Context()).proxy, nil },
		DialContext:            func(ctx context.Context, _, addr string) (net.Conn, error) { return c.dialTransport(ctx, addr, nil) },
		DialTLSContext:         func(ctx context.Context, _, addr string) (net.Conn, error) { return c.dialTransport(ctx, addr, conf) },
		OnProxyConnectResponse: checkProxyResponse,
		TLSClientConfig:        conf, // for TLS through a proxy
		TLSHandshakeTimeout:    DefaultConnectTimeout,
		DisableCompression:     true, // readBody decodes, with limits
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: c.cfg.MaxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:           15 * time.Second,
			PingTimeout:               10 * time.Second,
			MaxReceiveBufferPerStream: 512 << 10,
		},
	}
}
