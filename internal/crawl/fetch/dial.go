package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/crawl/httprepair"
)

const (
	// nextAddress is the delay before the next address of a host is tried in parallel (the
	// "connection attempt delay" of RFC 8305 5).
	nextAddress = 250 * time.Millisecond
	// maxAddresses limits the addresses of one host that are tried.
	maxAddresses = 8
)

// Dial opens a TCP connection to addr, a host and a port, for callers with their own HTTP
// client, such as a browser. It looks up the host once and dials only addresses that the
// egress guard permits; otherwise the error is an *AddressError. network must be
// "tcp". ctx and DefaultConnectTimeout limit the dial. The caller owns the connection,
// which may outlive the Client.
func (c *Client) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" {
		return nil, net.UnknownNetworkError(network)
	}
	ctx, cancel := c.limitContext(ctx, DefaultConnectTimeout)
	defer cancel()
	return c.connectTo(ctx, addr)
}

// dialTransport opens a connection of a transport, with TLS unless conf is nil. It does the
// handshake here, not in the transport, so that the connect timeout of the request applies.
func (c *Client) dialTransport(ctx context.Context, addr string, conf *tls.Config) (net.Conn, error) {
	w := hopOf(ctx)
	ctx, cancel := c.limitContext(ctx, w.connectTimeout)
	defer cancel()
	raw, err := c.connectTo(ctx, addr)
	if err != nil {
		return nil, err
	}
	var ready net.Conn = &conn{Conn: raw, begun: time.Now()}
	if conf != nil {
		conf = conf.Clone()
		host, _, _ := net.SplitHostPort(addr) // connect has parsed it
		conf.ServerName = strings.TrimSuffix(host, ".")
		secure := tls.Client(ready, conf)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, fmt.Errorf("tls: %w", err)
		}
		ready = secure
		if secure.ConnectionState().NegotiatedProtocol == "h2" { // the transport wants to see it
			return ready, nil
		}
	}
	c.limitProxy(ready, w)
	return httprepair.New(ready, c.cfg.MaxHeaderBytes), nil
}

// limitContext adds a connect timeout and the life of the Client to ctx. A transport continues a
// dial after its request has ended, for other requests.
func (c *Client) limitContext(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// connectTo opens a connection to addr, a host and a port. It looks up a name once and dials
// exactly the checked addresses, so a name server cannot change its answer in between.
func (c *Client) connectTo(ctx context.Context, addr string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	addrs, err := c.permittedAddresses(ctx, host)
	if err != nil {
		return nil, err
	}
	return raceDials(ctx, addrs, uint16(port))
}

// permittedAddresses returns the addresses of host that may be dialled, 1 to maxAddresses, in the
// resolver's order. If the guard refuses all, the error is the *AddressError of the first.
func (c *Client) permittedAddresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		// A literal is checked as written, mapped forms included.
		return []netip.Addr{addr}, Permitted(addr, c.cfg.AllowedNetworks)
	}
	found, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	var refused error
	for _, addr := range found {
		// Resolvers may return A records in mapped form. A mapped address reaches the IPv4
		// host, so check and dial that.
		addr = addr.Unmap()
		if err := Permitted(addr, c.cfg.AllowedNetworks); err != nil {
			refused = cmp.Or(refused, err)
		} else if len(addrs) < maxAddresses {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		return nil, cmp.Or(refused, error(&net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}))
	}
	return addrs, nil
}

// raceDials dials the addresses in order, the next one as soon as one fails or takes
// nextAddress. It returns the first connection and closes the others.
func raceDials(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the other attempts
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	attempt := func(addr netip.Addr) {
		var nd net.Dialer
		conn, err := nd.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, port).String())
		select {
		case results <- result{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	}
	var (
		errs    []error
		running int
		next    = time.NewTimer(0)
	)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			if len(addrs) == 0 {
				continue
			}
			go attempt(addrs[0])
			addrs = addrs[1:]
			running++
			next.Reset(nextAddress)
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			if running--; running == 0 && len(addrs) == 0 {
				return nil, errors.Join(errs...)
			}
			next.Reset(0)
		case <-ctx.Done():
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
}

// Resolve looks up a host. It returns an error if the host has no address, or none that the
// egress guard permits. ctx and DefaultConnectTimeout limit the lookup.
func (c *Client) Resolve(ctx context.Context, host string) error {
	_, err := c.Addresses(ctx, host)
	return err
}

// Addresses is Resolve, and returns the addresses that may be dialled, at most maxAddresses, each
// once and in ascending order.
func (c *Client) Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := c.limitContext(ctx, DefaultConnectTimeout)
	defer cancel()
	list, err := c.permittedAddresses(ctx, host)
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list), err
}
