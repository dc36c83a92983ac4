// Package client is an archive.Store on the other side of a connection, and tells observers of new
// commits.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:5510"})
//	if err != nil { ... }
//	defer c.Close()
//	list, err := c.Query(ctx, archive.Query{Where: "domain = 'example.org'", OrderBy: "commitTime DESC"})
//	file, err := c.Open(ctx, list[0], "data.html") // close it
//	w, err := c.Create(ctx, list[0], "words.txt")  // Close stores, Abort forgets
//	err = c.Observe(ctx, lastNumber, func(commits []archive.Commit) error { ... })
//
// Errors of the server are errors of package archive here, too: errors.Is(err, archive.ErrExists).
// Files are streams in both directions: a reader or writer holds one buffer. Each call ends with its
// ctx. A server that says nothing for Config.Patience is an error.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// Config is the section [Client].
type Config struct {
	URL           string        // "http://127.0.0.1:5510", with a path if the server is behind a proxy
	Token         string        // "": none
	CA            string        // file of certificates in PEM that sign that of the server; "": those of the system
	AllowInsecure bool          // a token may travel to another machine without TLS
	Patience      time.Duration // default DefaultPatience
	Lost          func(error)   // if not nil, told why an observer has no connection, before each attempt to get one
}

// DefaultPatience is how long the server may be silent. An observer gets a sign of life four times
// as often.
const DefaultPatience = time.Minute

// workTime is how many times the patience the server may work on a request before it answers.
const workTime = 5

// mostAnswer bounds an answer that is no stream, in bytes.
const mostAnswer = 256 << 20

// Client is a client. Goroutines may share it.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

var _ archive.Store = (*Client)(nil)

// New returns a client. It connects when it is used.
func New(cfg Config) (*Client, error) {
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("address of the archive server %.200q: it must be http://HOST:PORT or https://HOST:PORT", cfg.URL)
	}
	if cfg.Token != "" && base.Scheme == "http" && !isLocalHost(base.Hostname()) && !cfg.AllowInsecure {
		return nil, fmt.Errorf("address of the archive server %s: the token would travel unprotected; use https, or AllowInsecureRemoteAccess = 1", base.Redacted())
	}
	secrets := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CA != "" {
		if secrets.RootCAs, err = readCertificates(cfg.CA); err != nil {
			return nil, err
		}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig: secrets, TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true,
		MaxIdleConnsPerHost: 128, IdleConnTimeout: 30 * time.Second,
		ResponseHeaderTimeout: workTime * cfg.Patience, ExpectContinueTimeout: 5 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	// A redirect would take the token to another server.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg, base, &http.Client{Transport: transport, CheckRedirect: stay}}, nil
}

func isLocalHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func readCertificates(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("certificates of the archive server: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("certificates of the archive server: %s has none in PEM", path)
	}
	return pool, nil
}

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// sendRequest sends a request and checks that the answer has the wanted kind. The caller closes its body.
// An answer of the kind Failed is its error.
func (c *Client) sendRequest(ctx context.Context, q protocol.Request, body io.Reader, want protocol.Kind) (*http.Response, error) {
	place := c.base.JoinPath(protocol.Root, string(q.Kind))
	place.RawQuery = q.Values().Encode()
	r, err := http.NewRequestWithContext(ctx, q.Kind.Method(), place.String(), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Kind, err)
	}
	if c.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	if q.Kind == protocol.Create {
		r.Header.Set("Expect", "100-continue")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		var reason *url.Error
		if errors.As(err, &reason) {
			err = reason.Err // without the URL, which has all parameters
		}
		return nil, fmt.Errorf("%s: archive server at %s: %w", q.Kind, c.base.Host, err)
	}
	if kind := protocol.Kind(answer.Header.Get(protocol.KindHeader)); kind != want {
		defer answer.Body.Close()
		return nil, fmt.Errorf("%s: %w", q.Kind, c.failureOf(answer, kind))
	}
	return answer, nil
}

// failureOf returns the error of an answer that has not the wanted kind.
func (c *Client) failureOf(answer *http.Response, kind protocol.Kind) error {
	var f protocol.Failure
	err := json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&f)
	if kind != protocol.Failed || err != nil {
		return fmt.Errorf("%s answers as no archive server does (HTTP %s, kind %.50q); check address and port", c.base.Host, answer.Status, kind)
	}
	return f.Err()
}

// requestValue sends a request without a stream and reads the answer.
func requestValue[T any](ctx context.Context, c *Client, q protocol.Request, body io.Reader, want protocol.Kind) (value T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.sendRequest(ctx, q, body, want)
	if err != nil {
		return value, err
	}
	defer answer.Body.Close()
	text := &watched{io.LimitReader(answer.Body, mostAnswer), cancel, c.cfg.Patience}
	if err := json.NewDecoder(text).Decode(&value); err != nil {
		return value, fmt.Errorf("%s: read the answer of %s: %w", q.Kind, c.base.Host, err)
	}
	_, _ = io.Copy(io.Discard, text) // so that the connection can be used again
	return value, nil
}

// Query implements archive.Store.
func (c *Client) Query(ctx context.Context, q archive.Query) ([]archive.Meta, error) {
	list := []archive.Meta{}
	err := c.Each(ctx, q, func(m archive.Meta) error {
		list = append(list, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Each implements archive.Store. A connection that breaks before the end of the list is an error.
func (c *Client) Each(ctx context.Context, q archive.Query, do func(archive.Meta) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.sendRequest(ctx, protocol.Request{Kind: protocol.Query, Query: q}, nil, protocol.Versions)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text := &watched{answer.Body, cancel, c.cfg.Patience}
	list := json.NewDecoder(text)
	failed := func(err error) error { return fmt.Errorf("query: read the answer of %s: %w", c.base.Host, err) }
	if start, err := list.Token(); err != nil || start != json.Delim('[') {
		return failed(cmp.Or(err, errors.New("it is no list")))
	}
	for list.More() {
		var m archive.Meta
		if err := list.Decode(&m); err != nil {
			return failed(err)
		}
		if err := do(m); err != nil {
			return err
		}
	}
	if _, err := list.Token(); err != nil {
		return failed(err)
	}
	_, _ = io.Copy(io.Discard, text) // so that the connection can be used again
	return nil
}

// List implements archive.Store.
func (c *Client) List(ctx context.Context, m archive.Meta) ([]archive.File, error) {
	return requestValue[[]archive.File](ctx, c, protocol.Request{Kind: protocol.List, Meta: m}, nil, protocol.Files)
}

// Tag implements archive.Store.
func (c *Client) Tag(ctx context.Context, m archive.Meta, name string) (string, error) {
	return requestValue[string](ctx, c, protocol.Request{Kind: protocol.Tag, Meta: m, Name: name}, nil, protocol.Node)
}

// SetTag implements archive.Store. If the connection is lost, the node may be stored or not.
func (c *Client) SetTag(ctx context.Context, m archive.Meta, name, content string) error {
	if len(content) > protocol.MaxNode {
		return fmt.Errorf("tag %s of %s: %w (%d bytes)", name, m.URL, protocol.ErrTooLarge, protocol.MaxNode)
	}
	_, err := requestValue[any](ctx, c, protocol.Request{Kind: protocol.SetTag, Meta: m, Name: name}, strings.NewReader(content), protocol.Done)
	return err
}

// Commits implements archive.Store.
func (c *Client) Commits(ctx context.Context, after int64, limit int) ([]archive.Commit, error) {
	return requestValue[[]archive.Commit](ctx, c, protocol.Request{Kind: protocol.Commits, After: after, Limit: limit}, nil, protocol.Changes)
}

// Status returns what the server knows of its observers and of the last search.
func (c *Client) Status(ctx context.Context) (protocol.ServerState, error) {
	return requestValue[protocol.ServerState](ctx, c, protocol.Request{Kind: protocol.Status}, nil, protocol.State)
}
