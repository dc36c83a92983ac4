// dc-daemon runs the managers of the crawler cluster until it is told to stop
// (docs/spec/daemon.md 1).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/manual"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

const notes = `SIGTERM and SIGINT stop the daemon as dc-admin --cmd STOP does; a second signal
ends it at once, and its tasks with it. SIGHUP opens the log file anew.

Exit status: 0 the daemon was told to stop, 1 it did not start or a manager
failed. With --check-config: 0 it could start, 1 it could not.`

func main() {
	var path, name string
	var only bool
	s := flags.New("dc-daemon", "runs the managers of the crawler cluster")
	s.Text(&path, "config", "c", "FILE", "ini file; without it dc-daemon.ini is looked for in the current\nfolder and in /etc/dc-daemon/")
	s.Text(&name, "name", "n", "NAME", "name of this instance, instead of the ini file's")
	s.Flag(&only, "check-config", "", "print the effective configuration, say what is wrong with it, and\nend; nothing is started")
	s.Note(notes)
	err := s.Parse(os.Args[1:])
	if text, asked := manual.Answer(s, err); asked {
		fmt.Print(text)
		return
	}
	if err == nil {
		err = run(path, name, only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-daemon:", err)
		os.Exit(1)
	}
}

// errChecked ends --check-config after it has said what is wrong.
var errChecked = errors.New("it would not start with this configuration")

func run(path, name string, only bool) error {
	path, err := config.Find("dc-daemon", path)
	if err != nil {
		return err
	}
	f, err := config.Load(path)
	if err != nil {
		return err
	}
	app := f.Application("dc-daemon", "stderr")
	cfg := settings(f, app.DataDir)
	if only {
		if !check(f, app, cfg, os.Stdout, os.Stderr) {
			return errChecked
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
		log.Warn("configuration", "file", f.Path, "warning", unknown)
	}
	cfg.Name, cfg.DataDir, cfg.Log, cfg.Level = app.Name, app.DataDir, log, level
	if name != "" {
		cfg.Name = name
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on a signal ends the process
	reopenOnHangup(ctx, out, log)
	tellService(&cfg)
	err = daemon.Run(ctx, cfg)
	if err != nil && app.Log.File != "" { // main says it on stderr
		log.Error("daemon failed", "error", err)
	}
	return err
}
