// dc-node runs the managers of a data node: it stores, crawls and processes the sites of a cluster
// whose hosts it owns, or all of its sites if it runs alone.
package main

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/daemonprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/node"
	"hce/dc/internal/daemon/sites"
)

var text = command.Text{
	Name: "dc-node", Summary: "runs the managers of a data node",
	Description: `A data node has stores of its own, and task programs that select, crawl and process what
it stores. It has no port for clients: they talk to the dc-daemon that is the head of the cluster.
"dc-admin node add NAME" on the head makes the join file: the address of the head and the secret key
of this node, readable by its owner only (0600). Without a join file the node works alone. It needs no
open port. docs/cluster.md has all steps, failures and upgrades.

Several nodes run on one machine if each has its own folder of ini files and its own data_dir.

SIGTERM and SIGINT stop the node, as dc-admin --cmd STOP does. A second signal ends the node and its
tasks at once. SIGHUP reopens the log file.`,
	Examples: `  dc-node -c /etc/dc-node/dc-node.ini
  dc-node -c /etc/dc-node/dc-node.ini --join n1.join
  dc-node --check-config`,
	ExitStatus: `0 the node was stopped; 1 it did not start or a manager failed. A head that cannot be reached
is no failure: the node tries again and says so in its log. 5 another process or data folder is this
node; the message says which one and what to do. With --check-config: 0 the configuration is
valid; 1 it is not.`,
}

// sequence are the managers of a node.
var sequence = []string{admin.Name, sites.Name, batches.CrawlName, batches.ProcessName}

func main() {
	var join string
	p := daemonprogram.Program{
		Text: text, Sequence: sequence, AdminPort: -1,
		Options: func(c *command.Command) {
			c.Text(&join, "join", "", "FILE", "join file of dc-admin node add; overrides join of [Node]")
		},
		Settings: func(f *config.File, app config.Application, cfg *daemon.Config) {
			readClusterSettings(f, app, join, cfg)
		},
	}
	os.Exit(p.Main(os.Args[1:]))
}

// readClusterSettings reads [Node]. Errors are collected in f.Err.
func readClusterSettings(f *config.File, app config.Application, join string, cfg *daemon.Config) {
	s := f.Section("Node")
	path := cmp.Or(join, s.Path("join", ""))
	hosts := s.Choice("placement", "hosts", "hosts", "propagate") == "hosts"
	address := s.Text("address", "")
	lease := s.Duration("lease", time.Second, node.DefaultLease, 2*time.Second, time.Hour)
	if path == "" {
		return
	}
	j, err := broker.ReadJoin(path)
	if err != nil {
		s.Fail("join", "cannot be used: "+err.Error())
		return
	}
	cfg.Node = &node.Config{Join: j, Address: address, Version: command.Version(), DataDir: app.DataDir, DrainFile: filepath.Join(app.DataDir, "draining"), Lease: lease}
	if hosts {
		cfg.Node.Placement = filepath.Join(app.DataDir, "placement.json")
		cfg.Node.Moves = filepath.Join(app.DataDir, "dc_moves")
	}
}
