package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	// nextAddress is how long one address of a host is given before the next is
	// tried beside it (the "connection attempt delay" of RFC 8305 5).
	nextAddress = 250 * time.Millisecond
	// maxAddresses is how many addresses of one host are tried.
	maxAddresses = 8
)

// dialer opens connections to permitted addresses. A name is looked up once, and
// what was checked is what is dialled, so that a name server cannot change its
// answer in between.
type dialer struct {
	resolver Resolver
	allowed  []netip.Prefix
	life     context.Context // no dial outlives it
}

// Dial opens a TCP connection to addr, a host and a port, for who speaks HTTP
// without the Client, such as a browser. The host is looked up once and only
// addresses that the egress guard permits are dialled; if it leaves none the
// error is an *AddressError. network is "tcp". ctx and DefaultConnectTimeout
// bound the dial. The connection is the caller's and outlives the Client.
func (c *Client) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" {
		return nil, net.UnknownNetworkError(network)
	}
	ctx, cancel := c.dial.limit(ctx, DefaultConnectTimeout)
	defer cancel()
	return c.dial.connect(ctx, addr)
}

// plain is the DialContext of a transport.
func (d *dialer) plain(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := d.limit(ctx, hopOf(ctx).connectTimeout)
	defer cancel()
	raw, err := d.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

// tls is the DialTLSContext of a transport. The hand-shake happens here, and not
// in the transport, to be under the request's connect time-out.
func (d *dialer) tls(ctx context.Context, addr string, base *tls.Config) (net.Conn, error) {
	ctx, cancel := d.limit(ctx, hopOf(ctx).connectTimeout)
	defer cancel()
	raw, err := d.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	raw = &conn{Conn: raw}
	conf := base.Clone()
	host, _, _ := net.SplitHostPort(addr) // connect could
	conf.ServerName = strings.TrimSuffix(host, ".")
	secure := tls.Client(raw, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	return secure, nil
}

// limit puts a connect time-out and the life of the Client on ctx. A transport
// lets a dial go on when its request has ended, as another may want the
// connection.
func (d *dialer) limit(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	stop := context.AfterFunc(d.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// connect opens a connection to addr, a host and a port.
func (d *dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	addrs, err := d.permitted(ctx, host)
	if err != nil {
		return nil, err
	}
	return race(ctx, addrs, uint16(port))
}

// permitted returns the addresses of host that may be dialled, at least one and
// at most maxAddresses, in the resolver's order. If the guard leaves none the
// error is the *AddressError of the first.
func (d *dialer) permitted(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		// A literal is judged as it was written, mapped forms and all.
		return []netip.Addr{addr}, Permitted(addr, d.allowed)
	}
	found, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	var refused error
	for _, addr := range found {
		// Resolvers may hand out A records in mapped form. A mapped address
		// reaches the IPv4 host, so that is what is judged and dialled.
		addr = addr.Unmap()
		if err := Permitted(addr, d.allowed); err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		if len(addrs) < maxAddresses {
			addrs = append(addrs, addr)
		}
	}
	switch {
	case len(addrs) > 0:
		return addrs, nil
	case refused != nil:
		return nil, refused
	}
	return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
}

// race dials the addresses one after the other, the next as soon as one fails or
// hesitates, and returns the first connection. The others are closed.
func race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends the other attempts
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
		hurry   = time.NewTimer(0)
	)
	defer hurry.Stop()
	for {
		select {
		case <-hurry.C:
			if len(addrs) == 0 {
				continue
			}
			go attempt(addrs[0])
			addrs = addrs[1:]
			running++
			hurry.Reset(nextAddress)
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			if running--; running == 0 && len(addrs) == 0 {
				return nil, errors.Join(errs...)
			}
			hurry.Reset(0)
		case <-ctx.Done():
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
}

// Resolve looks a host up. The error says that it has no address, or none that
// the egress guard permits. ctx and DefaultConnectTimeout bound the look-up.
func (c *Client) Resolve(ctx context.Context, host string) error {
	ctx, cancel := c.dial.limit(ctx, DefaultConnectTimeout)
	defer cancel()
	_, err := c.dial.permitted(ctx, host)
	return err
}
