// Package fetch turns one URL into one response, within limits.
//
// A Client sends requests for many goroutines and hosts, keeps connections
// between them, speaks HTTP/1.1 and HTTP/2, follows redirects by hand and
// undoes compression itself. Everything a server can stretch has an end: time,
// header, body, redirects, and what a compressed body grows to. Every address
// that is dialled passes the egress guard first, whatever name, redirect or
// proxy led to it. What goes wrong is told by a *Fault, whose Kind the crawler
// maps to its error bits.
//
// Package crawl above decides whether a URL may be fetched and when (robots,
// filters, hostgate); the Allow function of a Request asks it again at each
// redirect. This package knows none of that, and no storage.
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

// Values that a zero field of Config or Request stands for.
const (
	DefaultUserAgent      = "HCE-DC/1.0"
	DefaultTimeout        = 30 * time.Second
	DefaultConnectTimeout = 10 * time.Second
	DefaultMaxBytes       = 512 << 20
	DefaultMaxHeaderBytes = 256 << 10
	DefaultIdleTimeout    = 60 * time.Second
	DefaultIdlePerHost    = 2
	defaultIdle           = 256 // connections of all hosts together
)

// Resolver finds the addresses of a name; *net.Resolver is one. network is
// always "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what all requests of a Client have in common. The zero Config is
// usable.
type Config struct {
	// AllowedNetworks are exceptions from the egress guard, see Permitted.
	AllowedNetworks []netip.Prefix
	// UserAgent is sent when a request has none of its own.
	UserAgent string
	// MaxBytes is the most that any decoded body may have, whatever its request
	// allows.
	MaxBytes int64
	// MaxHeaderBytes bounds status line and header of a response.
	MaxHeaderBytes int64
	// HeaderTimeout bounds the wait for a response header once the request is
	// sent. Zero leaves that to the time-out of the request.
	HeaderTimeout time.Duration
	// MaxIdlePerHost and IdleTimeout bound the connections kept for later.
	MaxIdlePerHost int
	IdleTimeout    time.Duration
	// RootCAs replaces the certificate authorities of the system.
	RootCAs *x509.CertPool
	// Resolver replaces the one of the system.
	Resolver Resolver
}

// Client fetches. It may be used by many goroutines at once.
type Client struct {
	cfg      Config
	verified *http.Transport
	insecure *http.Transport // for requests with InsecureTLS
	// The same for requests through a proxy. The pool of HTTP/2 does not ask by
	// which way a connection goes, so these speak HTTP/1.1 alone.
	proxied         *http.Transport
	proxiedInsecure *http.Transport
	dial            *dialer

	life context.Context // ends with Close
	end  context.CancelFunc
}

// New returns a Client. It opens nothing yet.
func New(cfg Config) *Client {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), DefaultMaxBytes)
	cfg.MaxHeaderBytes = cmp.Or(max(cfg.MaxHeaderBytes, 0), DefaultMaxHeaderBytes)
	cfg.MaxIdlePerHost = cmp.Or(max(cfg.MaxIdlePerHost, 0), DefaultIdlePerHost)
	cfg.IdleTimeout = cmp.Or(max(cfg.IdleTimeout, 0), DefaultIdleTimeout)
	if cfg.Resolver == nil {
		cfg.Resolver = &net.Resolver{PreferGo: true} // look-ups of libc cannot be called off
	}
	c := &Client{cfg: cfg}
	c.life, c.end = context.WithCancel(context.Background())
	c.dial = &dialer{resolver: cfg.Resolver, allowed: cfg.AllowedNetworks, life: c.life}
	c.verified, c.proxied = c.transport(false, false), c.transport(false, true)
	c.insecure, c.proxiedInsecure = c.transport(true, false), c.transport(true, true)
	return c
}

// Close ends requests under way with a Cancelled fault, dials and kept
// connections. The Client must not be used afterwards.
func (c *Client) Close() {
	c.end()
	for _, t := range []*http.Transport{c.verified, c.insecure, c.proxied, c.proxiedInsecure} {
		t.CloseIdleConnections()
	}
}

// transportFor returns the connections that a request may use.
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

// transport returns the connections of one kind of TLS check, and of one kind of
// way. They are kept apart, or a request that asks for a check could be sent over
// a connection that had none.
func (c *Client) transport(insecure, proxied bool) *http.Transport {
	conf := &tls.Config{
		RootCAs:            c.cfg.RootCAs,
		InsecureSkipVerify: insecure, // asked for by the site property TLSVerify=0
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
		OnProxyConnectResponse: proxyAnswered,
		TLSClientConfig:        conf, // for TLS through a proxy
		TLSHandshakeTimeout:    DefaultConnectTimeout,
		DisableCompression:     true, // undone here, with limits
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
