package childprocess

import (
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePorts reserves n different TCP ports of 127.0.0.1 between 10,000 and 32,767, on which
// children will listen. The kernel gives no port of that range to a connection by itself, so a
// program can be stopped and started again on its port. Until release no other call of
// FreePorts, in any process, returns these ports.
func FreePorts(n int) (ports []int, release func(), err error) {
	var claims []io.Closer
	release = func() {
		for _, c := range claims {
			_ = c.Close() // fails if it was released before
		}
	}
	for tries := 0; len(ports) < n; tries++ {
		port := 10_000 + rand.IntN(22_768)
		c, err := claimPort(port)
		switch {
		case err == nil:
			ports, claims = append(ports, port), append(claims, c)
		case tries > 1000:
			release()
			return nil, nil, err
		}
	}
	return ports, release, nil
}

// claimPort reserves a TCP port without a listener. The claim is the UDP port of the same
// number: it excludes other claims, and lets a child listen.
func claimPort(port int) (io.Closer, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, listener.Close()
}
