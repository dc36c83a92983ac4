// Package webserver is a web server that works with a search engine: it serves a folder (package
// fileserver), has a port on which a crawler is created that indexes the folder (package crawler), is
// steered by a console and a socket (package control), and writes a report at its end.
//
//	err := webserver.Run(ctx, webserver.Config{DataDir: "data", Folder: "/srv/www", Address: "127.0.0.1:8080", Log: log, ...})
//
// The program hce-webserver reads the configuration. docs/webserver.md says how to use it.
package webserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/apps/webserver/control"
	"hce/dc/internal/apps/webserver/crawler"
	"hce/dc/internal/apps/webserver/fileserver"
	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/files"
)

// Config has the settings of a web server.
type Config struct {
	DataDir string // is created with mode 0700
	Folder  string // is served; it may change at any time
	Address string // of HTTP: host and port
	Files   fileserver.Config
	// Crawler has no Store if there is no crawler port. Its BaseURL is that of Address unless set.
	Crawler crawler.Config
	Log     *slog.Logger
	Console io.Reader // lines with commands; nil: none
	Output  io.Writer // answers to them
}

// statusPeriod is how often the state of the queue is logged, if it has changed.
const statusPeriod = time.Second

// server is a running web server.
type server struct {
	cfg     Config
	started time.Time
	files   *fileserver.Server
	crawler *crawler.Crawler // nil: none
	stop    context.CancelFunc
}

// Run runs a web server until ctx ends, a command stops it, or a part of it fails. After an orderly stop it
// writes the report and returns nil.
func Run(ctx context.Context, cfg Config) error {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	unlock, err := files.TryLockPID(filepath.Join(cfg.DataDir, "serve.lock"))
	if errors.Is(err, files.ErrLocked) {
		return fmt.Errorf("another server works in %s (%w); stop it, or give this one a data_dir of its own", cfg.DataDir, err)
	}
	if err != nil {
		return fmt.Errorf("data folder %s: %w", cfg.DataDir, err)
	}
	defer unlock()
	if err := checkOutside(cfg.DataDir, cfg.Folder); err != nil {
		return err
	}
	f, err := folder.Open(cfg.Folder)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{cfg: cfg, started: time.Now(), stop: cancel}
	s.cfg.Files.Folder, s.cfg.Files.Log = f, cfg.Log
	s.files = fileserver.New(s.cfg.Files)
	return s.runServer(ctx, f)
}

// checkOutside refuses a data folder that would be served.
func checkOutside(data, served string) error {
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if served, err = filepath.EvalSymlinks(served); err != nil {
		return fmt.Errorf("served folder: %w; set folder in [WebServer], or use --folder", err)
	}
	if data, err = filepath.Abs(data); err != nil {
		return err
	}
	if served, err = filepath.Abs(served); err != nil {
		return err
	}
	inside, err := filepath.Rel(served, data)
	if err == nil && inside != ".." && !strings.HasPrefix(inside, "../") {
		return fmt.Errorf("data folder %s lies in the served folder %s: everyone could read it; set data_dir to a folder outside", data, served)
	}
	return nil
}

// runServer opens all ports, works, and writes the report.
func (s *server) runServer(ctx context.Context, f *folder.Folder) error {
	http, err := net.Listen("tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("port of HTTP: %w", err)
	}
	steer, err := control.Listen(s.cfg.DataDir)
	if err != nil {
		return errors.Join(err, http.Close())
	}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return s.files.Serve(ctx, http) },
		func(ctx context.Context) error { return control.Serve(ctx, steer, s.answerCommand) },
		s.logQueueChanges,
	}
	if s.cfg.Crawler.Store != "" {
		port, err := s.openCrawler(f, http.Addr())
		if err != nil {
			return errors.Join(err, http.Close(), steer.Close())
		}
		defer func() {
			if err := s.crawler.Close(); err != nil {
				s.cfg.Log.Error("cannot close the table of files", "error", err)
			}
		}()
		parts = append(parts, func(ctx context.Context) error { return s.crawler.Serve(ctx, port) })
	}
	if s.cfg.Console != nil {
		go s.serveConsole() // a read of a terminal cannot be ended
	}
	s.cfg.Log.Info("web server runs", "address", http.Addr().String(), "folder", s.cfg.Folder, "data", s.cfg.DataDir)
	if err := runTogether(ctx, s.stop, parts); err != nil {
		return err
	}
	return s.writeReport(time.Now())
}

// openCrawler opens the crawler port, which is PortStep above that of HTTP.
func (s *server) openCrawler(f *folder.Folder, http net.Addr) (net.Listener, error) {
	c := s.cfg.Crawler
	c.Folder, c.Log = f, s.cfg.Log
	if ip, ok := http.(*net.TCPAddr); ok && ip.IP.IsUnspecified() && c.BaseURL == "" {
		return nil, errors.New("crawler port: the server listens on all addresses; set base_url to the URL by which others reach it")
	}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + strings.TrimSuffix(http.String(), ":80") + "/"
	}
	address, err := handshake.CrawlerPort(http.String(), c.PortStep)
	if err != nil {
		return nil, fmt.Errorf("crawler port: %w; set port or port_step", err)
	}
	if s.crawler, err = crawler.New(c); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("crawler port: %w", err), s.crawler.Close())
	}
	s.cfg.Log.Info("crawler port is open", "address", address, "base", c.BaseURL, "store", c.Store)
	return l, nil
}

// runTogether runs parts until ctx ends or one of them fails, which stops the others.
func runTogether(ctx context.Context, stop func(), parts []func(context.Context) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(parts))
	for i, part := range parts {
		all.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// logQueueChanges logs the state of the queue when it has changed.
func (s *server) logQueueChanges(ctx context.Context) error {
	ticks := time.NewTicker(statusPeriod)
	defer ticks.Stop()
	last := fileserver.Status{InService: true}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		st := s.files.Status()
		if st.Working != last.Working || st.Waiting != last.Waiting || st.TimedOut != last.TimedOut {
			s.cfg.Log.Info("queue", "working", st.Working, "waiting", st.Waiting, "timed_out", st.TimedOut)
			last = st
		}
	}
}
