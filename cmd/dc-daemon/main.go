// dc-daemon runs the managers of the crawler cluster until a signal or dc-admin stops it
// (docs/spec/daemon.md 1).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
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
	var path, name string
	var checkOnly bool
	c := command.New(text, func() int {
		if err := run(path, name, checkOnly); err != nil {
			fmt.Fprintln(os.Stderr, "dc-daemon:", err)
			return 1
		}
		return 0
	})
	c.Config(&path, text.Name)
	c.Text(&name, "name", "n", "NAME", "name of this instance; default: name of the ini file")
	c.Flag(&checkOnly, "check-config", "", "print the effective configuration and its errors, then exit; start nothing")
	os.Exit(c.Main(os.Args[1:]))
}

// errInvalid ends --check-config after the errors are reported.
var errInvalid = errors.New("the configuration is invalid")

func run(path, name string, checkOnly bool) error {
	f, err := config.Open("dc-daemon", path)
	if err != nil {
		return err
	}
	app := f.Application("dc-daemon", "stderr")
	cfg := settings(f, app.DataDir)
	if checkOnly {
		if !check(f, app, cfg, os.Stdout, os.Stderr) {
			return errInvalid
		}
		return nil
	}
	if err := f.Err(); err != nil {
		return err
	}
	log, level, out, err := app.Log.Open(os.Stderr)
	if err != nil {
		return err
	}
	defer out.Close()
	for _, unknown := range f.Unknown() {
		log.Warn("configuration", "warning", unknown)
	}
	cfg.Name, cfg.DataDir, cfg.Log, cfg.Level = app.Name, app.DataDir, log, level
	if name != "" {
		cfg.Name = name
	}
	cfg.Status.Folders = folders(app, cfg)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	reopenOnHangup(ctx, out, log)
	tellService(&cfg)
	err = daemon.Run(ctx, cfg)
	if err != nil && app.Log.File != "" { // main prints it on stderr
		log.Error("daemon failed", "error", err)
	}
	return err
}
