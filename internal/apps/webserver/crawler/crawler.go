// Package crawler is the part of a web server that works with a search engine: a port on which it is
// asked to create a crawler, and the crawler, which indexes the served folder locally.
//
//	c, err := crawler.New(crawler.Config{Folder: folder, BaseURL: "http://a.example/", Table: path, Store: "store.example:8070", ...})
//	if err != nil { ... }
//	defer c.Close()
//	err = c.Serve(ctx, listener)
//
// One crawler runs at a time, and Pause passes between the end of one and the begin of the next. A
// crawler reads all public files and compares their MD5 with a table. It sends new and changed ones
// to the Web Store, and notes a file in the table when the store has acknowledged it. So a kill at any moment
// repeats at most the packets that were in flight, and the store knows them by URL and content. Files
// that vanished or became private leave the table; the store keeps them.
//
// Pages link to other servers. Each of them is asked once in a run to create a crawler, too.
package crawler

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/cli/seedlog"
	"hce/dc/internal/places"
)

// maxHandshakes bounds the connections to the crawler port; further ones wait in the system.
const maxHandshakes = 16

// maxRuns bounds the runs that are remembered for the report; the last ones are.
const maxRuns = 1000

// Config has the settings of a crawler port.
type Config struct {
	Folder      *folder.Folder
	BaseURL     string // of the folder, with a slash at the end
	Table       string // file of the table
	Store       string // address of the Web Store
	Pause       time.Duration
	PortStep    int            // of crawler ports above the ports of HTTP
	MaxHosts    int            // linked servers of a run; 0: none is asked
	DialStore   handshake.Dial // the store is configured by the operator
	DialServers handshake.Dial // linked servers are named by pages: behind an egress guard
	Log         *slog.Logger
	Now         func() time.Time // time.Now unless set
}

// Crawler is a crawler port. Goroutines may share it.
type Crawler struct {
	cfg   Config
	table *Table
	runs  sync.WaitGroup

	mu      sync.Mutex
	running bool
	ended   time.Time // of the last run
	count   int64
	last    []Run
}

// New opens the table. The caller calls Close.
func New(cfg Config) (*Crawler, error) {
	if u, err := canonical.Canonical(cfg.BaseURL); err != nil || u != cfg.BaseURL || u[len(u)-1] != '/' {
		return nil, fmt.Errorf("base URL %q: it must be canonical and end with a slash, such as http://a.example/: %w", cfg.BaseURL, err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	t, err := OpenTable(cfg.Table)
	return &Crawler{cfg: cfg, table: t}, err
}

// Close closes the table. No run may be active.
func (c *Crawler) Close() error { return c.table.Close() }

// Files returns the table.
func (c *Crawler) Files() []Entry { return c.table.List() }

// Status returns whether a crawler runs now, and the last runs, oldest first.
func (c *Crawler) Status() (running bool, runs []Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running, slices.Clone(c.last)
}

// Serve answers handshakes and runs crawlers until ctx ends. It closes l, and returns after the last
// run. It returns nil after ctx has ended.
func (c *Crawler) Serve(ctx context.Context, l net.Listener) error {
	l = places.Waiting(l, maxHandshakes)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var all sync.WaitGroup
	defer c.runs.Wait()
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			if !isTemporary(ctx, err) {
				return fmt.Errorf("crawler port: %w", err)
			}
			continue
		}
		all.Go(func() { c.answerHandshake(ctx, conn) })
	}
}

// isTemporary waits a moment after an error that may pass, such as too many open files.
func isTemporary(ctx context.Context, err error) bool {
	if t, ok := err.(interface{ Temporary() bool }); !ok || !t.Temporary() {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
	return true
}

// answerHandshake answers one connection.
func (c *Crawler) answerHandshake(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if conn.SetDeadline(time.Now().Add(handshake.Timeout)) != nil {
		return
	}
	log := c.cfg.Log.With("client", conn.RemoteAddr().String())
	reason := "no handshake"
	if handshake.Valid(conn) {
		reason = c.reserveCrawler()
	}
	if reason != "" {
		log.Info("crawler refused", "reason", reason)
		_, _ = io.WriteString(conn, handshake.Fail)
		return
	}
	if _, err := io.WriteString(conn, handshake.OK); err != nil {
		log.Info("crawler refused", "reason", "the client left", "error", err)
		c.freeCrawler()
		return
	}
	log.Info("crawler accepted")
	c.runs.Go(func() { c.runReserved(ctx) })
}

// reserveCrawler takes the place of the one crawler. It returns why it cannot, or "".
func (c *Crawler) reserveCrawler() (reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return "a crawler runs"
	}
	if rest := c.ended.Add(c.cfg.Pause).Sub(c.cfg.Now()); rest > 0 && !c.ended.IsZero() {
		return fmt.Sprintf("pause for another %v", rest.Round(time.Millisecond))
	}
	c.running = true
	return ""
}

func (c *Crawler) freeCrawler() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
}

// runReserved runs the crawler that was reserved.
func (c *Crawler) runReserved(ctx context.Context) {
	c.mu.Lock()
	c.count++
	log := c.cfg.Log.With(seedlog.Thread(c.count))
	c.mu.Unlock()
	r := c.indexFolder(ctx, log)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.ended = false, c.cfg.Now()
	c.last = append(c.last, r)
	if len(c.last) > maxRuns {
		c.last = c.last[1:]
	}
}
