package brokertest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Relay is a TCP relay between clients and a server that can cut and delay.
type Relay struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	delay time.Duration
	open  map[net.Conn]bool
}

// NewRelay starts a relay to a URL or "host:port". The test's end closes it.
func NewRelay(t testing.TB, target string) *Relay {
	t.Helper()
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		target = u.Host
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{listener: listener, target: target, open: map[net.Conn]bool{}}
	go r.accept()
	t.Cleanup(func() { listener.Close(); r.Cut() })
	return r
}

// Address is the address of the relay, "host:port".
func (r *Relay) Address() string { return r.listener.Addr().String() }

// URL is the address of the relay for clients of NATS without TLS.
func (r *Relay) URL() string { return "nats://" + r.Address() }

// Cut closes all connections and refuses new ones until Mend.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for c := range r.open {
		c.Close()
	}
}

// Mend lets connections pass again.
func (r *Relay) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = false
}

// Delay delays each piece of data in both directions, from now on.
func (r *Relay) Delay(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = d
}

func (r *Relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.pass(in)
	}
}

// pass copies in both directions until one side closes.
func (r *Relay) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer out.Close()
	if !r.register(in, out) {
		return
	}
	defer r.forget(in, out)
	go func() { r.copy(out, in); out.Close(); in.Close() }()
	r.copy(in, out)
}

func (r *Relay) register(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.open[c] = true
	}
	return !r.cut
}

func (r *Relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.open, c)
	}
}

func (r *Relay) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		delay := r.delay
		r.mu.Unlock()
		time.Sleep(delay)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func portOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "0"
	}
	return u.Port()
}
