package crawler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/files"
)

const (
	// migrations is how many handshakes with other servers run at once.
	migrations = 4
	// absence is how long a name that does not resolve is not asked again.
	absence = 24 * time.Hour
	// mostServers bounds the servers that are remembered; links to further ones are ignored.
	mostServers = 100_000
)

// migration asks the servers that pages link to for a crawler, at the end of the run that finds them. Of more
// than max_hosts it asks those first that it has not asked for longest, so all have their turn.
type migration struct {
	cfg  *Config
	log  *slog.Logger
	self []string
	seen map[string]server // of this run

	mu       sync.Mutex
	known    map[string]server // of the file
	accepted int
	refused  int
	failed   int
}

// server is what is known of a linked server.
type server struct {
	Asked  time.Time `json:"asked"`            // zero: never
	Absent bool      `json:"absent,omitempty"` // its name did not resolve then
}

func (c *Config) serversFile() string { return c.Table + ".servers" }

// loadMigration reads what earlier runs know. A damaged file is reported and replaced: then servers are asked again.
func (c *Config) loadMigration(log *slog.Logger, self ...string) *migration {
	m := &migration{cfg: c, log: log, self: self, seen: map[string]server{}, known: map[string]server{}}
	text, err := os.ReadFile(c.serversFile())
	if err == nil {
		err = json.Unmarshal(text, &m.known)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Warn("cannot read when linked servers were asked; asking all of them", "file", c.serversFile(), "error", err)
		m.known = map[string]server{}
	}
	return m
}

// offerHosts notes hosts that pages link to.
func (m *migration) offerHosts(hosts []string) {
	if m.cfg.MaxHosts == 0 {
		return
	}
	for _, host := range hosts {
		if _, found := m.seen[host]; found || len(m.seen) < mostServers && !slices.Contains(m.self, host) {
			m.seen[host] = m.known[host]
		}
	}
}

// nextServers returns the servers of this run, those that were asked longest ago first.
func (m *migration) nextServers(now time.Time) (hosts []string) {
	absent := 0
	for host, s := range m.seen {
		if s.Absent && now.Sub(s.Asked) < absence {
			absent++
			continue
		}
		hosts = append(hosts, host)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(m.seen[a].Asked.Compare(m.seen[b].Asked), cmp.Compare(a, b)) })
	if all := len(hosts); all > m.cfg.MaxHosts {
		hosts = hosts[:m.cfg.MaxHosts]
		m.log.Warn("more linked servers than max_hosts; the others have their turn in the next runs", "asked", len(hosts), "linked", all, "absent", absent)
	}
	return hosts
}

// askDueServers asks the servers that have their turn, and notes when.
func (m *migration) askDueServers(ctx context.Context) {
	if m.cfg.MaxHosts == 0 {
		return
	}
	hosts := make(chan string)
	var all sync.WaitGroup
	for range migrations {
		all.Go(func() {
			for host := range hosts {
				m.askServer(ctx, host)
			}
		})
	}
	for _, host := range m.nextServers(m.cfg.Now()) {
		hosts <- host
	}
	close(hosts)
	all.Wait()
	text, err := json.Marshal(m.seen) // forgets servers without links
	if err == nil {
		err = files.Write(m.cfg.serversFile(), text, 0o600)
	}
	if err != nil {
		m.log.Warn("cannot note when linked servers were asked", "error", fmt.Errorf("write %s: %w", m.cfg.serversFile(), err))
	}
}

func (m *migration) askServer(ctx context.Context, host string) {
	if ctx.Err() != nil {
		return
	}
	address, err := handshake.CrawlerPort(host, m.cfg.PortStep)
	accepted := false
	if err == nil {
		accepted, err = handshake.Ask(ctx, m.cfg.DialServers, address)
	}
	var dns *net.DNSError
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[host] = server{m.cfg.Now(), errors.As(err, &dns) && dns.IsNotFound}
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
