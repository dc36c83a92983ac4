package daemonprogram

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/status"
)

const (
	maxPort    = 65535
	maxMessage = 1 << 30
	longest    = 24 * time.Hour
)

// readSettings reads the daemon's sections (docs/spec/daemon.md 3). A missing key gives 0, which is
// replaced by the default of the manager's Config. Errors are collected in f.Err.
func (p Program) readSettings(f *config.File, application config.Application) daemon.Config {
	app := f.Section("Application")
	cfg := daemon.Config{
		Sequence:    app.Names("instantiateSequence", p.Sequence),
		PollTimeout: map[string]time.Duration{},
		PeersMemory: app.Int("PeersMemory", 0, 1<<20, maxMessage),
	}
	nodes := app.Int("DRCENodes", 1, 1, 10000)
	if p.Cluster {
		cfg.Cluster = readClusterConfig(f, application.DataDir)
	}
	if nodes > 1 && (cfg.Cluster == nil || cfg.Cluster.Hosts) {
		app.Fail("DRCENodes", fmt.Sprintf("= %d, but this daemon runs all tasks on one data node: the limits of a site would be divided by %d. Set it to 1", nodes, nodes))
	}
	for _, class := range p.managerClasses() {
		f.Section(class).Accept("server")
		cfg.PollTimeout[class] = f.Section(class).Duration("PollingTimeout", time.Millisecond, 0, time.Millisecond, longest)
	}

	s := f.Section(admin.Name)
	s.Accept("server", "DRCENodes")
	cfg.Admin = admin.Config{
		Host: s.Text("serverHost", ""), Port: cmp.Or(readPort(s), p.AdminPort),
		AllowInsecure: s.Bool("AllowInsecureRemoteAccess", false),
		MaxFrame:      s.Int("MaxMessageSize", 1<<20, 1024, maxMessage),
		Connections:   int(s.Int("MaxConnections", 0, 1, 10000)),
		Timeout:       s.Duration("ClassTimeout", time.Millisecond, 0, time.Millisecond, longest),
		Version:       command.Version(),
	}
	if cfg.Admin.Port < 0 {
		cfg.Endpoint = filepath.Join(application.DataDir, curvekeys.OperatorsFolder, curvekeys.EndpointFile)
	}
	cfg.Admin.Curve = readRemote(s, cfg.Admin.AllowInsecure)
	cfg.OperatorKeys = s.Choice("admin_auth", "key", "key", "none") == "key" && !cfg.Admin.AllowInsecure

	if slices.Contains(p.managerClasses(), gateway.Name) {
		cfg.Gateway = readGatewayConfig(f.Section(gateway.Name), int(nodes))
	}

	s = f.Section(daemon.StatusName)
	cfg.Status = status.Config{
		Host: s.Text("StatusHost", "127.0.0.1"), Port: int(s.Int("StatusPort", int64(p.StatusPort), 0, maxPort)),
		AllowInsecure: s.Bool("AllowInsecureRemoteAccess", false),
		MinFree:       s.Int("StatusMinFree", 1<<30, 0, 1<<50),
	}
	cfg.Sites = sitesManager(f, int(nodes))
	cfg.Executor = localExecutor(f.Section("Environment"), application.DataDir)
	cfg.Crawl, cfg.Process = readCrawlConfig(f), readProcessConfig(f)
	if slices.Contains(p.managerClasses(), realtime.Name) {
		cfg.RealTime = realTime(f)
	}
	if p.Settings != nil {
		p.Settings(f, application, &cfg)
	}
	return cfg
}

// readGatewayConfig reads [ClientInterfaceService]. nodes is the number of data nodes.
func readGatewayConfig(s *config.Section, nodes int) gateway.Config {
	c := gateway.Config{
		Host: s.Text("serverHost", ""), Port: readPort(s),
		AllowInsecure: s.Bool("AllowInsecureRemoteAccess", false),
		MaxFrame:      s.Int("MaxMessageSize", 24<<20, 1024, maxMessage),
		MaxPlain:      s.Int("MaxPlainSize", 4<<20, 1024, maxMessage),
		Connections:   int(s.Int("MaxConnections", 0, 1, 10000)),
		Sites:         s.Text("clientSitesManager", ""),
		RealTime:      s.Text("clientBatchTasksManagerRealTime", ""),
		Timeout:       s.Duration("RequestTimeout", time.Millisecond, 0, time.Millisecond, longest),
		BatchTimeout:  s.Duration("BatchTimeout", time.Millisecond, 0, time.Millisecond, longest),
		Nodes:         nodes,
	}
	c.Curve = readRemote(s, c.AllowInsecure)
	return c
}

// managerClasses are the managers that the program can run.
func (p Program) managerClasses() []string {
	if p.Sequence != nil {
		return p.Sequence
	}
	return daemon.DefaultSequence
}

// readStage reads a task program. It runs in the folder of the ini file, so that relative arguments
// start there. The program of a default is the one next to dc-daemon, or else in PATH.
func readStage(f *config.File, s *config.Section, key, def string) executor.Stage {
	if self, err := os.Executable(); err == nil {
		name, args, _ := strings.Cut(def, " ")
		if near := filepath.Join(filepath.Dir(self), name); isExecutable(near) {
			def = strings.TrimSpace(`"` + near + `" ` + args)
		}
	}
	program, args := s.Command(key, def)
	return executor.Stage{Program: program, Args: args, Dir: f.Dir()}
}

func isExecutable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// readPort reads serverPort. 0 means a port that the system chooses, which is -1 for a manager: its
// 0 is the default port.
func readPort(s *config.Section) int {
	switch p := int(s.Int("serverPort", -1, 0, maxPort)); p {
	case -1:
		return 0
	case 0:
		return -1
	default:
		return p
	}
}
