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
//	c := fetch.New(fetch.Config{UserAgent: "dc/1.0"})
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
	"time"
)

// Defaults of Config and Request.
const (
	DefaultUserAgent      = "HCE-DC/1.0"
	DefaultTimeout        = 30 * time.Second
	DefaultConnectTimeout = 10 * time.Second
	DefaultMaxBytes       = 512 << 20
	DefaultMaxHeaderBytes = 256 << 10
	DefaultIdleTimeout    = 60 * time.Second
	DefaultIdlePerHost    = 2
	defaultIdle           = 256 // connections to all hosts
)

// Resolver looks up the addresses of a name; *net.Resolver implements it. network is always
// "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config holds the settings that all requests of a Client share. The zero Config is usable.
type Config struct {
	// AllowedNetworks are exceptions from the egress guard, see Permitted.
	AllowedNetworks []netip.Prefix
	// UserAgent is sent when a request has none.
	UserAgent string
	// MaxBytes limits every decoded body, whatever its request allows.
	MaxBytes int64
	// MaxHeaderBytes limits the status line and header of a response.
	MaxHeaderBytes int64
	// HeaderTimeout limits the wait for a response header after the request was sent. Zero
	// means the timeout of the request.
	HeaderTimeout time.Duration
	// MaxIdlePerHost and IdleTimeout limit kept connections.
	MaxIdlePerHost int
	IdleTimeout    time.Duration
	// RootCAs replaces the system's certificate authorities.
	RootCAs *x509.CertPool
	// Resolver replaces the system's resolver.
	Resolver Resolver
}

// Client fetches URLs. Goroutines may share it.
type Client struct {
	cfg      Config
	verified *http.Transport
	insecure *http.Transport // for requests with InsecureTLS
	// For requests through a proxy. The HTTP/2 pool ignores the proxy of a connection, so
	// these speak HTTP/1.1 only.
	proxied         *http.Transport
	proxiedInsecure *http.Transport
	dial            *dialer

	life context.Context // ends with Close
	end  context.CancelFunc
}

// New returns a Client. It opens no connection.
func New(cfg Config) *Client {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), DefaultMaxBytes)
	cfg.MaxHeaderBytes = cmp.Or(max(cfg.MaxHeaderBytes, 0), DefaultMaxHeaderBytes)
	cfg.MaxIdlePerHost = cmp.Or(max(cfg.MaxIdlePerHost, 0), DefaultIdlePerHost)
	cfg.IdleTimeout = cmp.Or(max(cfg.IdleTimeout, 0), DefaultIdleTimeout)
	if cfg.Resolver == nil {
		cfg.Resolver = &net.Resolver{PreferGo: true} // lookups of libc cannot be cancelled
	}
	c := &Client{cfg: cfg}
	c.life, c.end = context.WithCancel(context.Background())
	c.dial = &dialer{resolver: cfg.Resolver, allowed: cfg.AllowedNetworks, life: c.life}
	c.verified, c.proxied = c.transport(false, false), c.transport(false, true)
	c.insecure, c.proxiedInsecure = c.transport(true, false), c.transport(true, true)
	return c
}

// Close ends running requests with a Cancelled fault, and closes dials and kept
// connections. The Client must not be used afterwards.
func (c *Client) Close() {
	c.end()
	for _, t := range []*http.Transport{c.verified, c.insecure, c.proxied, c.proxiedInsecure} {
		t.CloseIdleConnections()
	}
}

// transportFor returns the connection pool for a request.
func (c *Client) transportFor(proxied, insecure bool) *http.Transport {
	switch {
	case proxied && insecure:
		return c.proxiedInsecure
	case proxied:
		return c.proxied
	case insecure:
		return c.insecure
	}
	return c.verified
}

// transport returns a connection pool. Pools with different TLS checks are separate.
// Otherwise a request that wants a check could use a connection without one.
func (c *Client) transport(insecure, proxied bool) *http.Transport {
	conf := &tls.Config{
		RootCAs:            c.cfg.RootCAs,
		InsecureSkipVerify: insecure, // set by the site property TLSVerify=0
		NextProtos:         []string{"h2", "http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!proxied)
	if proxied {
		conf.NextProtos = []string{"http/1.1"}
	}
	return &http.Transport{
		Protocols:   &protocols,
		Proxy:       func(r *http.Request) (*url.URL, error) { return hopOf(r.Context()).proxy, nil },
		DialContext: c.dialPlain,
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := c.dial.tls(ctx, addr, conf)
			if err == nil {
				c.limitProxy(conn, hopOf(ctx))
			}
			return conn, err
		},
		OnProxyConnectResponse: checkProxyResponse,
		TLSClientConfig:        conf, // for TLS through a proxy
		TLSHandshakeTimeout:    DefaultConnectTimeout,
		DisableCompression:     true, // readBody decodes, with limits
		MaxIdleConns:           defaultIdle,
		MaxIdleConnsPerHost:    c.cfg.MaxIdlePerHost,
		IdleConnTimeout:        c.cfg.IdleTimeout,
		MaxResponseHeaderBytes: c.cfg.MaxHeaderBytes,
		ResponseHeaderTimeout:  max(c.cfg.HeaderTimeout, 0),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:           15 * time.Second,
			PingTimeout:               10 * time.Second,
			MaxReceiveBufferPerStream: 512 << 10,
		},
	}
}
