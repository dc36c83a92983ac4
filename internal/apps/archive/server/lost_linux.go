package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endLost makes connections of a listener end when the client has confirmed nothing for limit: a machine
// that has lost its power says no goodbye, and the kernel alone would wait for a quarter of an hour.
func endLost(limit time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}
}
