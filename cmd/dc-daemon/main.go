// dc-daemon runs the managers of the crawler cluster until a signal or dc-admin stops it
// (docs/spec/daemon.md 1).
package main

import (
	"os"

	"hce/dc/internal/api"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/daemonprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/process"
)

var text = command.Text{
	Name: "dc-daemon", Summary: "runs the managers of the crawler cluster",
	Description: `SIGTERM and SIGINT stop the daemon, as dc-admin --cmd STOP does. A second signal ends the
daemon and its tasks at once. SIGHUP reopens the log file.`,
	Examples: `  dc-daemon -c /etc/dc-daemon/dc-daemon.ini
  dc-daemon --check-config`,
	ExitStatus: `0 the daemon was stopped; 1 it did not start or a manager failed. With --check-config: 0
the configuration is valid; 1 it is not.`,
}

func main() {
	// The worker reads pages for the API.
	process.RunIfWorker(nil, func(work func() int) int { return command.Profiled("page-reader", work) })
	os.Exit(daemonprogram.Program{Text: text, AdminPort: 5503, StatusPort: 5580, Cluster: true, Settings: readServices}.Main(os.Args[1:]))
}

// readServices reads the settings of what the daemon serves besides its managers.
func readServices(f *config.File, app config.Application, cfg *daemon.Config) {
	api.Settings(f, app, cfg, command.Version())
}
