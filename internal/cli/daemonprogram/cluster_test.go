package daemonprogram

import (
	"strings"
	"testing"
	"time"
)

// [Cluster] is off by default. Each key has its effect, and faults name the key.
func TestClusterSection(t *testing.T) {
	for _, text := range []string{"", "[Cluster]\nengine = local\nlisten = 0.0.0.0:1\n"} {
		if cfg, f := read(t, "[Application]\n"+text); cfg.Cluster != nil || f.Err() != nil {
			t.Errorf("%q: %+v %v", text, cfg.Cluster, f.Err())
		}
	}
	cfg, f := read(t, "[Cluster]\nengine = nats\nlisten = 10.0.0.5:4222\nurls = tls://a:1, tls://b:1\nca_file = /ca.pem\nseed_file = /seed\nplacement = propagate\nnode_timeout = 20\nreplicas = 3\n[Application]\nDRCENodes = 4\n")
	c := cfg.Cluster
	if f.Err() != nil || c == nil {
		t.Fatal(f.Err())
	}
	if c.Folder != "/data/cluster" || c.Listen != "10.0.0.5:4222" || strings.Join(c.URLs, " ") != "tls://a:1 tls://b:1" || !c.External ||
		c.CAFile != "/ca.pem" || c.SeedFile != "/seed" || c.Hosts || c.Silence != 20*time.Second || c.Replicas != 3 || cfg.Sites.Nodes != 4 || cfg.Gateway.Nodes != 4 {
		t.Errorf("%+v", c)
	}
	cfg, f = read(t, "[Cluster]\nengine = embedded\n")
	if c := cfg.Cluster; f.Err() != nil || c.External || !c.Hosts || c.Listen != "127.0.0.1:4222" || c.Silence != 15*time.Second || len(c.URLs) != 0 {
		t.Errorf("%+v %v", c, f.Err())
	}
	for text, want := range map[string]string{
		"engine = other":                                "engine",
		"engine = nats":                                 "urls",
		"engine = embedded\nurls = http://x":            "urls",
		"engine = embedded\nnode_timeout = 1":           "node_timeout",
		"engine = embedded\n[Application]\nDRCENodes=2": "DRCENodes",
	} {
		if _, f := read(t, "[Cluster]\n"+text+"\n"); f.Err() == nil || !strings.Contains(f.Err().Error(), want) {
			t.Errorf("%q: %v", text, f.Err())
		}
	}
}
