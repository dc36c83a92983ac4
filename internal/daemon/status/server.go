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

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/places"
	"hce/dc/internal/wire"
)

// Config is the section [StatusServer] and the daemon's additions.
type Config struct {
	Host          string // StatusHost; default 127.0.0.1
	Port          int    // StatusPort; 0 for no HTTP, negative for a port that the system chooses
	AllowInsecure bool   // Host may be an address that other machines can reach
	// MinFree is how many free bytes of a disk with stored data are too few for /readyz to keep quiet
	// (StatusMinFree); 0: no number is. The daemon works on until a write fails.
	MinFree int64
	// Folders are the folders that the programs write, apart from DataDir. Each must be
	// writable to be ready.
	Folders []Folder

	// Beat, if not nil, is called once per BeatEvery unless a manager is silent. A manager
	// that an operator stopped is not silent: AdminInterfaceServer answers for it.
	Beat      func()
	BeatEvery time.Duration
	Inside    bool   // State is called, also without a port and Beat
	Stopping  func() // if not nil, called once when the daemon begins to stop

	Bus      *bus.Bus
	Endpoint string   // of AdminInterfaceServer
	Sites    string   // endpoint of SitesManager; "" for no check of the stores
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

// Phases of the daemon.
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

	queries chan query
	quit    chan struct{}
	ended   sync.WaitGroup
	once    sync.Once
}

// query is one request for the state of the managers.
type query struct {
	stores bool // also of the stores
	totals bool // also the sums over sites
	answer chan snapshot
}

type snapshot struct {
	round
	stores string // fault of the stores
	totals []wire.SiteTotal
}

// Start opens the address and serves. Without a port, Beat and Inside it opens nothing. A port in use,
// perhaps by a second daemon, is only logged: the daemon works without a status server.
func Start(cfg Config) (*Server, error) {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	s := &Server{cfg: cfg, queries: make(chan query), quit: make(chan struct{})}
	if cfg.Port == 0 && cfg.Beat == nil && !cfg.Inside {
		return s, nil
	}
	var listener net.Listener
	if cfg.Port != 0 {
		var err error
		listener, err = s.listenAddress()
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			cfg.Log.Error("cannot start the status server: its address is in use", "port", cfg.Port, "error", err)
		case err != nil:
			return nil, err
		}
	}
	a, err := newStatReader(cfg.Bus, cfg.Endpoint, cfg.Classes)
	var p *probe
	var sums *totals
	if err == nil && cfg.Sites != "" {
		if p, err = newProbe(cfg.Bus, cfg.Sites); err != nil {
			a.socket.Close()
		} else if sums, err = newTotals(cfg.Bus, cfg.Sites); err != nil {
			a.socket.Close()
			p.socket.Close()
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
	s.ended.Go(func() { s.serveQueries(a, p, sums) })
	if listener != nil {
		s.http = &http.Server{
			Handler: s.newHandler(), MaxHeaderBytes: maxHeader, ReadTimeout: readLimit, ReadHeaderTimeout: readLimit,
			WriteTimeout: writeLimit, IdleTimeout: idleLimit, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		}
		s.ended.Go(func() { _ = places.New(listener, maxClients).Serve(s.http, isHealth) }) // Stop closes it
	}
	return s, nil
}

// isHealth reports whether a request asks for the health of the daemon. It has a place when all others are taken.
func isHealth(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// listenAddress opens the address. Other machines may reach it only with AllowInsecure.
func (s *Server) listenAddress() (net.Listener, error) {
	ip := net.ParseIP(strings.Trim(s.cfg.Host, "[]"))
	if s.cfg.Host == "localhost" {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if (ip == nil || !ip.IsLoopback()) && !s.cfg.AllowInsecure {
		return nil, fmt.Errorf("status server: address %q: other machines can reach it, which AllowInsecureRemoteAccess = 1 must allow", s.cfg.Host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(strings.Trim(s.cfg.Host, "[]"), strconv.Itoa(max(0, s.cfg.Port))))
	if err != nil {
		return nil, fmt.Errorf("status server: %w", err)
	}
	s.addr = l.Addr().String()
	return l, nil
}

// Addr returns host and port of the HTTP server, or "".
func (s *Server) Addr() string { return s.addr }

// Running marks that all managers have started.
func (s *Server) Running() { s.phase.Store(running) }

// Stopping marks that the daemon begins to stop.
func (s *Server) Stopping() {
	if s.phase.Swap(stopping) != stopping && s.cfg.Stopping != nil {
		s.cfg.Stopping()
	}
}

// Stop ends the server and waits for its end. Open requests are aborted.
func (s *Server) Stop() {
	s.once.Do(func() {
		close(s.quit)
		if s.http != nil {
			s.http.Close()
		}
	})
	s.ended.Wait()
}

// serveQueries owns the sockets. It runs rounds for waiting queries and for the heartbeat.
func (s *Server) serveQueries(a *statReader, p *probe, sums *totals) {
	defer a.socket.Close()
	if p != nil {
		defer p.socket.Close()
		defer sums.socket.Close()
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
			// A start or stop may take long and has its own limits.
			if s.phase.Load() != running || !a.runRound().hasSilent() {
				s.cfg.Beat()
			}
		case first := <-s.queries:
			waiting := s.collectQueries(first)
			t := snapshot{round: a.runRound()}
			wants := func(what func(query) bool) bool { return p != nil && slices.ContainsFunc(waiting, what) }
			if wants(func(q query) bool { return q.stores }) {
				t.stores = p.storeFault(patience)
			}
			if wants(func(q query) bool { return q.totals }) {
				t.totals = sums.latestSums(patience)
			}
			for _, w := range waiting {
				w.answer <- t
			}
		}
	}
}

// collectQueries returns first and all other waiting queries.
func (s *Server) collectQueries(first query) []query {
	waiting := []query{first}
	for {
		select {
		case one := <-s.queries:
			waiting = append(waiting, one)
		default:
			return waiting
		}
	}
}

var errStops = errors.New("the daemon stops")

// askState returns the state of the managers and what else the query asks for.
func (s *Server) askState(ctx context.Context, one query) (snapshot, error) {
	one.answer = make(chan snapshot, 1)
	select {
	case s.queries <- one:
	case <-ctx.Done():
		return snapshot{}, ctx.Err()
	case <-s.quit:
		return snapshot{}, errStops
	}
	select {
	case t := <-one.answer:
		return t, nil
	case <-ctx.Done():
		return snapshot{}, ctx.Err()
	case <-s.quit:
		return snapshot{}, errStops
	}
}

// managerFaults returns the faults by manager; nil if all managers answered.
func (r round) managerFaults() map[string]string {
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

// pauseReasons returns the reasons of queues that pause after a fault, by manager.
func (r round) pauseReasons() map[string]string {
	all := map[string]string{}
	for class, a := range r.classes {
		for stat := range pauses {
			if reason, _ := a.fields[stat].(string); reason != "" {
				all[class] = reason
			}
		}
	}
	return all
}

// silentNodes returns the names of the members of a cluster without a sign of life.
func (r round) silentNodes() (names []string) {
	for _, a := range r.classes {
		list, _ := a.fields["nodes_silent"].([]any)
		for _, name := range list {
			names = append(names, fmt.Sprint(name))
		}
	}
	return names
}

// refusedNodes says which processes have the identity of a node of a cluster and are not that node.
func (r round) refusedNodes() (reasons []string) {
	for _, a := range r.classes {
		list, _ := a.fields["nodes_refused"].([]any)
		for _, reason := range list {
			reasons = append(reasons, fmt.Sprint(reason))
		}
	}
	return reasons
}

// hasSilent reports whether a manager is silent.
func (r round) hasSilent() bool {
	for _, a := range r.classes {
		if a.silent {
			return true
		}
	}
	return false
}

// newHandler returns the HTTP handler.
func (s *Server) newHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{server: s},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "dc-daemon: /healthz /readyz /metrics\n")
	})
	return http.MaxBytesHandler(mux, 0)
}

// Condition is the answer of /healthz and /readyz.
type Condition struct {
	Status   string            `json:"status"` // ok, unhealthy; ready, not ready
	Managers map[string]string `json:"managers,omitempty"`
	Reasons  []string          `json:"reasons,omitempty"`
	// Warnings say what will soon stop the work.
	Warnings []string `json:"warnings,omitempty"`
	// Pauses are the reasons of queues that pause after a fault, by manager. They do not make
	// the daemon unhealthy: a restart would not help.
	Pauses map[string]string `json:"pauses,omitempty"`
	// Silent are nodes of a cluster without a sign of life. They do not make the head unhealthy either.
	Silent []string `json:"silentNodes,omitempty"`
	// Refused are processes with the identity of a node that are not the node, with the remedy.
	Refused []string `json:"refusedNodes,omitempty"`
}

func (c Condition) writeResponse(w http.ResponseWriter, good bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(c) // fails only if the client has disconnected
}

func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	c, err := s.State(r.Context())
	if err != nil {
		c = Condition{Status: unhealthy, Reasons: []string{err.Error()}}
	}
	c.writeResponse(w, c.Status != unhealthy)
}

const unhealthy = "unhealthy"

// State returns the health of the daemon: what /healthz answers. The error says that ctx has ended, or the daemon.
func (s *Server) State(ctx context.Context) (Condition, error) {
	t, err := s.askState(ctx, query{})
	if err != nil {
		return Condition{}, err
	}
	if faults := t.managerFaults(); faults != nil {
		return Condition{Status: unhealthy, Managers: faults}, nil
	}
	return Condition{Status: "ok", Pauses: t.pauseReasons(), Silent: t.silentNodes(), Refused: t.refusedNodes()}, nil
}

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	switch s.phase.Load() {
	case starting:
		reasons = append(reasons, "the daemon starts")
	case stopping:
		reasons = append(reasons, "the daemon stops")
	default:
		t, err := s.askState(r.Context(), query{stores: true})
		if err != nil {
			reasons = append(reasons, err.Error())
		}
		reasons = append(reasons, unreadyReasons(t)...)
	}
	faults, warnings := s.cfg.checkFolders()
	reasons = append(reasons, faults...)
	if len(reasons) > 0 {
		Condition{Status: "not ready", Reasons: reasons, Warnings: warnings}.writeResponse(w, false)
		return
	}
	Condition{Status: "ready", Warnings: warnings}.writeResponse(w, true)
}

// unreadyReasons returns the faults of managers and stores.
func unreadyReasons(t snapshot) []string {
	var reasons []string
	for class, a := range t.classes {
		switch {
		case a.fault != "":
			reasons = append(reasons, class+": "+a.fault)
		case a.fields["state"] == suspended:
			reasons = append(reasons, class+" is suspended")
		}
	}
	for _, node := range t.silentNodes() {
		reasons = append(reasons, fmt.Sprintf("node %s gives no sign of life", node))
	}
	for class, reason := range t.pauseReasons() {
		reasons = append(reasons, class+" pauses: "+reason)
	}
	slices.Sort(reasons)
	if t.stores != "" {
		reasons = append(reasons, t.stores)
	}
	return reasons
}
