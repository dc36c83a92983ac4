package crawler

import (
	"context"
	"log/slog"
	"sync"

	"hce/dc/internal/webserver/handshake"
)

// migrations is how many handshakes with other servers run at once.
const migrations = 4

// migration asks the servers that pages link to for a crawler, while the run that finds them goes on.
type migration struct {
	cfg   *Config
	log   *slog.Logger
	hosts chan string
	all   sync.WaitGroup

	seen     map[string]bool // of offer only
	full     bool
	mu       sync.Mutex
	accepted int
	refused  int
	failed   int
}

func (c *Config) migrate(ctx context.Context, log *slog.Logger, self ...string) *migration {
	m := &migration{cfg: c, log: log, hosts: make(chan string, c.MaxHosts), seen: map[string]bool{}}
	for _, host := range self {
		m.seen[host] = true
	}
	for range migrations {
		m.all.Go(func() {
			for host := range m.hosts {
				m.ask(ctx, host)
			}
		})
	}
	return m
}

// offer passes on hosts, each once. It does not wait.
func (m *migration) offer(hosts []string) {
	if m.cfg.MaxHosts == 0 {
		return
	}
	for _, host := range hosts {
		if m.seen[host] {
			continue
		}
		if len(m.seen) > m.cfg.MaxHosts {
			if !m.full {
				m.full = true
				m.log.Warn("more linked servers than max_hosts; the others are left out", "host", host)
			}
			return
		}
		m.seen[host] = true
		select {
		case m.hosts <- host:
		default: // as many wait as may be known
		}
	}
}

// finish waits for all handshakes.
func (m *migration) finish() {
	close(m.hosts)
	m.all.Wait()
}

func (m *migration) ask(ctx context.Context, host string) {
	if ctx.Err() != nil {
		return
	}
	address, err := handshake.CrawlerPort(host, m.cfg.PortStep)
	accepted := false
	if err == nil {
		accepted, err = handshake.Ask(ctx, m.cfg.DialServers, address)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		m.failed++
		m.log.Info("no crawler at a linked server", "host", host, "error", err)
	case accepted:
		m.accepted++
		m.log.Info("migrated to a linked server", "host", host)
	default:
		m.refused++
		m.log.Info("a linked server refused the crawler", "host", host)
	}
}
