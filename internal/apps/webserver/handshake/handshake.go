// Package handshake is the request that asks a web server to create a crawler, on the crawler port of
// that server.
//
//	accepted, err := handshake.Ask(ctx, client.Dial, "a.example:8081")
//
// The request is the text of Request, the answer that of OK or Fail.
package handshake

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// The texts of the protocol.
const (
	Request = "SOOGLE CRAWLER CONNECT/0.1\n\n"
	OK      = "CRAWLER OK\n\n"
	Fail    = "CRAWLER FAIL\n\n"
)

// Timeout bounds a handshake on both sides.
const Timeout = 5 * time.Second

// Dial opens a connection, behind an egress guard if the address comes from others.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Ask sends the request to a crawler port and reports whether the server creates a crawler. An error
// means that there was no answer of the protocol.
func Ask(ctx context.Context, dial Dial, address string) (accepted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*Timeout)
	defer cancel()
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return false, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return false, err
	}
	if _, err := io.WriteString(c, Request); err != nil {
		return false, err
	}
	answer := make([]byte, len(OK), len(Fail))
	if _, err := io.ReadFull(c, answer); err != nil {
		return false, fmt.Errorf("crawler port %s: no answer: %w", address, err)
	}
	if string(answer) == OK {
		return true, nil
	}
	if string(answer) != Fail[:len(OK)] {
		return false, fmt.Errorf("crawler port %s: unexpected answer %q", address, answer)
	}
	return false, nil
}

// Valid reads the request from c and reports whether it is one. c needs a deadline.
func Valid(c io.Reader) bool {
	request := make([]byte, len(Request))
	for n := 0; n < len(request); {
		m, err := c.Read(request[n:])
		n += m
		if string(request[:n]) != Request[:n] || err != nil && n < len(request) {
			return false // as soon as it is wrong: a hostile client gets no time
		}
	}
	return true
}

// CrawlerPort returns the address of the crawler port of a web server, given its host with the port of
// HTTP, which is 80 unless given. The crawler port is step above that of HTTP.
func CrawlerPort(host string, step int) (string, error) {
	name, text, err := net.SplitHostPort(host)
	if err != nil {
		name, text, err = net.SplitHostPort(host + ":80")
	}
	if err != nil {
		return "", fmt.Errorf("host %q: %w", host, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || name == "" || port < 1 || port+step < 1 || port+step > 65535 {
		return "", fmt.Errorf("host %q: no name, or the port %s has no crawler port %d above it", host, text, step)
	}
	return net.JoinHostPort(name, strconv.Itoa(port+step)), nil
}
