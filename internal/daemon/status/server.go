package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"hce/dc/internal/daemon/bus"
)

// Config is the section [StatusServer] and what the daemon adds to it.
type Config struct {
	Host string // StatusHost; default 127.0.0.1
	Port int    // StatusPort; 0 for no HTTP, negative for one that the system chooses
	// AllowInsecure lets Host be an address that other machines reach.
	AllowInsecure bool
	// MinFree is how many bytes the disk of DataDir must have free to be ready
	// (StatusMinFree); 0 does not look.
	MinFree int64

	// Beat, if set, is called once per BeatEvery in which no manager was silent. One
	// that an operator has stopped is not: AdminInterfaceServer speaks for it.
	Beat      func()
	BeatEvery time.Duration
	// Stopping, if set, is called once when the daemon begins to stop.
	Stopping func()

	Bus      *bus.Bus
	Endpoint string   // of AdminInterfaceServer
	Sites    string   // endpoint of SitesManager; "" does not ask for the stores
	Classes  []string // the managers that must answer
	DataDir  string
	Log      *slog.Logger
}

// Limits of the HTTP server.
const (
	maxClients = 64
	maxHeader  = 16 << 10 // bytes
	readLimit  = 5 * time.Second
	writeLimit = 15 * time.Second
	idleLimit  = 60 * time.Second
)

// The life of the daemon as it is told from outside.
const (
	starting int32 = iota
	running
	stopping
)

// Server is the running status server.
type Server struct {
	cfg   Config
	phase atomic.Int32
	addr  string
	http  *http.Server

	asks  chan ask
	quit  chan struct{}
	ended sync.WaitGroup
	once  sync.Once
}

// ask is one request for the state of the managers.
type ask struct {
	stores bool // and of the stores
	answer chan told
}

type told struct {
	round
	stores string // what is wrong with the stores
}

// Start opens the address and begins to answer. With neither a port nor a beat
// nothing is opened. A port that another program has, perhaps a second daemon of
// this machine, is an error of the log: the crawler works without being looked at.
func Start(cfg Config) (*Server, error) {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	s := &Server{cfg: cfg, asks: make(chan ask), quit: make(chan struct{})}
	if cfg.Port == 0 && cfg.Beat == nil {
		return s, nil
	}
	var listener net.Listener
	if cfg.Port != 0 {
		var err error
		listener, err = s.listen()
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			cfg.Log.Error("no status server: its address is in use", "port", cfg.Port, "error", err)
		case err != nil:
			return nil, err
		}
	}
	a, err := newAsker(cfg.Bus, cfg.Endpoint, cfg.Classes)
	var p *probe
	if err == nil && cfg.Sites != "" {
		if p, err = newProbe(cfg.Bus, cfg.Sites); err != nil {
			a.socket.Close()
		}
	}
	if err != nil {
		if listener != nil {
			listener.Close()
		}
		return nil, err
	}
	a.stopped = func() bool {
		select {
		case <-s.quit:
			return true
		default:
			return false
		}
	}
	s.ended.Go(func() { s.serveAsks(a, p) })
	if listener != nil {
		s.http = &http.Server{
			Handler: s.handler(), MaxHeaderBytes: maxHeader, ReadTimeout: readLimit, ReadHeaderTimeout: readLimit,
			WriteTimeout: writeLimit, IdleTimeout: idleLimit, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		}
		s.ended.Go(func() { _ = s.http.Serve(listener) }) // Stop closes it
	}
	return s, nil
}

// listen opens the address, which other machines must not reach.
func (s *Server) listen() (net.Listener, error) {
	ip := net.ParseIP(strings.Trim(s.cfg.Host, "[]"))
	if s.cfg.Host == "localhost" {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if (ip == nil || !ip.IsLoopback()) && !s.cfg.AllowInsecure {
		return nil, fmt.Errorf("status: address %q: other machines can reach it, which AllowInsecureRemoteAccess = 1 must allow", s.cfg.Host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(strings.Trim(s.cfg.Host, "[]"), strconv.Itoa(max(0, s.cfg.Port))))
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	s.addr = l.Addr().String()
	return netutil.LimitListener(l, maxClients), nil
}

// Addr is host and port of the HTTP server; "" without one.
func (s *Server) Addr() string { return s.addr }

// Running says that all managers have been started.
func (s *Server) Running() { s.phase.Store(running) }

// Stopping says that the daemon begins to stop.
func (s *Server) Stopping() {
	if s.phase.Swap(stopping) != stopping && s.cfg.Stopping != nil {
		s.cfg.Stopping()
	}
}

// Stop ends the server and waits for its end. Requests under way are cut.
func (s *Server) Stop() {
	s.once.Do(func() {
		close(s.quit)
		if s.http != nil {
			s.http.Close()
		}
	})
	s.ended.Wait()
}

// serveAsks owns the sockets: it asks the managers for all who wait, and for the
// beat.
func (s *Server) serveAsks(a *asker, p *probe) {
	defer a.socket.Close()
	if p != nil {
		defer p.socket.Close()
	}
	var beats <-chan time.Time
	if s.cfg.Beat != nil && s.cfg.BeatEvery > 0 {
		ticker := time.NewTicker(s.cfg.BeatEvery)
		defer ticker.Stop()
		beats = ticker.C
	}
	for {
		select {
		case <-s.quit:
			return
		case <-beats:
			// A start or a stop may take its time, and has limits of its own.
			if s.phase.Load() != running || !a.ask().silent() {
				s.cfg.Beat()
			}
		case first := <-s.asks:
			waiting := s.others(first)
			t := told{round: a.ask()}
			for _, w := range waiting {
				if w.stores && p != nil {
					t.stores = p.stores(patience)
					break
				}
			}
			for _, w := range waiting {
				w.answer <- t
			}
		}
	}
}

// others are the requests that wait already, beside the first.
func (s *Server) others(first ask) []ask {
	waiting := []ask{first}
	for {
		select {
		case one := <-s.asks:
			waiting = append(waiting, one)
		default:
			return waiting
		}
	}
}

var errStops = errors.New("the daemon stops")

// state asks the managers, and the stores if wanted.
func (s *Server) state(ctx context.Context, stores bool) (told, error) {
	one := ask{stores: stores, answer: make(chan told, 1)}
	select {
	case s.asks <- one:
	case <-ctx.Done():
		return told{}, ctx.Err()
	case <-s.quit:
		return told{}, errStops
	}
	select {
	case t := <-one.answer:
		return t, nil
	case <-ctx.Done():
		return told{}, ctx.Err()
	case <-s.quit:
		return told{}, errStops
	}
}

// fault lists the managers that did not answer, by name; nil when all did.
func (r round) fault() map[string]string {
	var faults map[string]string
	for class, a := range r.classes {
		if a.fault == "" {
			continue
		}
		if faults == nil {
			faults = map[string]string{}
		}
		faults[class] = a.fault
	}
	return faults
}

// silent reports whether a manager gave no sign of life.
func (r round) silent() bool {
	for _, a := range r.classes {
		if a.silent {
			return true
		}
	}
	return false
}

// handler is what is served.
func (s *Server) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{server: s},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "dc-daemon: /healthz /readyz /metrics\n")
	})
	return http.MaxBytesHandler(mux, 0)
}

// condition is the answer of /healthz and /readyz.
type condition struct {
	Status   string            `json:"status"` // ok, unhealthy; ready, not ready
	Managers map[string]string `json:"managers,omitempty"`
	Reasons  []string          `json:"reasons,omitempty"`
}

func (c condition) write(w http.ResponseWriter, good bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(c) // a client that left
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	t, err := s.state(r.Context(), false)
	if err != nil {
		condition{Status: "unhealthy", Reasons: []string{err.Error()}}.write(w, false)
		return
	}
	faults := t.fault()
	if faults != nil {
		condition{Status: "unhealthy", Managers: faults}.write(w, false)
		return
	}
	condition{Status: "ok"}.write(w, true)
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	switch s.phase.Load() {
	case starting:
		reasons = append(reasons, "the daemon starts")
	case stopping:
		reasons = append(reasons, "the daemon stops")
	default:
		t, err := s.state(r.Context(), true)
		if err != nil {
			reasons = append(reasons, err.Error())
		}
		reasons = append(reasons, unready(t)...)
	}
	if s.cfg.MinFree > 0 {
		free, err := freeBytes(s.cfg.DataDir)
		switch {
		case err != nil:
			reasons = append(reasons, "the disk: "+err.Error())
		case free < s.cfg.MinFree:
			reasons = append(reasons, fmt.Sprintf("the disk of the data folder has %d bytes free, at least %d are wanted", free, s.cfg.MinFree))
		}
	}
	if len(reasons) > 0 {
		condition{Status: "not ready", Reasons: reasons}.write(w, false)
		return
	}
	condition{Status: "ready"}.write(w, true)
}

// unready is what keeps the managers and stores from their work.
func unready(t told) []string {
	var reasons []string
	for class, a := range t.classes {
		switch {
		case a.fault != "":
			reasons = append(reasons, class+": "+a.fault)
		case a.fields["state"] == suspended:
			reasons = append(reasons, class+" is suspended")
		}
	}
	slices.Sort(reasons)
	if t.stores != "" {
		reasons = append(reasons, t.stores)
	}
	return reasons
}

// freeBytes is what a program without rights may still write on the disk of a
// folder.
func freeBytes(folder string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}
