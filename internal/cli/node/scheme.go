package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/fetch"
)

// dialLimit is the most time for a connection and for a handshake.
const dialLimit = 5 * time.Second

// Road says how the requests of a crawl leave this machine.
type Road struct {
	Networks string // that are not public and allowed, as in --allow-network
	Proxied  bool   // the host is reached through a proxy only
	Remote   bool   // another machine crawls, whose networks and names are not known here
}

// ChooseScheme returns the URL of an address that was typed without a scheme: with https if its host speaks
// TLS, else with http; say tells why. It connects to nothing that the crawler may not connect to. Errors
// name what to do.
func ChooseScheme(ctx context.Context, u target.URL, road Road, say func(format string, args ...any)) (target.URL, error) {
	host := target.Hostname(u.Text)
	if road.Proxied {
		say("%s has no scheme, and only the proxy may look which one it speaks; using %s", host, u.Text)
		return u, nil
	}
	err := speakTLS(ctx, road.Networks, u.Text)
	var dns *net.DNSError
	var refused *fetch.AddressError
	switch {
	case ctx.Err() != nil:
		return u, ctx.Err()
	case err == nil, road.Remote && errors.As(err, &refused):
		return u, nil
	case errors.As(err, &refused):
		return u, fmt.Errorf("%s is not public (%v), and the crawler connects to public addresses only; if you mean it, allow its network, such as: --allow-network 127.0.0.0/8", host, refused)
	case errors.As(err, &dns) && dns.IsNotFound && !road.Remote:
		return u, fmt.Errorf("the name %s is not known (%v); check its spelling, or give a URL with https:// to try anyway", host, err)
	}
	say("%s does not speak HTTPS (%v); using %s", host, err, u.HTTP().Text)
	return u.HTTP(), nil
}

// speakTLS connects to the host of a URL, as the crawler would, and returns nil if it speaks TLS.
func speakTLS(ctx context.Context, networks, href string) error {
	allowed, err := config.Networks(networks)
	if err != nil {
		return err
	}
	client := fetch.New(fetch.Config{AllowedNetworks: allowed})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*dialLimit)
	defer cancel()
	conn, err := client.Dial(ctx, "tcp", target.HostPort(href))
	if err != nil {
		return err
	}
	defer conn.Close()
	host, _, _ := net.SplitHostPort(target.HostPort(href))
	return tls.Client(conn, &tls.Config{ServerName: host, InsecureSkipVerify: true}).HandshakeContext(ctx) // only whether it speaks TLS
}
