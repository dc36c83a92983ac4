package places

import (
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// kept is the part of the places that health checks have in addition, and least their least number.
const (
	kept      = 16
	leastKept = 4
	// A connection of a waiting listener gives its place away when it was idle for firstPatience without any request,
	// or for patience after one: so clients that come together are served one after the other.
	firstPatience = 500 * time.Millisecond
	patience      = 10 * time.Second
	lookAgain     = 100 * time.Millisecond
)

// Listener accepts at most a number of connections. Goroutines may share it.
type Listener struct {
	net.Listener
	most int

	mu     sync.Mutex
	freed  *sync.Cond // a place may be free, or the listener is closed
	open   map[*Conn]bool
	spare  int // connections in places of health checks
	waits  bool
	closed bool
}

// New returns a listener with most places, at least 1, for the connections of l.
func New(l net.Listener, most int) *Listener {
	p := &Listener{Listener: l, most: max(most, 1), open: map[*Conn]bool{}}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// Waiting returns a listener as New does, but Accept waits while no place is free: further connections stay in
// the system. It is for protocols whose clients cannot be told to come again.
func Waiting(l net.Listener, most int) *Listener {
	p := New(l, most)
	p.waits = true
	return p
}

// Close closes the listener. Its connections stay.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.freed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// Conn is a connection that has a place.
type Conn struct {
	net.Conn
	l       *Listener
	address string

	// Guarded by l.mu.
	idle     time.Time // since when it waits for a request; zero while it has one
	requests int       // without an answer
	served   bool      // a request had its answer
	spare    bool
	ended    bool
}

// Accept returns the next connection that has a place.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: raw, l: l, address: AddressOf(raw.RemoteAddr().String())}
		loser, entered := l.takePlace(c)
		if loser != nil {
			_ = loser.Conn.Close()
		}
		if entered {
			return c, nil
		}
		_ = raw.Close()
	}
}

// AddressOf returns the part of an address that tells its machine: the host, of IPv6 its network.
func AddressOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	host, _, _ = strings.Cut(host, "%")
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// takePlace gives a place to c. It returns the connection that has lost its own, if any.
func (l *Listener) takePlace(c *Conn) (loser *Conn, entered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open)-l.spare >= l.most {
		loser = l.awaitLoser()
		switch {
		case loser != nil:
			c.spare = loser.spare
			l.freePlace(loser)
		case l.waits:
			if l.closed {
				return nil, false
			}
		case l.spare < l.Kept():
			c.spare = true
		default:
			return nil, false
		}
	}
	if c.spare {
		l.spare++
	}
	c.idle, l.open[c] = time.Now(), true
	return loser, true
}

// awaitLoser returns loser, of a waiting listener when there is one, or nil if a place is free meanwhile or the
// listener is closed. Call it with l.mu held.
func (l *Listener) awaitLoser() *Conn {
	for {
		loser := l.findLoser()
		switch {
		case !l.waits || loser != nil:
			return loser
		case l.closed || len(l.open) < l.most:
			return nil
		}
		time.AfterFunc(lookAgain, l.freed.Broadcast)
		l.freed.Wait()
	}
}

// Kept returns the number of places that health checks have in addition.
func (l *Listener) Kept() int { return max(leastKept, l.most/kept) }

// findLoser returns the connection that gives its place away, nil if none is idle, of a waiting listener if none was
// idle for long. Call it with l.mu held.
func (l *Listener) findLoser() *Conn {
	list, now := slices.Collect(maps.Keys(l.open)), time.Now()
	i := Loser(len(list), func(i int) (string, time.Time) {
		c := list[i]
		if l.waits && now.Sub(c.idle) < c.idlePatience() {
			return c.address, time.Time{}
		}
		return c.address, c.idle
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

func (c *Conn) idlePatience() time.Duration {
	if c.served {
		return patience
	}
	return firstPatience
}

// Loser returns the number, 0 to n-1, of the connection that gives its place to a new one, -1 if none is idle. of
// returns the address of a connection and since when it is idle, zero if it is not. The loser is idle, of the
// address with the most idle connections, and of these the one that is idle for the longest time.
func Loser(n int, of func(i int) (address string, idle time.Time)) int {
	counts := map[string]int{}
	for i := range n {
		if address, idle := of(i); !idle.IsZero() {
			counts[address]++
		}
	}
	loser, count, since := -1, 0, time.Time{}
	for i := range n {
		address, idle := of(i)
		if m := counts[address]; !idle.IsZero() && (m > count || m == count && idle.Before(since)) {
			loser, count, since = i, m, idle
		}
	}
	return loser
}

// freePlace frees the place of a connection. Call it with l.mu held.
func (l *Listener) freePlace(c *Conn) {
	if c.ended {
		return
	}
	c.ended = true
	delete(l.open, c)
	l.freed.Signal()
	if c.spare {
		l.spare--
	}
}

// Open returns the number of connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Close closes the connection and frees its place.
func (c *Conn) Close() error {
	c.l.mu.Lock()
	c.l.freePlace(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// Begin says that a whole request has arrived: the connection keeps its place until End.
func (c *Conn) Begin() { c.addRequests(1) }

// End says that a request was answered. Without others the connection is idle.
func (c *Conn) End() { c.addRequests(-1) }

func (c *Conn) addRequests(n int) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.requests += n
	c.idle = time.Time{}
	if c.requests == 0 {
		c.idle, c.served = time.Now(), true
		c.l.freed.Signal()
	}
}

// Progress says that an idle connection sends a part of its request: it is idle from now on.
func (c *Conn) Progress() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if !c.idle.IsZero() {
		c.idle = time.Now()
	}
}

// ReadFrom sends what r has, by sendfile if the system can.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite ends the direction to the peer.
func (c *Conn) CloseWrite() error {
	if half, is := c.Conn.(interface{ CloseWrite() error }); is {
		return half.CloseWrite()
	}
	return nil
}

// isSpare reports whether the connection has a place of health checks.
func (c *Conn) isSpare() bool {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.spare
}

// Of returns the Conn below a connection of an HTTP server, nil if it has none.
func Of(c net.Conn) *Conn {
	for {
		switch v := c.(type) {
		case *Conn:
			return v
		case *tls.Conn:
			c = v.NetConn()
		case interface{ Unwrap() net.Conn }:
			c = v.Unwrap()
		default:
			return nil
		}
	}
}

// Follow lets an HTTP server tell what its connections do: one without the whole head of a request is idle.
func Follow(s *http.Server) {
	before := s.ConnState
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if place := Of(c); place != nil {
			switch state {
			case http.StateActive:
				place.Begin()
			case http.StateIdle:
				place.End()
			}
		}
		if before != nil {
			before(c, state)
		}
	}
}
