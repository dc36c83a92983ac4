package daemonprogram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/node"
	"hce/dc/internal/files"
)

// Program is a program that runs managers.
type Program struct {
	Text     command.Text
	Sequence []string // default of instantiateSequence; nil: daemon.DefaultSequence
	// AdminPort and StatusPort are the defaults of serverPort of [AdminInterfaceServer], -1 for a
	// port that the system chooses, and of StatusPort, 0 for off.
	AdminPort, StatusPort int
	// Cluster makes the program read [Cluster]: it can be the head of a cluster.
	Cluster bool
	// Options declares further options, and Settings reads further sections; nil for none. Errors
	// are collected in f.Err.
	Options  func(c *command.Command)
	Settings func(f *config.File, app config.Application, cfg *daemon.Config)
}

// Main runs the program with these arguments and returns its exit status.
func (p Program) Main(args []string) int {
	var path, name string
	var checkOnly bool
	c := command.New(p.Text, func() int {
		if err := p.runDaemon(path, name, checkOnly); err != nil {
			return reportError(p.Text.Name, err)
		}
		return 0
	})
	c.Config(&path, p.Text.Name)
	c.Text(&name, "name", "n", "NAME", "name of this instance; default: name of the ini file")
	c.Flag(&checkOnly, "check-config", "", "print the effective configuration and its errors, then exit; start nothing")
	if p.Options != nil {
		p.Options(c)
	}
	return c.Main(args)
}

// exitRefused is the exit status of a node that may not run; systemd does not start it again then.
const exitRefused = 5

// reportError prints an error and returns its exit status.
func reportError(name string, err error) int {
	if refused := (*node.RefusedError)(nil); errors.As(err, &refused) {
		fmt.Fprintln(os.Stderr, name+":", refused)
		return exitRefused
	}
	fmt.Fprintln(os.Stderr, name+":", err)
	return 1
}

// errInvalid ends --check-config after the errors are reported.
var errInvalid = errors.New("the configuration is invalid")

func (p Program) runDaemon(path, name string, checkOnly bool) error {
	f, err := config.Open(p.Text.Name, path)
	if err != nil {
		return err
	}
	app := f.Application(p.Text.Name, "stderr")
	cfg := p.readSettings(f, app)
	if checkOnly {
		if !p.checkConfig(f, app, cfg, os.Stdout, os.Stderr) {
			return errInvalid
		}
		return nil
	}
	if err := f.Err(); err != nil {
		return err
	}
	log, level, out, err := app.Log.Open(os.Stderr)
	if err != nil {
		return files.ExplainFull(err, app.DataDir)
	}
	defer out.Close()
	f.LogUnknown(log)
	cfg.Name, cfg.DataDir, cfg.Log, cfg.Level = cmp.Or(name, app.Name), app.DataDir, log, level
	cfg.Status.Folders = listFolders(app, cfg)
	ctx, stop := context.WithCancel(command.SignalContext())
	defer stop()
	reopenOnHangup(ctx, out, log)
	tellService(&cfg)
	if err = checkDatabase(ctx, cfg); err == nil {
		err = daemon.Run(ctx, cfg)
	}
	err = files.ExplainFull(err, app.DataDir)
	if err != nil && app.Log.File != "" { // Main prints it on stderr
		log.Error("daemon failed", "error", err)
	}
	return err
}
