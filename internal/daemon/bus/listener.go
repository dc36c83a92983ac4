package bus

import (
	"bufio"
	"crypto/ecdh"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/places"
	"hce/dc/internal/wire"
)

const (
	// freeFrame is the size up to which a request needs no budget. Such requests are limited
	// by the number of connections and of requests under way.
	freeFrame = 32 << 10
	// underWay is the number of requests of all peers without an answer, and least what one
	// peer may have. A peer with more waits before its next request is read.
	underWay, leastUnderWay = 512, 2
	mostUnderWay            = 64
	// unsentOfPeer stops the reading of a peer that does not read its answers. Above
	// unsentOfAll such peers are disconnected, also one that has taken nothing of a single
	// answer for stoppedAfter.
	unsentOfPeer = 1 << 20
	unsentOfAll  = 64 << 20
	stoppedAfter = 5 * time.Second

	budgetWait  = time.Second      // for the budget, before a request is refused as busy
	stallLimit  = 10 * time.Second // for each piece of a request
	slowestRate = 256 << 10        // bytes per second of a request that is being read
	listenAgain = time.Second / 10 // after a failed accept, such as without descriptors
)

// listener is the TCP side of a binding socket: a server of ZMTP 3 (ZeroMQ RFC 23) that
// behaves as a ROUTER. libzmq allocates each announced frame and queues messages without a
// limit for all peers, so it cannot serve strangers. Messages go to the owner of the socket
// through ready, each with an empty message on an inproc pair that its poller waits for.
type listener struct {
	net  net.Listener
	o    Options
	key  *ecdh.PrivateKey // nil without keys
	auth *authenticator

	incoming chan parcel // from the readers; senders wait in turn
	ready    chan parcel // what was announced to the owner
	done     chan struct{}

	mu     sync.Mutex
	peers  map[uint64]*peer
	next   uint64
	busy   int   // peers with requests under way
	unsent int64 // bytes of answers of all peers
	closed bool
}

// peer is one connection. The fields below wake are guarded by listener.mu.
type peer struct {
	l       *listener
	id      uint64
	s       *stream
	user    string // public key
	address string

	wake chan struct{} // for the writer: something to send, or the end
	room chan struct{} // for the reader: an answer left

	underWay map[uint64]int64 // by number: the bytes of budget
	held     int64            // their sum
	next     uint64
	out      []outgoing
	unsent   int64
	quiet    time.Time // since when it waits for a request; zero while it reads one
	pings    bool      // it sends PING, so it expects signs of life
	ended    bool
}

// outgoing is one message, or one command.
type outgoing struct {
	frames  [][]byte
	command bool
}

// listenTCP opens the port of endpoint. pair is handed over to the listener, which closes it.
func (b *Bus) listenTCP(endpoint string, o Options, pair *zmq.Socket) (*listener, error) {
	address := strings.Replace(strings.TrimPrefix(endpoint, "tcp://"), "*:", ":", 1)
	network := "tcp4"
	if host, _ := tcpHost(endpoint); strings.Contains(host, ":") {
		network = "tcp"
	}
	address = strings.TrimSuffix(address, "*")
	if strings.HasSuffix(address, ":") {
		address += "0"
	}
	l := &listener{
		o: o, auth: &authenticator{log: o.Log}, peers: map[uint64]*peer{},
		incoming: make(chan parcel), ready: make(chan parcel, 16), done: make(chan struct{}),
	}
	if o.Curve != nil {
		secret := o.Curve.Secret
		if len(secret) != 40 || zmq.Z85encode(zmq.Z85decode(secret)) != secret {
			return nil, errors.New("the secret key is not accepted: it is not 40 characters of Z85")
		}
		key, err := ecdh.X25519().NewPrivateKey([]byte(zmq.Z85decode(secret)))
		if err != nil {
			return nil, fmt.Errorf("the secret key is not accepted: %w", err)
		}
		l.key, l.auth.allowed = key, o.Curve.Allowed
	}
	var err error
	if l.net, err = net.Listen(network, address); err != nil {
		return nil, err
	}
	b.serving.Go(func() { l.forwardMessages(pair) })
	b.serving.Go(func() { l.acceptConnections(b) })
	return l, nil
}

// endpoint returns the address with the chosen port.
func (l *listener) endpoint() string {
	a := l.net.Addr().(*net.TCPAddr)
	return TCP(a.IP.String(), a.Port)
}

// forwardMessages passes each message on and wakes the owner.
func (l *listener) forwardMessages(pair *zmq.Socket) {
	defer pair.Close()
	for {
		select {
		case p := <-l.incoming:
			select {
			case l.ready <- p:
				// It never waits: the pair has more room than ready.
				_ = retryInterrupted(func() error { _, err := pair.SendBytes(nil, zmq.DONTWAIT); return err })
			case <-l.done:
				return
			}
		case <-l.done:
			return
		}
	}
}

func (l *listener) acceptConnections(b *Bus) {
	for {
		c, err := l.net.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.auth.logWarning("cannot accept connections", "error", err)
			select {
			case <-time.After(listenAgain):
			case <-l.done:
				return
			}
			continue
		}
		p := &peer{
			l: l, s: &stream{TCPConn: c.(*net.TCPConn), r: bufio.NewReaderSize(c, 4<<10)}, address: c.RemoteAddr().String(),
			wake: make(chan struct{}, 1), room: make(chan struct{}, 1), underWay: map[uint64]int64{}, quiet: time.Now(),
		}
		if !l.addPeer(p) {
			l.auth.logWarning("connection refused: all connections are in use", "address", p.address, "limit", l.o.Connections)
			c.Close()
			continue
		}
		_ = p.s.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: heartbeat, Interval: heartbeat / 2, Count: 4})
		b.serving.Go(p.serveConnection)
	}
}

// addPeer registers a connection. If there are too many, an idle one is closed, as package places says: a ZMQ
// client connects again by itself.
func (l *listener) addPeer(p *peer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if len(l.peers) >= l.o.Connections {
		list := slices.Collect(maps.Values(l.peers))
		i := places.Loser(len(list), func(i int) (string, time.Time) { return places.AddressOf(list[i].address), list[i].idleSince() })
		if i < 0 {
			return false
		}
		list[i].removeConnection()
	}
	l.next++
	p.id = l.next
	l.peers[p.id] = p
	return true
}

// idleSince returns since when a connection waits for a request, zero if it has one or its answer. Call it with l.mu held.
func (p *peer) idleSince() time.Time {
	if len(p.underWay) > 0 || len(p.out) > 0 {
		return time.Time{}
	}
	return p.quiet
}

// removeConnection removes a connection. Call it with l.mu held.
func (p *peer) removeConnection() {
	if p.ended {
		return
	}
	p.ended = true
	delete(p.l.peers, p.id)
	if len(p.underWay) > 0 {
		p.l.busy--
	}
	p.l.o.Budget.returnBytes(p.held)
	p.l.unsent -= p.unsent
	p.underWay, p.out, p.unsent = nil, nil, 0
	p.s.Close()
	p.wakeGoroutines()
}

// wakeGoroutines wakes the goroutines of a connection.
func (p *peer) wakeGoroutines() {
	for _, c := range []chan struct{}{p.wake, p.room} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// serveConnection shakes hands and reads requests until the connection ends.
func (p *peer) serveConnection() {
	err := p.performHandshake()
	var refused *refusedPeer
	if errors.As(err, &refused) {
		if p.l.key != nil {
			p.l.auth.logRefusal(refused.reason, "address", p.address, "key", p.user)
		}
		if errors.Is(err, errNoKeys) || errors.Is(err, errUnlisted) {
			// Without a pause the end may overtake the reason that was sent.
			_ = p.s.CloseWrite()
			_ = p.s.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(io.Discard, io.LimitReader(p.s, maxCommandFrame))
		}
	}
	if err == nil {
		writer := make(chan struct{})
		go func() {
			defer close(writer)
			p.writeMessages()
		}()
		err = p.readRequests()
		p.l.mu.Lock()
		if refused == nil && err != nil && !p.l.closed && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			p.l.auth.logWarning("connection closed", "address", p.address, "error", err)
		}
		if !p.l.closed { // close ends the reads of all peers
			p.removeConnection()
		}
		p.l.mu.Unlock()
		<-writer
	}
	p.l.mu.Lock()
	p.removeConnection()
	p.l.mu.Unlock()
}

func (p *peer) performHandshake() error {
	_ = p.s.SetDeadline(time.Now().Add(handshake))
	defer p.s.SetDeadline(time.Time{})
	if p.l.key == nil {
		if err := p.s.exchangeGreetings(nullMechanism); err != nil {
			return err
		}
		return p.s.exchangeReady()
	}
	err := p.s.exchangeGreetings(curveMechanism)
	if err == nil {
		p.user, err = p.s.performCurveHandshake(p.l.key, p.l.auth.allowsClient)
	}
	return err
}

// readRequests reads requests until the connection ends.
func (p *peer) readRequests() error {
	for {
		if !p.awaitRoom() {
			return nil
		}
		if err := p.readMessage(); err != nil {
			return err
		}
	}
}

// awaitRoom waits until the peer may have one more request under way. It reports false if the
// connection has ended.
func (p *peer) awaitRoom() bool {
	for {
		p.l.mu.Lock()
		most := min(mostUnderWay, max(leastUnderWay, underWay/max(1, p.l.busy)))
		ok := len(p.underWay) < most && p.held <= p.l.o.Budget.Size()/2 && p.unsent <= unsentOfPeer
		ended := p.ended || p.l.closed
		if p.quiet.IsZero() {
			p.quiet = time.Now()
		}
		p.l.mu.Unlock()
		if ended || ok {
			return !ended
		}
		<-p.room
	}
}

// message is a request that is being read.
type message struct {
	route   [][]byte
	tooMany bool
}

// readMessage reads one request and passes it on, or answers one PING.
func (p *peer) readMessage() error {
	var m message
	for {
		_ = p.s.SetReadDeadline(time.Time{})
		flags, size, err := p.s.readHeader()
		if err != nil {
			return err
		}
		p.setReading()
		plainLast := p.s.box == nil && flags&(flagMore|flagCommand) == 0
		if plainLast && size > freeFrame {
			return p.readLarge(m, size)
		}
		if p.s.box == nil && flags&flagMore != 0 && (size > maxRouteFrame || len(m.route) >= maxRoute) {
			m.tooMany = true
			if err := p.discardBytes(size, nil); err != nil {
				return err
			}
			continue
		}
		if flags&flagCommand != 0 && size > maxCommandFrame {
			return fmt.Errorf("%w: a command of %d bytes", errProtocol, size)
		}
		var cost int64
		if size > freeFrame { // encrypted: its kind is unknown before the end
			if size > p.l.o.MaxFrame+int64(boxOverhead) {
				return fmt.Errorf("a message of %d bytes; the limit is %d (MaxMessageSize)", size, p.l.o.MaxFrame)
			}
			// The encrypted frame and its content.
			if cost = 2 * size; !p.l.o.Budget.reserveBytes(cost, heartbeatTimeout) {
				return fmt.Errorf("a message of %d bytes; %s", size, p.l.o.Budget.describeLoad())
			}
		}
		body := make([]byte, size)
		err = p.readFull(body)
		if err == nil {
			flags, body, err = p.s.decodeFrame(flags, body)
		}
		switch {
		case err != nil:
			p.l.o.Budget.returnBytes(cost)
			return err
		case flags&flagCommand != 0:
			p.l.o.Budget.returnBytes(cost)
			if answer := pongFor(body); answer != nil {
				p.l.mu.Lock()
				p.pings = true
				p.queueMessage(outgoing{[][]byte{answer}, true})
				p.l.mu.Unlock()
			}
			return nil
		case flags&flagMore != 0 && (len(body) > maxRouteFrame || len(m.route) >= maxRoute):
			p.l.o.Budget.returnBytes(cost)
			m.tooMany = true
		case flags&flagMore != 0:
			m.route = append(m.route, body)
		default:
			return p.deliverRequest(m, body, cost, nil)
		}
	}
}

// setReading marks the peer as reading a request, so that it is not closed as idle.
func (p *peer) setReading() {
	p.l.mu.Lock()
	if p.ended {
		p.l.mu.Unlock()
		return
	}
	p.quiet = time.Time{}
	p.l.mu.Unlock()
}

// readFull reads a part of a frame. Each piece must arrive within the stall limit, and all of it at
// slowestRate, so that a peer cannot keep memory by sending nothing.
func (p *peer) readFull(body []byte) error {
	last := time.Now().Add(p.l.o.stall + time.Duration(len(body)/slowestRate)*time.Second)
	for len(body) > 0 {
		piece := body[:min(len(body), 64<<10)]
		next := time.Now().Add(p.l.o.stall)
		if last.Before(next) {
			next = last
		}
		_ = p.s.SetReadDeadline(next)
		if _, err := io.ReadFull(p.s.r, piece); err != nil {
			return err
		}
		body = body[len(piece):]
	}
	return nil
}

// discardBytes drops n bytes of a frame. Their sender holds no memory.
func (p *peer) discardBytes(n int64, look func(part []byte)) error {
	part := make([]byte, min(n, freeFrame))
	for n > 0 {
		part = part[:min(n, int64(len(part)))]
		if err := p.readFull(part); err != nil {
			return err
		}
		n -= int64(len(part))
		if look != nil {
			look(part)
		}
	}
	return nil
}

// readLarge reads the last frame of a plain request that needs budget. A request that is not
// admitted is answered at once and its bytes are dropped.
func (p *peer) readLarge(m message, size int64) error {
	var head peek
	start := make([]byte, freeFrame)
	if err := p.readFull(start); err != nil {
		return err
	}
	head.readPart(start)
	op := wire.BatchRun // the most that it can be
	if head.typed {
		op = wire.Op(head.event.Type)
	}
	var refusal error
	if size > p.l.o.requestLimit(op) {
		refusal = p.l.o.tooLarge(op, size)
	} else if !p.l.o.Budget.reserveBytes(size, budgetWait) {
		refusal = fmt.Errorf("the request has %d bytes, and %s; send it again later", size, p.l.o.Budget.describeLoad())
	}
	if refusal == nil {
		body := make([]byte, size)
		if err := p.readFull(body[copy(body, start):]); err != nil {
			p.l.o.Budget.returnBytes(size)
			return err
		}
		return p.deliverRequest(m, body, size, nil)
	}
	bad := func() *BadMessage { return &BadMessage{Event: head.event, Size: int(size), Err: refusal} }
	if !head.canAnswer() { // the fields come after the object
		if err := p.discardBytes(size-freeFrame, head.readPart); err != nil {
			return err
		}
		if !head.canAnswer() {
			return refusal
		}
		return p.deliverRequest(m, nil, 0, bad())
	}
	if err := p.deliverRequest(m, nil, 0, bad()); err != nil {
		return err
	}
	return p.discardBytes(size-freeFrame, nil)
}

// deliverRequest hands a request over to the owner of the socket. bad is a refusal of the listener.
func (p *peer) deliverRequest(m message, body []byte, cost int64, bad *BadMessage) error {
	p.l.mu.Lock()
	if p.ended {
		p.l.mu.Unlock()
		p.l.o.Budget.returnBytes(cost)
		return net.ErrClosed
	}
	p.next++
	id := binary.BigEndian.AppendUint64(nil, p.id)
	id = binary.BigEndian.AppendUint64(id, p.next)
	if len(p.underWay) == 0 {
		p.l.busy++
	}
	p.underWay[p.next] = cost
	p.held += cost
	p.l.mu.Unlock()
	in := parcel{frames: append(append([][]byte{id}, m.route...), body), tooMany: m.tooMany, bad: bad, user: p.user, address: p.address}
	select {
	case p.l.incoming <- in:
		return nil
	case <-p.l.done:
		return net.ErrClosed
	}
}

// findPeer returns the connection and the number of a request. Call it with l.mu held.
func (l *listener) findPeer(route Route) (*peer, uint64) {
	if len(route) == 0 || len(route[0]) != 16 {
		return nil, 0
	}
	return l.peers[binary.BigEndian.Uint64(route[0])], binary.BigEndian.Uint64(route[0][8:])
}

// endRequest ends a request: its budget is free again. Call it with l.mu held.
func (p *peer) endRequest(number uint64) {
	cost, ok := p.underWay[number]
	if !ok {
		return
	}
	delete(p.underWay, number)
	p.held -= cost
	if len(p.underWay) == 0 {
		p.l.busy--
	}
	p.l.o.Budget.returnBytes(cost)
	p.wakeGoroutines()
}

// forgetRequest ends a request without an answer.
func (l *listener) forgetRequest(route Route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, number := l.findPeer(route); p != nil {
		p.endRequest(number)
	}
}

// queueAnswer queues an answer.
func (l *listener) queueAnswer(route Route, frame []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, number := l.findPeer(route)
	if p == nil {
		return ErrGone
	}
	for l.unsent > 0 && l.unsent+int64(len(frame)) > unsentOfAll {
		if lazy := l.laziestPeer(); lazy == nil {
			break
		} else {
			l.auth.logWarning("connection closed: the peer does not read its answers", "address", lazy.address, "unread", lazy.unsent)
			lazy.removeConnection()
		}
	}
	if p.ended {
		return ErrGone
	}
	p.queueMessage(outgoing{frames: append(append([][]byte{}, route[1:]...), frame)})
	p.endRequest(number)
	return nil
}

// laziestPeer returns the peer with the most unsent bytes among those that let answers pile up or have
// stopped reading. Call it with l.mu held.
func (l *listener) laziestPeer() (lazy *peer) {
	for _, p := range l.peers {
		stopped := time.Since(time.Unix(0, p.s.progress.Load())) > stoppedAfter
		if p.unsent > 0 && (len(p.out) > 0 || stopped) && (lazy == nil || p.unsent > lazy.unsent) {
			lazy = p
		}
	}
	return lazy
}

// queueMessage adds a message for the writer. Call it with l.mu held.
func (p *peer) queueMessage(o outgoing) {
	if p.ended {
		return
	}
	if p.unsent == 0 {
		p.s.progress.Store(time.Now().UnixNano())
	}
	p.out = append(p.out, o)
	n := o.size()
	p.unsent += n
	p.l.unsent += n
	p.wakeGoroutines()
}

func (o outgoing) size() (n int64) {
	for _, f := range o.frames {
		n += int64(len(f))
	}
	return n
}

// writeMessages sends queued messages until the connection ends, or until the listener is closed and
// nothing is left.
func (p *peer) writeMessages() {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		p.l.mu.Lock()
		var o outgoing
		switch {
		case p.ended:
			p.l.mu.Unlock()
			return
		case len(p.out) > 0:
			o = p.out[0]
			p.out[0] = outgoing{}
			p.out = p.out[1:]
		case p.l.closed:
			p.removeConnection()
			p.l.mu.Unlock()
			return
		}
		waits := p.pings && len(p.underWay) > 0
		p.l.mu.Unlock()
		if len(o.frames) == 0 {
			select {
			case <-p.wake:
			case <-alive.C:
				if waits { // its PING may be behind requests that are not read yet
					p.l.mu.Lock()
					p.queueMessage(outgoing{[][]byte{[]byte("\x04PONG")}, true})
					p.l.mu.Unlock()
				}
			}
			continue
		}
		if err := p.writeMessage(o); err != nil {
			p.l.mu.Lock()
			p.removeConnection()
			p.l.mu.Unlock()
			return
		}
	}
}

func (p *peer) writeMessage(o outgoing) error {
	for i, frame := range o.frames {
		flags := byte(flagMore)
		switch {
		case o.command:
			flags = flagCommand
		case i == len(o.frames)-1:
			flags = 0
		}
		if err := p.s.sendFrame(flags, frame); err != nil {
			return err
		}
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if !p.ended {
		p.unsent -= o.size()
		p.l.unsent -= o.size()
		p.wakeGoroutines()
	}
	return nil
}

// close stops listening. Queued answers have the linger time.
func (l *listener) close() {
	l.net.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	close(l.done)
	for _, p := range l.peers {
		_ = p.s.SetReadDeadline(time.Now())
		p.wakeGoroutines()
	}
	time.AfterFunc(l.o.Linger, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range l.peers {
			p.removeConnection()
		}
	})
}
