// Package server offers an archive to clients over HTTP (package protocol).
//
//	s, err := server.Listen(server.Config{Store: store, Port: 5510, Log: log})
//	if err != nil { ... }
//	err = s.Run(ctx) // until ctx is done
//
// It keeps nothing: the files are in the store, and each observer knows the last commit that it has.
// A notifier looks for new commits at an interval. Each observer has a goroutine that sends it what
// follows its own position, from the newest commits in memory, or from the store if it is further
// behind. So a slow observer waits alone, and one that reconnects continues where it was.
//
// Limits: the connections are bounded, and half of them are for observers. A client must send the
// header of a request within headerLimit and read or write streams at a least rate. An address that
// other machines can reach needs a token and TLS.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/places"
)

// Config is the section [Server]. Zero values mean the defaults.
type Config struct {
	Host          string // default 127.0.0.1
	Port          int    // 0: a free port
	Token         string // "": none is needed
	Certificate   string // files in PEM; "": no TLS
	Key           string
	AllowInsecure bool          // an address that other machines can reach may work without token or TLS
	Interval      time.Duration // between two searches of the notifier
	Connections   int
	MaxFile       int64 // bytes of a file that a client writes
	Heartbeat     time.Duration
	// Patience is how long a client may read or write nothing of a stream at its beginning. Later it
	// needs leastRate on average.
	Patience time.Duration

	Store archive.Store
	Log   *slog.Logger
}

// Defaults of Config.
const (
	DefaultInterval    = 10 * time.Second
	DefaultConnections = 1000
	DefaultMaxFile     = 1 << 30
	DefaultHeartbeat   = 15 * time.Second
	DefaultPatience    = time.Minute
)

// Fixed limits.
const (
	headerLimit = 10 * time.Second
	idleLimit   = 2 * time.Minute
	stopLimit   = 5 * time.Second // of requests that run when the server stops
	leastRate   = 512             // bytes per second of a stream
	bufferSize  = 64 << 10        // of a stream
)

// Server is a server with an open address.
type Server struct {
	cfg      Config
	tcp      net.Listener
	places   *places.Listener
	listener net.Listener // tcp with the limit of connections, and TLS
	http     *http.Server
	feed     *feed
	registry *registry
	origins  *http.CrossOriginProtection
	stopping chan struct{}
	requests sync.WaitGroup // that run
}

// Listen opens the address. Run must follow.
func Listen(cfg Config) (*Server, error) {
	cfg.fillDefaults()
	s := &Server{cfg: cfg, origins: http.NewCrossOriginProtection(), stopping: make(chan struct{})}
	s.feed = newFeed(cfg.Store, cfg.Interval, cfg.Log)
	s.registry = &registry{most: max(1, cfg.Connections/2), all: map[*observer]bool{}}
	s.http = &http.Server{
		Handler: s.requestHandler(), MaxHeaderBytes: protocol.MaxHeader, ReadHeaderTimeout: headerLimit, ReadTimeout: headerLimit,
		WriteTimeout: cfg.Patience, IdleTimeout: idleLimit, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	if err := s.openListener(); err != nil {
		return nil, fmt.Errorf("archive server: %w", err)
	}
	return s, nil
}

func (c *Config) fillDefaults() {
	orElse(&c.Host, "127.0.0.1")
	orElse(&c.Interval, DefaultInterval)
	orElse(&c.Connections, DefaultConnections)
	orElse(&c.MaxFile, DefaultMaxFile)
	orElse(&c.Heartbeat, DefaultHeartbeat)
	orElse(&c.Patience, DefaultPatience)
}

func orElse[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

// openListener opens the address, with TLS if there is a certificate.
func (s *Server) openListener() error {
	host := strings.Trim(s.cfg.Host, "[]")
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	secure := s.cfg.Token != "" && s.cfg.Certificate != ""
	if !local && !secure && !s.cfg.AllowInsecure {
		return fmt.Errorf("other machines can reach the address %q: set token_file, tls_certificate and tls_key, or AllowInsecureRemoteAccess = 1", host)
	}
	var secrets *tls.Config
	if s.cfg.Certificate != "" || s.cfg.Key != "" {
		pair, err := tls.LoadX509KeyPair(s.cfg.Certificate, s.cfg.Key)
		if err != nil {
			return fmt.Errorf("tls_certificate and tls_key: %w", err)
		}
		secrets = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	}
	opener := net.ListenConfig{Control: endLost(s.cfg.Patience)}
	var err error
	if s.tcp, err = opener.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(s.cfg.Port))); err != nil {
		return err
	}
	s.places = places.New(s.tcp, s.cfg.Connections)
	s.listener = s.places
	if secrets != nil {
		s.listener = tls.NewListener(s.listener, secrets)
	}
	return nil
}

// Addr returns host and port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the address for clients.
func (s *Server) URL() string {
	if s.cfg.Certificate != "" {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Run serves until ctx is done. It then ends the streams of observers, gives other requests a moment,
// closes all connections, and waits for what the store does. It returns nil after ctx is done, and an error if it cannot serve.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.feed.runSearches(ctx) })
	all.Go(func() {
		if err := s.places.ServeOn(s.listener, s.http, nil); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("archive server: %w", err))
		}
	})
	<-ctx.Done()
	close(s.stopping)
	limited, end := context.WithTimeout(context.Background(), stopLimit)
	defer end()
	if s.http.Shutdown(limited) != nil {
		s.http.Close()
	}
	all.Wait()
	s.requests.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}
