package api

import (
	"cmp"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// DefaultPort is the port of the API in the ini files.
const DefaultPort = 5581

// Settings reads the section [Api] and adds the API to a daemon. Errors are collected in f.Err.
func Settings(f *config.File, app config.Application, cfg *daemon.Config, version string) {
	s := f.Section(Name)
	c := Config{
		Host: s.Text("ApiHost", "127.0.0.1"), Port: int(s.Int("ApiPort", DefaultPort, 0, 65535)),
		Hosts: s.Names("ApiHosts", nil), KeysDir: s.PathIn(app.DataDir, "ApiKeysDir", "api"),
		Networks: s.Networks("AllowedNetworks"), GatesDir: s.PathIn(app.DataDir, "host_gate_dir", "dc_hosts"),
		Delay:    s.Duration("RequestDelay", time.Millisecond, 500*time.Millisecond, 0, time.Hour),
		Rate:     float64(s.Int("MaxRequestsPerSecond", 1000, 1, 1_000_000)),
		PageTime: s.Duration("max_item_time", time.Millisecond, 5*time.Second, time.Millisecond, time.Hour), PageMemory: s.Int("max_item_memory", 512<<20, 128<<20, 1<<40),
		EventsKept: s.Int("EventsKept", 100_000, 100, 10_000_000), EventsPeriod: s.Duration("EventsPeriod", time.Millisecond, 2*time.Second, 100*time.Millisecond, time.Hour),
		Version: version,
	}
	if s.Given("TLSCertificate") || s.Given("TLSKey") {
		c.TLSCert, c.TLSKey = s.Path("TLSCertificate", ""), s.Path("TLSKey", "")
	}
	stage := cfg.Crawl.Crawler
	c.Explain = actions.Command{Program: stage.Program, Args: stage.Args, Dir: stage.Dir}
	c.Host = cmp.Or(c.Host, "127.0.0.1")
	if c.Port > 0 {
		cfg.Services = append(cfg.Services, New(c))
	}
}
