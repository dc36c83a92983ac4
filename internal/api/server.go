package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"hce/dc/internal/api/events"
	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/extraction"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/status"
	"hce/dc/internal/places"
	"hce/dc/internal/process"
)

// Config is the section [Api].
type Config struct {
	Host string // default 127.0.0.1
	Port int    // 0: off; negative for a port that the system chooses
	// TLSCert and TLSKey are PEM files. Without them only loopback is possible.
	TLSCert, TLSKey string
	// Hosts are further names under which clients reach the server, such as that of a proxy in front of it.
	Hosts []string
	// KeysDir is the folder of the keys; default <DataDir>/api.
	KeysDir string
	// Networks that are not public and may be asked by scrape and map.
	Networks []netip.Prefix
	// GatesDir is the folder of the gates of hosts, which the crawler shares; default <DataDir>/dc_hosts.
	GatesDir string
	// Delay is the least gap between two requests of scrape and map to a host.
	Delay time.Duration
	// Rate is the most requests a second with one key, or without keys of one address.
	Rate float64
	// PageTime and PageMemory are what reading one page may cost.
	PageTime   time.Duration
	PageMemory int64
	Explain    actions.Command // crawler-task
	// EventsKept is the number of events that are kept, and EventsPeriod the time between two looks for further ones.
	EventsKept   int64
	EventsPeriod time.Duration
	Version      string
}

// Name is the name of the API in the endpoints, and its ini section.
const Name = "Api"

// Limits of the server.
const (
	maxClients   = 256
	maxHeader    = 16 << 10 // bytes
	maxBody      = 1 << 20  // bytes, of a request
	headLimit    = 5 * time.Second
	idleLimit    = 60 * time.Second
	requestLimit = 2 * time.Minute // of one request, exports and events apart
	askLimit     = 100 * time.Second
	maxAsking    = 64 // requests to the managers at once
	maxFetching  = 64 // pages of scrape and map that are asked for at once
	maxPage      = 32 << 20
	stopLimit    = 5 * time.Second
)

// Server is the API. Create it with New.
type Server struct {
	cfg     Config
	log     *slog.Logger
	keys    *apikeys.Store
	rates   rates
	actions *actions.Actions
	scraper *actions.Scraper
	state   func(ctx context.Context) (status.Condition, error)
	names   map[string]bool // of Host
	tls     *tls.Config     // nil: plain HTTP

	events  *events.Events // nil: the log cannot be opened
	streams chan struct{}  // of events that run
	beat    time.Duration  // of each stream

	inside  *client.Inside
	workers *process.Workers
	http    *http.Server
	ended   sync.WaitGroup
	running sync.WaitGroup // requests
}

// New returns the API; it opens nothing.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, streams: make(chan struct{}, maxStreams), beat: heartbeat}
}

// Start opens the port and serves. It implements daemon.Service.
func (s *Server) Start(at daemon.Surroundings) (name, address string, err error) {
	if s.cfg.Port == 0 {
		return Name, "", nil
	}
	s.log, s.state = at.Log.With("op", "api"), at.State
	s.keys = &apikeys.Store{Dir: cmp.Or(s.cfg.KeysDir, filepath.Join(at.DataDir, "api"))}
	if _, err := s.keys.HasKeys(); err != nil {
		return Name, "", err
	}
	listener, err := s.listen()
	if errors.Is(err, syscall.EADDRINUSE) {
		s.log.Error("cannot start the API: its address is in use", "port", s.cfg.Port, "error", err)
		return Name, "", nil
	}
	if err != nil {
		return Name, "", err
	}
	gates := cmp.Or(s.cfg.GatesDir, filepath.Join(at.DataDir, "dc_hosts"))
	if err := os.MkdirAll(gates, 0o700); err != nil {
		listener.Close()
		return Name, "", fmt.Errorf("API: %w", err)
	}
	web, err := extraction.OpenWeb(extraction.WebConfig{
		Gates: gates, Networks: s.cfg.Networks, Delay: s.cfg.Delay, MaxBytes: maxPage, Timeout: time.Minute, MaxWait: time.Minute,
	})
	if err != nil {
		listener.Close()
		return Name, "", fmt.Errorf("API: %w", err)
	}
	s.inside = client.OpenInside(at.Bus, at.Clients, maxAsking, askLimit)
	s.workers = &process.Workers{Budget: process.Budget{Time: s.cfg.PageTime, Clock: 10 * s.cfg.PageTime, Memory: s.cfg.PageMemory}}
	s.actions = &actions.Actions{Service: s.inside}
	s.scraper = &actions.Scraper{Web: web, Read: s.workers.Answer, Fetches: make(chan struct{}, maxFetching), Reads: make(chan struct{}, runtime.GOMAXPROCS(0))}
	s.openEvents(filepath.Join(at.DataDir, "api"), s.inside)
	s.serve(listener)
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return Name, scheme + listener.Addr().String(), nil
}

// openEvents opens the log of events. Without it the other operations go on.
func (s *Server) openEvents(dir string, from service.Service) {
	var err error
	s.events, err = events.Open(events.Config{
		Dir: dir, Service: from, Pauses: s.findPauses, Every: s.cfg.EventsPeriod, Keep: s.cfg.EventsKept, Networks: s.cfg.Networks, Log: s.log,
	})
	if err != nil {
		s.log.Error("cannot open the log of events; if it is damaged, stop the daemon and remove the file", "file", filepath.Join(dir, events.FileName), "error", err)
	}
}

// findPauses returns why the managers pause; "": they do not, or do not say so.
func (s *Server) findPauses(ctx context.Context) string {
	found, err := s.state(ctx)
	if err != nil {
		return ""
	}
	var list []string
	for _, manager := range slices.Sorted(maps.Keys(found.Pauses)) {
		list = append(list, found.Pauses[manager])
	}
	return strings.Join(slices.Compact(list), "; ")
}

// serve starts the HTTP server.
func (s *Server) serve(listener net.Listener) {
	s.http = &http.Server{
		Handler: s.newHandler(), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headLimit, IdleTimeout: idleLimit,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	bounded := places.New(listener, maxClients)
	var on net.Listener = bounded
	if s.tls != nil {
		on = tls.NewListener(bounded, s.tls)
	}
	s.ended.Go(func() { _ = bounded.ServeOn(on, s.http, isHealth) }) // Stop closes it
}

// isHealth reports whether a request asks for the health of the API. It has a place when all others are taken.
func isHealth(r *http.Request) bool { return r.URL.Path == healthPath }

// listen opens the address. Other machines may reach it with TLS and keys only.
func (s *Server) listen() (net.Listener, error) {
	host := strings.Trim(cmp.Or(s.cfg.Host, "127.0.0.1"), "[]")
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if s.cfg.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(s.cfg.TLSCert, s.cfg.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("API: TLSCertificate and TLSKey: %w", err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	if !local {
		has, err := s.keys.HasKeys()
		switch {
		case err != nil:
			return nil, err
		case s.cfg.TLSCert == "":
			return nil, fmt.Errorf("API: other machines can reach %s, which needs TLSCertificate and TLSKey in [Api]; or keep ApiHost = 127.0.0.1 and put a proxy with TLS in front", host)
		case !has:
			return nil, fmt.Errorf("API: other machines can reach %s, which needs a key; make one with: hce key new --scope read", host)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(0, s.cfg.Port))))
	if err != nil {
		return nil, fmt.Errorf("API: %w", err)
	}
	s.names = map[string]bool{"localhost": true, host: true}
	for _, name := range s.cfg.Hosts {
		s.names[strings.ToLower(name)] = true
	}
	if local {
		s.names["127.0.0.1"], s.names["::1"] = true, true
	}
	return listener, nil
}

// Stop ends the server: requests that run have some seconds.
func (s *Server) Stop() {
	if s.events != nil {
		s.events.End()
	}
	if s.http != nil {
		limited, cancel := context.WithTimeout(context.Background(), stopLimit)
		if err := s.http.Shutdown(limited); err != nil {
			s.http.Close()
		}
		cancel()
	}
	s.ended.Wait()
	if s.inside != nil {
		s.awaitRequests()
		if s.events != nil {
			s.events.Close()
		}
		s.scraper.Web.Close()
		s.workers.Close()
		s.inside.Close()
	}
}

// awaitRequests returns when no request runs: Close ends their connections, and their contexts with them.
func (s *Server) awaitRequests() {
	s.running.Wait()
}
