// Package fileserver serves a folder by HTTP/1.1, and answers clients of HTTP/1.0.
//
//	s := fileserver.New(fileserver.Config{Folder: folder, MaxRequests: 8, QueueTime: 5 * time.Second, Log: log})
//	go s.Serve(ctx, listener)
//	s.Off("maintenance until noon") // every request is answered with 503 and this reason
//
// At most MaxRequests requests are worked on at once. Further ones wait in a queue, first in first
// out, and get 408 after QueueTime. Two policies can put limits to the server: MaxFlow bounds the
// bytes that it sends; above them it goes out of service. MaxConnections bounds the open
// connections; a further one is told the reason with 503, and closed.
//
// Everything that a client controls has a limit: header, method, body, time to send the header, time
// to take each part of an answer, and time without requests.
package fileserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/places"
)

// Config has the settings of a server.
type Config struct {
	Folder         *folder.Folder
	Log            *slog.Logger
	MaxRequests    int           // worked on at once, at least 1
	QueueTime      time.Duration // of one request
	CloseAlways    bool          // close the connection after each answer
	MaxFlow        int64         // bytes sent until the server goes out of service; 0: no policy
	MaxConnections int           // open at once; 0: no policy
	RetryAfter     time.Duration // told to clients with 503
	HeaderTime     time.Duration // to send a header; 10 s unless set
	SendTime       time.Duration // to take the next part of an answer; 60 s unless set
	IdleTime       time.Duration // of a connection without requests; 60 s unless set
}

const (
	maxHeader = 16 << 10
	// drainTime is how long answers may go on after the end of the server.
	drainTime = 3 * time.Second
)

// Server is a file server. Goroutines may share it.
type Server struct {
	cfg      Config
	queue    queue
	service  service
	clients  clients
	requests atomic.Int64
	ids      atomic.Int64
	open     atomic.Int64 // connections
}

// New returns a server that is in service. It opens nothing.
func New(cfg Config) *Server {
	cfg.HeaderTime = cmp.Or(cfg.HeaderTime, 10*time.Second)
	cfg.SendTime = cmp.Or(cfg.SendTime, 60*time.Second)
	cfg.IdleTime = cmp.Or(cfg.IdleTime, 60*time.Second)
	s := &Server{cfg: cfg, service: service{maxFlow: cfg.MaxFlow}}
	s.queue.free = max(cfg.MaxRequests, 1)
	return s
}

// Serve answers the connections of l until ctx ends. It closes l. It returns nil after ctx has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           http.HandlerFunc(s.serveRequest),
		ReadHeaderTimeout: s.cfg.HeaderTime,
		// No ReadTimeout: it would end requests that wait in the queue. serve limits bodies.
		IdleTimeout:    s.cfg.IdleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
	}
	h.SetKeepAlivesEnabled(!s.cfg.CloseAlways)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		if h.Shutdown(drain) != nil {
			_ = h.Close()
		}
	})
	places.Follow(h)
	err := h.Serve(s.limitListener(l))
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve files: %w", err)
}

// Off puts the server out of service, with a reason for its clients. Answers that were begun go on.
func (s *Server) Off(reason string) { s.service.switchOff(reason) }

// On puts the server into service. The count of MaxFlow begins at 0 again.
func (s *Server) On() { s.service.switchOn() }

// Status is the state of a server. Counts begin with the server.
type Status struct {
	InService   bool   `json:"inService"`
	Reason      string `json:"reason,omitempty"` // why it is out of service
	Working     int    `json:"working"`          // requests now
	Waiting     int    `json:"waiting"`          // requests in the queue now
	LongestWait int    `json:"longestQueue"`     // most requests in the queue
	TimedOut    int64  `json:"timedOut"`         // requests that left the queue with 408
	Connections int64  `json:"connections"`      // open now
	Requests    int64  `json:"requests"`         // all, whatever the answer
	Sent        int64  `json:"sentBytes"`        // with headers
	Flow        int64  `json:"flowBytes"`        // sent since the server came into service
}

// Status returns the state of the server.
func (s *Server) Status() Status {
	st := s.queue.queueStatus()
	st.Requests, st.Connections = s.requests.Load(), s.open.Load()
	s.service.fillStatus(&st)
	return st
}

// Clients returns the clients that requested something, those with most requests first, and how many
// requests came from clients that are not in the bounded list.
func (s *Server) Clients() (list []Client, others int64) { return s.clients.listClients() }
