package daemonprogram

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/head"
)

// Values of engine and placement of [Cluster].
const (
	engineLocal    = "local"
	engineEmbedded = "embedded"
	engineNATS     = "nats"

	placementHosts     = "hosts"
	placementPropagate = "propagate"
)

// clusterSection is the name of the ini section.
const clusterSection = "Cluster"

// readClusterConfig reads [Cluster]. It returns nil for one machine.
func readClusterConfig(f *config.File, dataDir string) *head.Config {
	s := f.Section(clusterSection)
	engine := s.Choice("engine", engineLocal, engineLocal, engineEmbedded, engineNATS)
	c := &head.Config{
		Folder:   filepath.Join(dataDir, "cluster"),
		Listen:   s.Text("listen", broker.DefaultAddress),
		URLs:     s.Names("urls", nil),
		External: engine == engineNATS,
		CAFile:   s.Path("ca_file", ""),
		SeedFile: s.Path("seed_file", ""),
		Hosts:    s.Choice("placement", placementHosts, placementHosts, placementPropagate) == placementHosts,
		Silence:  s.Duration("node_timeout", time.Second, head.DefaultSilence, 2*time.Second, time.Hour),
		Replicas: int(s.Int("replicas", 1, 1, 5)),
		MoveURLs: s.Int("move_urls", head.DefaultMoveURLs, 1, 1<<30),
		Executor: clusterExecutor,
	}
	switch {
	case engine == engineLocal:
		return nil
	case c.External && len(c.URLs) == 0:
		s.Fail("urls", "is missing: with engine = nats it names the NATS servers, for example tls://10.0.0.5:4222")
	}
	for _, url := range c.URLs {
		if !strings.HasPrefix(url, "tls://") && !strings.HasPrefix(url, "nats://") {
			s.Fail("urls", fmt.Sprintf("has %.100q, which is not tls://host:port, or nats://host:port for this machine", url))
		}
	}
	return c
}
