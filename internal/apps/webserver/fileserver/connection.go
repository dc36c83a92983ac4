package fileserver

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hce/dc/internal/places"
)

const (
	// hardConnections bounds the open connections without a policy, and those that a policy
	// refuses, which stay open until they are told. Further ones wait in the system.
	hardConnections = 4096
	// refusedTime is how long a refused connection may stay.
	refusedTime = 2 * time.Second
	// part is how much of an answer a client takes within SendTime.
	part = 256 << 10
)

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// listener counts connections and marks those above the policy.
type listener struct {
	net.Listener
	server *Server
}

func (s *Server) limitListener(l net.Listener) net.Listener {
	most := max(hardConnections, s.cfg.MaxConnections+hardConnections/16)
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil && files.Cur < 2*uint64(most) {
		most = int(files.Cur / 2) // a connection may have a file open
	}
	return &listener{places.Waiting(l, most), s}
}

// Accept returns the next connection. When too many are open, an idle one gives its place, or Accept waits.
func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: raw, listener: l, id: l.server.ids.Add(1), since: time.Now()}
	open, limit := l.server.open.Add(1), l.server.cfg.MaxConnections
	c.refused = limit > 0 && open > int64(limit)
	return c, nil
}

// connection counts what it sends, and bounds the time of each part of it.
type connection struct {
	net.Conn
	listener *listener
	id       int64
	since    time.Time
	refused  bool // by the policy of connections
	closed   sync.Once
	written  atomic.Int64
}

// Close closes the connection and frees its place.
func (c *connection) Close() error {
	c.closed.Do(func() { c.listener.server.open.Add(-1) })
	return c.Conn.Close()
}

// Unwrap returns the connection that has a place.
func (c *connection) Unwrap() net.Conn { return c.Conn }

// SetReadDeadline shortens the deadline of a refused connection.
func (c *connection) SetReadDeadline(t time.Time) error {
	if end := c.since.Add(refusedTime); c.refused && (t.IsZero() || t.After(end)) {
		t = end
	}
	return c.Conn.SetReadDeadline(t)
}

// Write sends b, in parts that the client must take in time.
func (c *connection) Write(b []byte) (total int, err error) {
	for len(b) > 0 && err == nil {
		if err = c.Conn.SetWriteDeadline(time.Now().Add(c.listener.server.cfg.SendTime)); err != nil {
			break
		}
		size, n := min(len(b), part), 0
		c.countBytes(int64(size))
		n, err = c.Conn.Write(b[:size])
		c.countBytes(int64(n - size))
		total, b = total+n, b[n:]
	}
	return total, err
}

// ReadFrom sends what r has, in parts as Write does. It keeps the way by sendfile: net/http passes a
// limited file.
func (c *connection) ReadFrom(r io.Reader) (total int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		return io.Copy(writer{c}, r)
	}
	for limited.N > 0 {
		if err = c.Conn.SetWriteDeadline(time.Now().Add(c.listener.server.cfg.SendTime)); err != nil {
			return total, err
		}
		size := min(limited.N, part)
		c.countBytes(size)
		n, err := io.Copy(c.Conn, &io.LimitedReader{R: limited.R, N: size})
		c.countBytes(n - size)
		total, limited.N = total+n, limited.N-n
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, nil
}

// writer is a connection without ReadFrom.
type writer struct{ connection io.Writer }

// Write sends b.
func (w writer) Write(b []byte) (int, error) { return w.connection.Write(b) }

// countBytes counts bytes before they are sent, so that a client that has its answer is counted, and takes back
// what was not sent.
func (c *connection) countBytes(n int64) {
	if n == 0 {
		return
	}
	c.written.Add(n)
	if s := c.listener.server; s.service.countSent(n) {
		reason, _ := s.service.reasonIfOff()
		s.cfg.Log.Warn("out of service", "reason", reason)
	}
}
