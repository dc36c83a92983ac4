package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/feed"
	"hce/dc/internal/apps/search/frontend"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/apps/search/processor"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/seedlog"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

const (
	name           = "hce-search"
	lineFormat     = "line" // that of package seedlog
	defaultManager = 5511
	defaultPort    = 8090
)

// settings are those of the ini file.
type settings struct {
	app       config.Application
	file      *config.File
	dir       string
	feed      feed.Config
	manager   manager.Config
	processor processor.Config
	frontend  frontend.Config
	host      string // of the front end
	archive   string // folder of a versioned web archive; "": none
	port      int
	insecure  bool
}

// readSettings reads the ini file; without one all values are the defaults.
func readSettings(path string) (*settings, error) {
	f, _, err := config.OpenOr(name, path, filepath.Join("/etc", name))
	if err != nil {
		return nil, err
	}
	s := &settings{file: f, app: f.Application(name, "stderr", lineFormat)}
	if s.app.Log.Format == lineFormat {
		s.app.Log.Handler = func(out io.Writer, o *slog.HandlerOptions) slog.Handler { return seedlog.New(out, s.app.Name, o.Level) }
	}
	s.dir = f.Section("Index").Path("dir", "")
	s.readFeed(f.Section("Feed"))
	s.readManager(f.Section("Manager"))
	s.readProcessor(f.Section("Processor"))
	s.readFrontend(f.Section("Frontend"))
	return s, f.Err()
}

func (s *settings) readFeed(c *config.Section) {
	s.feed.Every = c.Duration("interval", time.Second, 2*time.Second, time.Second/10, time.Hour)
	s.feed.SweepEvery = c.Duration("sweep", time.Hour, 6*time.Hour, time.Minute, 365*24*time.Hour)
	s.feed.Overlap = c.Duration("overlap", time.Second, 2*time.Minute, time.Second, 24*time.Hour)
	s.feed.WebStore = c.Path("web_store", "")
	s.feed.Expire = c.Duration("expire", 24*time.Hour, 0, 0, 100*365*24*time.Hour)
}

func (s *settings) readManager(c *config.Section) {
	s.manager.Endpoint = bus.TCP(c.Text("address", "127.0.0.1"), int(c.Int("port", defaultManager, 0, 65535)))
	s.manager.AllowInsecure = c.Bool("allow_insecure", false)
	s.manager.Queue = int(c.Int("queue", 100, 1, 10_000))
	s.manager.Deadline = c.Duration("deadline", time.Millisecond, 5*time.Second, 10*time.Millisecond, 10*time.Minute)
	s.manager.Silence = c.Duration("silence", time.Millisecond, 2*time.Second, time.Second, time.Minute)
}

func (s *settings) readProcessor(c *config.Section) {
	s.processor.Name = c.Text("name", "")
	s.processor.Connections = int(c.Int("connections", 4, 1, manager.MaxConnections))
	s.processor.Delay = c.Duration("delay", time.Millisecond, 0, 0, time.Minute)
	var err error
	if s.processor.Kinds, err = parseKinds(strings.Join(c.Names("kinds", []string{"pages", "images", "documents"}), ",")); err != nil {
		c.Fail("kinds", err.Error())
	}
}

func (s *settings) readFrontend(c *config.Section) {
	s.host = c.Text("address", "127.0.0.1")
	s.port = int(c.Int("port", defaultPort, 0, 65535))
	s.insecure = c.Bool("allow_insecure", false)
	s.frontend.Names = c.Names("names", nil)
	s.archive = c.Path("archive", "")
	s.frontend.Requests = int(c.Int("requests", 64, 1, 10_000))
	if local, err := bus.Local(s.host); err != nil {
		c.Fail("address", err.Error())
	} else if !local && !s.insecure {
		c.Fail("address", "is reachable from other machines, without encryption and without passwords; set allow_insecure = 1 to want that")
	}
}

// parseKinds reads a list of kinds.
func parseKinds(text string) (list []search.Kind, err error) {
	for _, word := range config.Names(text) {
		k := search.Kind(word)
		if !k.Valid() {
			return nil, fmt.Errorf("kind %q is not one of pages, images, documents", word)
		}
		list = append(list, k)
	}
	return list, nil
}

// indexFolder returns the folder of the index: the option, the ini file, or a folder of the user.
func (s *settings) indexFolder(option string) (string, error) {
	if dir := cmp.Or(option, s.dir); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := datafolder.DefaultDir(os.Getenv)
	if err != nil {
		return "", errors.New("neither XDG_DATA_HOME nor HOME is set; give a folder with --dir")
	}
	return filepath.Join(filepath.Dir(dir), name), nil
}

// openLog opens the log of a sub-command.
func (s *settings) openLog(talk io.Writer) (*slog.Logger, func(), error) {
	log, _, out, err := s.app.Log.Open(talk)
	if err != nil {
		return nil, nil, err
	}
	s.file.LogUnknown(log)
	return log, out.Close, nil
}

// cluster is the service of the cluster. It connects at the first use, and again after a failure; one
// request runs at a time.
type cluster struct {
	options subcommand.Options
	talk    io.Writer

	mu      sync.Mutex
	session *subcommand.Session // nil without a connection
}

// String implements service.Service.
func (c *cluster) String() string { return "the cluster" }

// Ask implements service.Service.
func (c *cluster) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		// The connection outlives this request.
		session, err := subcommand.Open(context.WithoutCancel(ctx), c.options, c.talk, false)
		if err != nil {
			return err
		}
		c.session = session
	}
	err := c.session.Service.Ask(ctx, op, request, answer)
	if errors.Is(err, service.ErrUnreachable) {
		c.close()
	}
	return err
}

// close closes the connection, if there is one.
func (c *cluster) close() {
	if c.session != nil {
		c.session.CloseAll()
		c.session = nil
	}
}

// Close closes the connection. No request may run.
func (c *cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close()
}
