package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Errors of addresses, to be tested with errors.Is.
var (
	// ErrAddress: Bind was asked to listen at what is no address.
	ErrAddress = errors.New("not an address to listen at")
	// ErrExposed: Bind was asked to listen to other machines in the open.
	ErrExposed = errors.New("listening beyond this machine needs CURVE keys or the explicit leave to be insecure")
)

// TCP is the endpoint of host and port; port 0 lets the system choose one,
// which [Socket.Endpoint] then tells. The name localhost means 127.0.0.1, as
// a socket is bound to an address, never to a name.
func TCP(host string, port int) string {
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	if port == 0 {
		return fmt.Sprintf("tcp://%s:*", host)
	}
	return fmt.Sprintf("tcp://%s:%d", host, port)
}

// Inproc is the endpoint of that name inside one bus.
func Inproc(name string) string { return "inproc://" + name }

// Local reports whether only this machine reaches a socket that listens at host,
// which may be an IPv4 or IPv6 address (with or without brackets), localhost, or
// * for all IPv4 addresses; :: are all addresses of both kinds. Names of
// machines and interfaces are refused with ErrAddress: what they mean is decided
// elsewhere, and may change.
func Local(host string) (bool, error) {
	if host == "*" {
		return false, nil
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	bare := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		bare = host[1 : len(host)-1]
	}
	a, err := netip.ParseAddr(bare)
	if err != nil {
		return false, fmt.Errorf("%q is %w: give an IP address, localhost or *", host, ErrAddress)
	}
	return a.Unmap().IsLoopback(), nil
}

// exposed refuses a TCP endpoint that other machines can reach in the open.
func (o Options) exposed(endpoint string) error {
	host, tcp := tcpHost(endpoint)
	if !tcp {
		return nil
	}
	local, err := Local(host)
	if err != nil {
		return err
	}
	if local || o.AllowInsecure || o.Curve != nil {
		return nil
	}
	return fmt.Errorf("address %q: %w", host, ErrExposed)
}

// known refuses the other transports of libzmq, whose rules nobody has thought of.
func known(endpoint string) error {
	if strings.HasPrefix(endpoint, "tcp://") || strings.HasPrefix(endpoint, "inproc://") {
		return nil
	}
	return errors.New("neither a TCP nor an inproc endpoint")
}

// tcpHost is the host of a TCP endpoint, with the brackets of IPv6.
func tcpHost(endpoint string) (host string, tcp bool) {
	rest, tcp := strings.CutPrefix(endpoint, "tcp://")
	if !tcp {
		return "", false
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}
