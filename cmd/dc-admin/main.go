// dc-admin asks the managers of a running daemon for their statistics and
// variables, changes variables, suspends, drains and stops the daemon (docs/spec/daemon.md 4).
// A first argument without a dash is a sub-command: top shows the daemon live.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/manual"
	"hce/dc/internal/config"
)

const notes = `Commands of --cmd:
  STAT     statistics of managers: names in --fields, or all
  GET      variables: names in --fields, * for all
  SET      changes variables until the daemon ends: --fields name:value,...
           or a JSON object; \, stands for a comma in a value
  SUSPEND  the managers of --classes, or all, start nothing new; what runs goes
           on to its end. --fields 1 says the same, --fields 0 is RESUME
  RESUME   they go on
  STOP     stops the managers of --classes, or all and with them the daemon
  DRAIN    SUSPEND, then waits until nothing runs any more, then STOP. After
           --timeout seconds, or Ctrl-C, they go on instead, and the exit status
           is 1; with --force the daemon stops then, whatever runs. stderr tells
           what is left

Sub-commands, each with its own --help:
  dc-admin top     a live screen of the daemon, or its numbers as JSON
  dc-admin keygen  makes the keys for other machines

Examples:
  dc-admin --cmd STAT --classes BatchTasksManager
  dc-admin --cmd SET --classes BatchTasksManager --fields BatchDefaultMaxURLs:100
  dc-admin --cmd SUSPEND --classes BatchTasksManager,BatchTasksManagerProcess
  dc-admin --cmd DRAIN --timeout 600

stdout is a list with one pair per class: [object, 0], or [object, 1] for a class
that did not answer. Exit status: 0 all answered, 1 a class did not answer or
refused, no ini file was found, or the command is unknown; 2 wrong options, fields
or classes, or an unreadable ini file.`

// sequence is the order in which the daemon starts its managers (docs/spec/DECISIONS.md 8.1).
var sequence = []string{"AdminInterfaceServer", "SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on a signal ends the program
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(subCommand(ctx, os.Args[1], os.Args[2:]))
	}
	os.Exit(command(ctx, os.Args[1:]))
}

// subCommand runs what the first argument names and gives the exit status.
func subCommand(ctx context.Context, name string, args []string) int {
	switch name {
	case "top":
		return topCommand(ctx, args)
	case "keygen":
		return keygen(args, os.Stdout, os.Stderr)
	}
	fmt.Fprintf(os.Stderr, "dc-admin: sub-command %q is unknown; try --help\n", name)
	return client.AdminWrong
}

// request is what the options ask for.
type request struct {
	config, command, fields, classes, timeout string
	force                                     bool
}

func options(r *request) *flags.Set {
	s := flags.New("dc-admin", "looks after a running dc-daemon")
	s.Text(&r.config, "config", "c", "FILE", "ini file; without it dc-admin.ini is looked for in the current\nfolder and in /etc/dc-admin/")
	s.Text(&r.command, "cmd", "", "NAME", "command")
	s.Text(&r.fields, "fields", "f", "LIST", "names, or name:value pairs, separated by commas")
	s.Text(&r.classes, "classes", "", "LIST", "managers, separated by commas; STAT, STOP, SUSPEND and RESUME:\nall by default")
	s.Text(&r.timeout, "timeout", "", "SECONDS", "DRAIN: how long to wait; 1500 by default")
	s.Flag(&r.force, "force", "", "DRAIN: stop after the timeout, whatever still runs")
	s.Values("cmd", strings.Split(client.Commands, ", ")...)
	s.List("classes", sequence...)
	s.Note(notes)
	return s
}

// command runs one command of --cmd.
func command(ctx context.Context, args []string) int {
	var r request
	s := options(&r)
	err := s.Parse(args)
	page, asked := manual.Answer(s, err)
	switch {
	case asked:
		fmt.Print(page)
		return client.AdminOK
	case err != nil:
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminWrong
	}
	out := run(ctx, r)
	text, err := client.Text(out.JSON)
	if err == nil {
		_, err = os.Stdout.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminFailed
	}
	return out.Exit
}

// installation is what the ini file says.
type installation struct {
	server     client.Server
	clients    client.Server // for top
	start, end []string      // managers in the order of start and of stop
}

// errNoFile says that there is no ini file; anything else is a wrong one.
var errNoFile = errors.New("no ini file")

func load(path string) (installation, error) {
	path, err := config.Find("dc-admin", path)
	if err != nil {
		return installation{}, fmt.Errorf("%w: %w", errNoFile, err)
	}
	f, err := config.Load(path)
	if err != nil {
		return installation{}, err
	}
	dtma, server := f.Section("dtma"), f.Section("Server")
	var i installation
	i.server = client.Server{
		Host:    dtma.Text("clientHost", "127.0.0.1"),
		Port:    int(dtma.Int("clientPort", 5503, 1, 65535)),
		Timeout: dtma.Duration("timeout", time.Millisecond, 90*time.Second, time.Millisecond, 24*time.Hour),
		Curve:   client.Keys(dtma),
	}
	i.clients = clientPort(f)
	i.start = server.Names("instantiateSequence", sequence)
	i.end = slices.Clone(i.start)
	slices.Reverse(i.end)
	i.end = server.Names("shutdownSequence", i.end)
	return i, oneLine(f.Err())
}

func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

func run(ctx context.Context, r request) client.Outcome {
	wrong := func(err error) client.Outcome {
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminFailure(client.AdminWrong, err.Error())
	}
	i, err := load(r.config)
	switch {
	case errors.Is(err, errNoFile):
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminFailure(client.AdminFailed, err.Error())
	case err != nil:
		return wrong(err)
	case r.command == "":
		return client.AdminFailure(client.AdminFailed, "--cmd is missing; it is one of "+client.Commands)
	}
	if r.command == "DRAIN" {
		return drain(ctx, r, i, wrong)
	}
	if r.force || r.timeout != "" {
		return wrong(fmt.Errorf("--force and --timeout are for DRAIN alone"))
	}
	c := client.Command{Name: r.command, Server: i.server}
	if c.Fields, err = client.Fields(r.command, r.fields); err != nil {
		return wrong(err)
	}
	c.Classes = config.Names(r.classes)
	switch {
	case r.command == "RESUME" && r.fields != "" && r.fields != "0":
		return wrong(fmt.Errorf("--fields is %q: RESUME takes none", r.fields))
	case len(c.Classes) > 0:
	case r.command == "STAT":
		c.Classes = i.start
	case r.command == "STOP":
		c.Classes = i.end
	case r.command == "GET" || r.command == "SET":
		return wrong(fmt.Errorf("--classes is missing: %s wants the names of managers", r.command))
	}
	if len(c.Fields) == 0 && (r.command == "GET" || r.command == "SET") {
		return wrong(fmt.Errorf("--fields is missing: %s wants names", r.command))
	}
	return c.Do(ctx)
}
