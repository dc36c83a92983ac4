package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/crawl/fetch"
)

// Config are the settings of the log. Zero values are the defaults.
type Config struct {
	Dir     string // of the file
	Service service.Service
	// Pauses returns why the managers pause, such as a full disk; "": they do not. nil: they never do.
	Pauses   func(ctx context.Context) string
	Every    time.Duration  // between looks at the service; default 2 s
	Overlap  time.Duration  // of the stream; default 15 s
	Keep     int64          // events; default 100,000
	Networks []netip.Prefix // that are not public and that webhooks may reach
	Log      *slog.Logger
	// Now and After are the clock; default: that of the machine.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Events is the log. Goroutines may share it.
type Events struct {
	cfg   Config
	store *store

	client *fetch.Client // of webhooks

	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // is closed when there are events, or other webhooks
	ready   chan struct{} // is closed when pages are told
	begun   bool
}

// ErrClosed means that the daemon stops.
var ErrClosed = errors.New("the daemon stops")

// Open opens the log. It creates its file when it begins.
func Open(c Config) (*Events, error) {
	c.Every, c.Overlap, c.Keep = cmp.Or(c.Every, 2*time.Second), cmp.Or(c.Overlap, 15*time.Second), cmp.Or(c.Keep, 100_000)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	e := &Events{cfg: c, changed: make(chan struct{}), ready: make(chan struct{})}
	e.life, e.end = context.WithCancel(context.Background())
	_, err := os.Stat(filepath.Join(c.Dir, FileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, nil
	case err == nil:
		err = e.Begin()
	}
	if err != nil {
		e.end()
		return nil, err
	}
	return e, nil
}

// Begin creates the log, unless it runs already.
func (e *Events) Begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		return nil
	}
	if e.life.Err() != nil {
		return ErrClosed
	}
	var err error
	if e.store, err = openStore(e.cfg.Dir, e.cfg.Keep); err != nil {
		return fmt.Errorf("log of events: %w", err)
	}
	hooks, err := e.store.webhooks(e.life)
	if err != nil {
		e.store.close()
		return fmt.Errorf("log of events: %w", err)
	}
	e.begun, e.client = true, fetch.New(fetch.Config{AllowedNetworks: e.cfg.Networks})
	e.running.Go(e.read)
	for _, h := range hooks {
		e.running.Go((&delivery{Events: e, id: h.ID}).run)
	}
	return nil
}

// hasBegun reports whether there is a file.
func (e *Events) hasBegun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// Close ends the log. Streams of Done end before.
func (e *Events) Close() {
	e.end()
	e.running.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		e.client.Close()
		e.store.close()
	}
}

// End lets those who wait for events end. The log can still be read.
func (e *Events) End() { e.end() }

// Done is closed when the log ends.
func (e *Events) Done() <-chan struct{} { return e.life.Done() }

// Ready is closed when the pages that were there at the beginning are recorded: what happens from then on is told.
func (e *Events) Ready() <-chan struct{} { return e.ready }

// Changed returns a channel that is closed when there are further events. Take it before you look.
func (e *Events) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

// wake closes the channel of Changed.
func (e *Events) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.changed)
	e.changed = make(chan struct{})
}

// After returns at most most events behind a position, ordered by number. Begin comes before it.
func (e *Events) After(ctx context.Context, position int64, most int) ([]Event, error) {
	return e.store.readAfter(ctx, position, most)
}

// Bounds returns the number before the oldest event of the log and that of the newest one. Begin comes before it.
func (e *Events) Bounds(ctx context.Context) (before, last int64, err error) {
	if !e.hasBegun() {
		return 0, 0, errors.New("the log has not begun")
	}
	return e.store.bounds(ctx)
}

// listShare is the least pause between two rounds, in times of the duration of the list of sites: a service may have very many.
const listShare = 10

// read makes rounds until the end. A fault is logged once, and the next round tries again.
func (e *Events) read() {
	r := &reader{
		store: e.store, service: e.cfg.Service, pauses: e.cfg.Pauses, overlap: e.cfg.Overlap, now: e.cfg.Now, log: e.cfg.Log, notify: e.wake,
		watched: map[string]watched{},
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	isReady := false
	for last := ""; ; timer.Reset(max(e.cfg.Every, listShare*r.listing)) {
		select {
		case <-e.life.Done():
			return
		case <-timer.C:
		}
		ready, err := r.readSites(e.life)
		switch text := fmt.Sprint(err); {
		case e.life.Err() != nil:
			return
		case err == nil:
			last = ""
		case text != last:
			e.cfg.Log.Warn("cannot look for events; trying again", "error", err)
			last = text
		}
		if ready && !isReady {
			isReady = true
			close(e.ready)
		}
	}
}
