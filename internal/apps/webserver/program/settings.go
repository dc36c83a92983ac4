package program

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/webserver"
	"hce/dc/internal/apps/webserver/crawler"
	"hce/dc/internal/apps/webserver/fileserver"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
)

// options are the options that the sub-commands share.
type options struct {
	config, data, folder string
	check                bool
}

func (o *options) declareOptions(c *command.Command) {
	c.Config(&o.config, name)
	c.Text(&o.data, "data", "", "DIR", "folder of all data; overrides data_dir of [Application]")
}

// settings are the values of the ini file.
type settings struct {
	app    config.Application
	log    *slog.Logger // set by run
	server webserver.Config
	store  storeSettings
	// AllowedNetworks of the two programs
	serverNetworks, storeNetworks []netip.Prefix
}

type storeSettings struct {
	address, dataDir string
	start            bool
	store            webstore.Config
	schedule         webstore.Schedule
}

// readSettings reads the ini file, or the built-in values without a file.
func (o *options) readSettings() (*config.File, settings, error) {
	f, _, err := config.OpenOr(name, o.config, "ini")
	if err != nil {
		return nil, settings{}, err
	}
	s := settings{app: f.Application(name, "stderr")}
	if o.data != "" {
		if s.app.DataDir, err = filepath.Abs(o.data); err != nil {
			return nil, settings{}, err
		}
	}
	s.readServer(f.Section("WebServer"))
	s.readCrawler(f.Section("Crawler"))
	s.readStore(f.Section("WebStore"))
	if o.folder != "" {
		s.server.Folder = o.folder
	}
	return f, s, f.Err()
}

// hour is the longest time of most settings.
const hour = time.Hour

func (s *settings) readServer(w *config.Section) {
	s.server = webserver.Config{
		DataDir: filepath.Join(s.app.DataDir, "webserver"),
		Folder:  w.Path("folder", "../www"),
		Address: readAddress(w, 8080),
		Files: fileserver.Config{
			MaxRequests: int(w.Int("max_requests", 16, 1, 10_000)),
			QueueTime:   w.Duration("queue_time", time.Millisecond, 5*time.Second, time.Millisecond, hour),
			CloseAlways: !w.Bool("keep_alive", true),
			RetryAfter:  w.Duration("retry_after", time.Second, time.Minute, time.Second, 24*hour),
			HeaderTime:  w.Duration("header_time", time.Second, 10*time.Second, 10*time.Millisecond, hour),
			SendTime:    w.Duration("send_time", time.Second, time.Minute, 10*time.Millisecond, hour),
			IdleTime:    w.Duration("idle_time", time.Second, time.Minute, 10*time.Millisecond, hour),
		},
	}
	flow, most := w.Bool("flow_policy", false), w.Int("max_flow", 1<<30, 1, 1<<60)
	if flow {
		s.server.Files.MaxFlow = most
	}
	connections, limit := w.Bool("connection_policy", true), w.Int("max_connections", 1000, 1, 100_000)
	if connections {
		s.server.Files.MaxConnections = int(limit)
	}
	base := w.Text("base_url", "")
	if u, err := canonical.Canonical(base); base != "" && (err != nil || u != base || u[len(u)-1] != '/') {
		w.Fail("base_url", "is not a canonical URL of a folder, such as http://a.example/")
	}
	s.server.Crawler.BaseURL = base
}

func (s *settings) readCrawler(c *config.Section) {
	on, store := c.Bool("enabled", true), hostPort(c, "web_store", "127.0.0.1:8070")
	s.server.Crawler = crawler.Config{
		BaseURL:  s.server.Crawler.BaseURL,
		Table:    filepath.Join(s.server.DataDir, "md5.jsonl"),
		Pause:    c.Duration("pause", time.Second, time.Minute, 0, 365*24*hour),
		PortStep: int(c.Int("port_step", 1, -65535, 65535)),
		MaxHosts: int(c.Int("max_hosts", 100, 0, 10_000)),
	}
	if on {
		s.server.Crawler.Store = store
	}
	s.serverNetworks = c.Networks("AllowedNetworks")
}

func (s *settings) readStore(w *config.Section) {
	s.store = storeSettings{
		address: readAddress(w, 8070),
		dataDir: filepath.Join(s.app.DataDir, "webstore"),
		start:   w.Bool("start", false),
		store:   webstore.Config{MaxConnections: int(w.Int("max_connections", 32, 1, 1000)), Now: time.Now},
		schedule: webstore.Schedule{
			First:    hostPort(w, "first_server", ""),
			Period:   w.Duration("period", time.Second, time.Minute, 10*time.Millisecond, 24*hour),
			Age:      w.Duration("age", time.Second, hour, 0, 365*24*hour),
			PortStep: s.server.Crawler.PortStep,
			Now:      time.Now,
		},
	}
	s.storeNetworks = w.Networks("AllowedNetworks")
	insecure := w.Bool("AllowInsecureRemoteAccess", false)
	host, _, _ := net.SplitHostPort(s.store.address)
	if ip, err := netip.ParseAddr(host); (err != nil || !ip.IsLoopback()) && !insecure {
		w.Fail("address", "is not a loopback address: everyone who reaches it can store documents; set AllowInsecureRemoteAccess = 1 in a network that you trust")
	}
}

// readAddress reads the keys address and port.
func readAddress(s *config.Section, port int64) string {
	host := s.Text("address", "127.0.0.1")
	if _, err := netip.ParseAddr(host); err != nil {
		s.Fail("address", fmt.Sprintf("= %q is not an IPv4 or IPv6 address", host))
	}
	return net.JoinHostPort(host, strconv.FormatInt(s.Int("port", port, 0, 65535), 10))
}

// hostPort reads a host, with or without a port.
func hostPort(s *config.Section, key, def string) string {
	v := s.Text(key, def)
	if v == "" {
		return ""
	}
	if u, err := canonical.Canonical("http://" + v + "/"); err != nil || canonical.Host(u) == "" || u != "http://"+canonical.Host(u)+"/" {
		s.Fail(key, fmt.Sprintf("= %q is not a host with a port, such as 127.0.0.1:8070", v))
	}
	return v
}
