// Package testrelay is a bad network for tests: a TCP relay that cuts, holds and delays.
//
//	r, err := testrelay.Start("127.0.0.1:4222")
//	if err != nil { ... }
//	defer r.Close()
//	// connect to r.Address()
//	r.Hold() // data and new connections wait, as behind a switch that lost its power
//	r.Cut()  // connections break, new ones are refused
//	r.Mend()
package testrelay

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Relay is a relay between clients and a server. It may be used by any number of goroutines.
type Relay struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	held  chan struct{} // closed when data may pass
	delay time.Duration
	open  map[net.Conn]bool
}

// Start starts a relay to "host:port" on a free port of loopback. The caller calls Close.
func Start(target string) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start relay to %s: %w", target, err)
	}
	r := &Relay{listener: listener, target: target, held: make(chan struct{}), open: map[net.Conn]bool{}}
	close(r.held)
	go r.acceptConns()
	return r, nil
}

// Address is the address of the relay, "host:port".
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Close ends the relay and its connections.
func (r *Relay) Close() {
	r.listener.Close()
	r.Mend()
	r.Cut()
}

// Cut closes all connections and refuses new ones until Mend.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for c := range r.open {
		c.Close()
	}
}

// Hold stops all data in both directions until Mend, which lets them pass. No side is told.
func (r *Relay) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.maySendData() {
		r.held = make(chan struct{})
	}
}

// maySendData reports whether data may pass. The caller holds mu.
func (r *Relay) maySendData() bool {
	select {
	case <-r.held:
		return true
	default:
		return false
	}
}

// Mend ends Cut and Hold.
func (r *Relay) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = false
	if !r.maySendData() {
		close(r.held)
	}
}

// Delay delays each piece of data in both directions, from now on.
func (r *Relay) Delay(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = d
}

func (r *Relay) acceptConns() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.relayConn(in)
	}
}

// relayConn copies in both directions until one side closes.
func (r *Relay) relayConn(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer out.Close()
	if !r.addConns(in, out) {
		return
	}
	defer r.removeConns(in, out)
	go func() { r.copyDelayed(out, in); out.Close(); in.Close() }()
	r.copyDelayed(in, out)
}

func (r *Relay) addConns(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.open[c] = true
	}
	return !r.cut
}

func (r *Relay) removeConns(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.open, c)
	}
}

func (r *Relay) copyDelayed(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		delay, held := r.delay, r.held
		r.mu.Unlock()
		<-held
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
