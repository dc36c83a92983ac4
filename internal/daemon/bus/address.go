package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Errors of Bind; test them with errors.Is.
var (
	// ErrAddress: the host is not an IP address, localhost or *.
	ErrAddress = errors.New("not an address to listen at")
	// ErrExposed: other machines could connect without encryption.
	ErrExposed = errors.New("listening beyond this machine needs CURVE keys or AllowInsecure")
)

// TCP returns the endpoint of host and port. With port 0 the system chooses the port;
// [Socket.Endpoint] returns it after Bind. The name localhost becomes 127.0.0.1.
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

// Inproc returns the endpoint with that name inside one bus.
func Inproc(name string) string { return "inproc://" + name }

// Local reports whether host is reachable from this machine only. The host is an IPv4 or
// IPv6 address (with or without brackets), localhost, or * for all IPv4 addresses. Other
// names give ErrAddress, because their meaning can change after the check.
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

// checkExposure refuses a TCP endpoint that other machines can reach without encryption.
func (o Options) checkExposure(endpoint string) error {
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

// checkTransport refuses the other transports of libzmq: their access rules are not checked here.
func checkTransport(endpoint string) error {
	if strings.HasPrefix(endpoint, "tcp://") || strings.HasPrefix(endpoint, "inproc://") {
		return nil
	}
	return errors.New("neither a TCP nor an inproc endpoint")
}

// tcpHost returns the host of a TCP endpoint, with the brackets of IPv6.
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
