package httprepair

import (
	"bytes"
	"net"
	"sync/atomic"
)

// Conn is a connection to an HTTP/1 server whose responses are repaired. One goroutine may read
// while another one writes and calls Expect.
type Conn struct {
	net.Conn
	most int64 // bytes of a header; a longer one is passed on as it is

	expects  atomic.Bool
	begun    atomic.Bool
	repaired atomic.Bool

	// Of the reading goroutine:
	head []byte // the beginning of a header
	out  []byte // repaired, not read yet
	err  error  // follows out
}

// New returns a connection over c that passes everything on until Expect is called. It keeps
// headers of up to most bytes in memory until they are complete.
func New(c net.Conn, most int64) *Conn { return &Conn{Conn: c, most: most} }

// Expect says that the next bytes from the server are the header of a response.
func (c *Conn) Expect() {
	c.begun.Store(false)
	c.repaired.Store(false)
	c.expects.Store(true)
}

// Begun reports whether a byte has arrived since the last Expect.
func (c *Conn) Begun() bool { return c.begun.Load() }

// Repaired reports whether the header since the last Expect had to be repaired.
func (c *Conn) Repaired() bool { return c.repaired.Load() }

// Read reads from the connection.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if len(c.out) > 0 {
			n := copy(p, c.out)
			c.out = c.out[n:]
			return n, nil
		}
		if c.err != nil {
			return 0, c.err
		}
		n, err := c.Conn.Read(p)
		if n > 0 {
			c.begun.Store(true)
		}
		if !c.expects.Load() || n == 0 && len(c.head) == 0 {
			return n, err
		}
		c.head, c.err = append(c.head, p[:n]...), err
		c.takeHeaders()
	}
}

// takeHeaders moves complete headers from head to out. A header that can never be complete is passed on.
func (c *Conn) takeHeaders() {
	for c.expects.Load() && len(c.head) > 0 {
		end := headEnd(c.head)
		switch {
		case !looksHTTP(c.head), end < 0 && (c.err != nil || int64(len(c.head)) > c.most):
			c.expects.Store(false)
		case end < 0:
			return
		default:
			head, changed := Repair(c.head[:end])
			if changed {
				c.repaired.Store(true)
			}
			c.out, c.head = append(c.out, head...), c.head[end:]
			c.expects.Store(isInformational(head))
		}
	}
	if !c.expects.Load() {
		c.out, c.head = append(c.out, c.head...), nil
	}
}

// headEnd returns the length of a header up to and with its empty line, or -1.
func headEnd(b []byte) int {
	start := len(b) - len(bytes.TrimLeft(b, "\r\n"))
	short, long := bytes.Index(b[start:], []byte("\n\n")), bytes.Index(b[start:], []byte("\n\r\n"))
	switch {
	case short < 0 && long < 0:
		return -1
	case long < 0 || short >= 0 && short < long:
		return start + short + len("\n\n")
	}
	return start + long + len("\n\r\n")
}

// maxBlank limits the bytes of empty lines before a status line, as in Chromium.
const maxBlank = 4

// looksHTTP reports whether b may be the beginning of a response.
func looksHTTP(b []byte) bool {
	line := bytes.TrimLeft(b, "\r\n ")
	if len(b)-len(line) > maxBlank {
		return false
	}
	for _, begin := range []string{"http/", "http ", "icy "} {
		n := min(len(line), len(begin))
		if bytes.EqualFold(line[:n], []byte(begin[:n])) {
			return true
		}
	}
	return false
}

// isInformational reports whether a header is that of a 1xx response, which another one follows. 101
// ends HTTP.
func isInformational(head []byte) bool {
	_, rest, _ := bytes.Cut(head, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	return len(rest) > 3 && rest[0] == '1' && !bytes.HasPrefix(rest, []byte("101"))
}
