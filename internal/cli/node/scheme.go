package node

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"hce/dc/internal/cli/target"
)

// dialLimit is the most time for a connection and for a handshake.
const dialLimit = 5 * time.Second

// SpeakTLS connects to the host of a URL, and returns nil if it speaks TLS: an address that was typed without a
// scheme is one with https then.
func SpeakTLS(ctx context.Context, href string) error {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialLimit}, Config: &tls.Config{InsecureSkipVerify: true}} // only whether it speaks TLS
	ctx, cancel := context.WithTimeout(ctx, 2*dialLimit)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", target.HostPort(href))
	if err == nil {
		conn.Close()
	}
	return err
}
