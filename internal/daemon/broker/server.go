package broker

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of the embedded server.
const (
	// MaxPayload is the largest message, in bytes. Larger data are Objects.
	MaxPayload = 1 << 20

	// DefaultAddress is where the embedded server listens: this machine only, without TLS.
	DefaultAddress = "127.0.0.1:4222"

	defaultMaxStore       = 8 << 30
	defaultMaxConnections = 256
	maxPending            = 64 << 20 // bytes that wait for one slow connection, then it is closed
	maxSubscriptions      = 4096     // of one connection
	writeDeadline         = 10 * time.Second
	startTimeout          = 30 * time.Second
)

// ServerConfig configures the embedded server.
type ServerConfig struct {
	Folder         string // the streams (jetstream/) and certificates (tls/); mode 0700
	Address        string // "host:port"; default DefaultAddress; any other host than loopback requires TLS, which is then on
	Keys           *Keys  // who may connect
	MaxStore       int64  // bytes of the streams on disk; default 8 GiB
	MaxConnections int    // default 256
	Log            *slog.Logger

	Cluster *ClusterConfig // of three servers for tests; nil: one server

	now func() time.Time
}

// ClusterConfig makes a server one of several that replicate the streams.
type ClusterConfig struct {
	ServerName string   // unique
	Address    string   // "host:port" for the other servers; loopback only
	Peers      []string // "nats://host:port" of the other servers' Address
}

// Server is the embedded server. It may be used by any number of goroutines.
type Server struct {
	nats   *server.Server
	config ServerConfig
	gate   *gate
	ca     []byte // nil without TLS
	stop   chan struct{}
	done   chan struct{}
}

// StartServer starts the embedded server and returns when it accepts connections and its streams
// are read.
func StartServer(c ServerConfig) (*Server, error) {
	s, err := startServer(c)
	if err != nil {
		return nil, fmt.Errorf("start broker in %s: %w", c.Folder, err)
	}
	return s, nil
}

func startServer(c ServerConfig) (*Server, error) {
	if c.Keys == nil {
		return nil, errors.New("no keys: a broker without keys would serve everybody")
	}
	c.Address = cmp.Or(c.Address, DefaultAddress)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.now == nil {
		c.now = time.Now
	}
	s := &Server{config: c, gate: newGate(c.Keys, c.Log), stop: make(chan struct{}), done: make(chan struct{})}
	options, err := s.serverOptions()
	if err != nil {
		return nil, err
	}
	if err := checkAddress(c.Address); err != nil {
		return nil, err
	}
	if s.nats, err = server.NewServer(options); err != nil {
		return nil, err
	}
	s.gate.accounts = newAccounts(s.nats)
	s.nats.SetLoggerV2(newLogger(c.Log, s.gate), true, false, false) // debug: see logger.Debugf
	s.nats.Start()
	if !s.nats.ReadyForConnections(startTimeout) || !s.nats.JetStreamEnabled() {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
		return nil, fmt.Errorf("the server is not ready after %v; see its log lines above", startTimeout)
	}
	go s.watchKeys()
	return s, nil
}

// checkAddress returns an error if no server can listen on an address: the NATS server does not say so.
func checkAddress(address string) error {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: another head or NATS server has it; stop that one, or change listen of [Cluster]", err)
	}
	if err == nil {
		err = l.Close()
	}
	return err
}

func (s *Server) serverOptions() (*server.Options, error) {
	c := s.config
	host, portText, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", c.Address, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: the port is not a number: %w", c.Address, err)
	}
	if port == 0 {
		port = 1 << 32 // replaced below: 0 means the default port for the library
	}
	store := filepath.Join(c.Folder, "jetstream")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return nil, err
	}
	o := &server.Options{
		Host: host, Port: int(port), ServerName: "dc-broker",
		NoSigs: true, DisableJetStreamBanner: true,
		MaxConn: cmp.Or(c.MaxConnections, defaultMaxConnections), MaxSubs: maxSubscriptions,
		MaxPayload: MaxPayload, MaxPending: maxPending, WriteDeadline: writeDeadline,
		PingInterval: 5 * time.Second, MaxPingsOut: 2,
		AuthTimeout: 5, TLSTimeout: 5, LameDuckDuration: 0,
		CustomClientAuthentication: s.gate, AlwaysEnableNonce: true,
		JetStream: true, StoreDir: store, JetStreamMaxStore: cmp.Or(c.MaxStore, defaultMaxStore), JetStreamMaxMemory: 64 << 20,
		SyncAlways: true,
	}
	if port > 1<<16 {
		o.Port = server.RANDOM_PORT
	}
	if err := s.enableTLS(o); err != nil {
		return nil, err
	}
	return o, s.joinCluster(o)
}

// enableTLS turns TLS on for addresses that other machines reach.
func (s *Server) enableTLS(o *server.Options) error {
	if isLoopback(o.Host) {
		return nil
	}
	a, err := openAuthority(filepath.Join(s.config.Folder, "tls"), s.config.now)
	if err != nil {
		return err
	}
	s.ca = a.PEM()
	o.TLS, o.TLSHandshakeFirst = true, true
	o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: a.serverCertificate}
	return nil
}

// joinCluster adds the other servers of a cluster. Routes have no keys, so they are for loopback only;
// a cluster of several machines is external, see ExternalConfig.
func (s *Server) joinCluster(o *server.Options) error {
	c := s.config.Cluster
	if c == nil {
		return nil
	}
	host, portText, err := net.SplitHostPort(c.Address)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("cluster address %q: want a loopback address and a port", c.Address)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return fmt.Errorf("cluster address %q: %w", c.Address, err)
	}
	o.ServerName = c.ServerName
	o.Cluster = server.ClusterOpts{Name: "dc", Host: host, Port: port, NoAdvertise: true}
	for _, peer := range c.Peers {
		o.Routes = append(o.Routes, server.RoutesFromStr(peer)...)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is the address that clients use, with the port that is in use.
func (s *Server) URL() string {
	scheme := "nats"
	if s.ca != nil {
		scheme = "tls"
	}
	host, _, _ := net.SplitHostPort(s.config.Address)
	port := strconv.Itoa(s.nats.Addr().(*net.TCPAddr).Port)
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Join returns what a node needs to connect. urls are the addresses of the head as nodes see it;
// none: URL.
func (s *Server) Join(name, seed string, urls ...string) Join {
	if len(urls) == 0 {
		urls = []string{s.URL()}
	}
	j := Join{Name: name, URLs: urls, Seed: seed}
	if s.ca != nil {
		j.CA, j.ServerName, j.TLSFirst = string(s.ca), serverName, true
	}
	return j
}

// Local configures a connection of the head inside of this process.
func (s *Server) Local() DialConfig {
	seed, err := readSecret(s.config.Keys.HeadSeed())
	j := Join{Name: Head, URLs: []string{"nats://in-process"}, Seed: string(seed)}
	return DialConfig{Join: j, Log: s.config.Log, inProcess: s.nats, err: err}
}

// watchKeys ends connections whose key is removed, within a second.
func (s *Server) watchKeys() {
	defer close(s.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			for _, id := range s.gate.revokedConnections(func(id uint64) bool { return s.nats.GetClient(id) != nil }) {
				_ = s.nats.DisconnectClientByID(id)
			}
		}
	}
}

// Close stops the server. Acknowledged messages are on disk. It waits until ctx ends at most.
func (s *Server) Close(ctx context.Context) error {
	close(s.stop)
	<-s.done
	s.nats.Shutdown()
	ended := make(chan struct{})
	go func() { s.nats.WaitForShutdown(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop broker: %w", ctx.Err())
	}
}
