// Package webstore receives what crawlers found out, and sends crawlers to web servers.
//
//	store := webstore.New(webstore.Config{Sink: sink, Expiry: expiry, Log: log, Now: time.Now, MaxConnections: 32})
//	err := store.Serve(ctx, listener)
//
// Many crawlers send at once, each over one connection (package packet). One goroutine stores: it takes
// what all of them have sent, stores it by one call of the Sink, updates the expiry directory, and then
// answers. An answer Stored therefore means durable. A crawler that gets no answer sends again, and the
// Sink knows the document.
//
// Everything has a limit: connections, packets in flight, memory of large packets, and time.
package webstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/places"
)

const (
	// perConnection is how many packets of a connection may wait for their answers.
	perConnection = 64
	// batchSize is how many packets are stored at once.
	batchSize = 64
	// largePacket is the size from which packets share largePackets places, to bound the memory.
	largePacket  = 256 << 10
	largePackets = 4
)

// Config has the settings of a store.
type Config struct {
	Sink           Sink
	Expiry         *Expiry
	Log            *slog.Logger
	Now            func() time.Time
	MaxConnections int           // at once, at least 1; an idle one gives its place to the next
	IdleTime       time.Duration // of a connection without packets; 2 min unless set
	PacketTime     time.Duration // for one packet, and for taking an answer; 30 s unless set
}

// Store is a Web Store. Goroutines may share it.
type Store struct {
	cfg   Config
	jobs  chan job
	large chan struct{}
}

// job is a document, and what to do with its answer.
type job struct {
	id    packet.ID
	doc   packet.Document
	reply func(packet.Frame)
}

// New returns a store. It opens nothing.
func New(cfg Config) *Store {
	if cfg.IdleTime == 0 {
		cfg.IdleTime = 2 * time.Minute
	}
	if cfg.PacketTime == 0 {
		cfg.PacketTime = 30 * time.Second
	}
	return &Store{cfg: cfg, jobs: make(chan job), large: make(chan struct{}, largePackets)}
}

// Serve receives packets until ctx ends, and finishes what is being stored. It closes l. It returns nil
// after ctx has ended.
func (s *Store) Serve(ctx context.Context, l net.Listener) error {
	l = places.Waiting(l, s.cfg.MaxConnections)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	stored := make(chan struct{})
	go func() { defer close(stored); s.storeAll(context.WithoutCancel(ctx)) }()
	var all sync.WaitGroup
	defer func() {
		all.Wait()
		close(s.jobs)
		<-stored
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if t, ok := err.(interface{ Temporary() bool }); ok && t.Temporary() { // too many open files
				time.Sleep(50 * time.Millisecond)
				continue
			}
			return fmt.Errorf("receive packets: %w", err)
		}
		all.Go(func() { s.serveConnection(ctx, places.Of(c)) })
	}
}

// serveConnection receives the packets of one crawler, and sends the answers.
func (s *Store) serveConnection(ctx context.Context, c *places.Conn) {
	log := s.cfg.Log.With("client", c.RemoteAddr().String())
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	// As many answers as places: a reply never waits for a client that takes none.
	answers, places := make(chan packet.Frame, perConnection), make(chan struct{}, perConnection)
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer c.Close()
		for f := range answers {
			err := c.SetWriteDeadline(time.Now().Add(s.cfg.PacketTime))
			if err == nil {
				err = packet.Write(c, f)
			}
			if err != nil { // the crawler has left, or takes no answers; it sends the document again
				_ = c.Close()
			}
			<-places
			c.End()
		}
	}()
	err := s.receivePackets(ctx, c, places, func(f packet.Frame) { answers <- f })
	if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		log.Info("connection of a crawler ended", "error", err)
	}
	for range perConnection { // until all answers are written
		places <- struct{}{}
	}
	close(answers)
	<-written
}

// receivePackets reads packets until the connection ends or sends something else, and returns why. Each packet takes
// a place, and gets one reply.
func (s *Store) receivePackets(ctx context.Context, c *places.Conn, places chan struct{}, reply func(packet.Frame)) error {
	for {
		places <- struct{}{}
		f, release, err := s.readFrame(ctx, c)
		if err != nil {
			release()
			<-places
			return err
		}
		c.Begin()
		doc, err := packet.Decode(f)
		if err != nil {
			release()
			s.cfg.Log.Warn("packet refused", "client", c.RemoteAddr().String(), "error", err)
			reply(packet.Reply(f.ID, packet.Refused, packet.Answer{Error: err.Error()}))
			continue
		}
		s.jobs <- job{f.ID, doc, func(f packet.Frame) { release(); reply(f) }}
	}
}

// readFrame reads one frame. release frees its place among the large ones.
func (s *Store) readFrame(ctx context.Context, c *places.Conn) (f packet.Frame, release func(), err error) {
	release = func() {}
	if err := setReadDeadline(ctx, c, s.cfg.IdleTime); err != nil {
		return f, release, err
	}
	f, size, err := packet.ReadHeader(c, packet.MaxPayload)
	if err != nil {
		return f, release, err
	}
	if size > largePacket {
		s.large <- struct{}{} // bounded: their packets have deadlines
		release = func() { <-s.large }
	}
	if err := setReadDeadline(ctx, c, s.cfg.PacketTime); err != nil {
		return f, release, err
	}
	return f, release, f.ReadPayload(progress{c}, size)
}

// progress reads a packet. A connection that sends one is not the first to lose its place.
type progress struct{ *places.Conn }

func (p progress) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 {
		p.Progress()
	}
	return n, err
}

// setReadDeadline sets the time of the next read, unless ctx has ended.
func setReadDeadline(ctx context.Context, c net.Conn, d time.Duration) error {
	// The end of ctx sets a deadline in the past. If it comes before the check below, the check sees
	// it; if it comes later, it replaces this deadline.
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	return ctx.Err()
}

// storeAll stores jobs until there are no more. It stores at once what has come in the meantime.
func (s *Store) storeAll(ctx context.Context) {
	for first := range s.jobs {
		batch := []job{first}
		for more := true; more && len(batch) < batchSize; {
			select {
			case j, ok := <-s.jobs:
				if more = ok; ok {
					batch = append(batch, j)
				}
			default:
				more = false
			}
		}
		s.storeBatch(ctx, batch)
	}
}

// storeBatch stores a batch and answers it.
func (s *Store) storeBatch(ctx context.Context, batch []job) {
	docs, hosts := make([]packet.Document, len(batch)), make([]string, len(batch))
	for i, j := range batch {
		docs[i], hosts[i] = j.doc, canonical.Host(j.doc.URL)
	}
	outcomes, err := s.cfg.Sink.Store(ctx, docs)
	if err == nil && len(outcomes) != len(docs) {
		err = fmt.Errorf("the store has %d outcomes of %d documents", len(outcomes), len(docs))
	}
	if err == nil {
		if err = s.cfg.Expiry.Touch(s.cfg.Now(), hosts...); errors.Is(err, ErrFull) {
			s.cfg.Log.Warn("a host will not be crawled again", "error", err)
			err = nil
		}
	}
	if err != nil {
		s.cfg.Log.Error("cannot store; crawlers send the documents again", "documents", len(docs), "error", err)
		for _, j := range batch {
			j.reply(packet.Reply(j.id, packet.Failed, packet.Answer{Error: err.Error()}))
		}
		return
	}
	for i, j := range batch {
		s.cfg.Log.Info("stored", "url", j.doc.URL, "outcome", outcomes[i])
		j.reply(packet.Reply(j.id, packet.Stored, packet.Answer{Outcome: outcomes[i]}))
	}
}
