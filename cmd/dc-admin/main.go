// dc-admin asks the managers of a running daemon for their statistics and
// variables, changes variables, and stops the daemon (daemon 4).
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

	"hce/dc/internal/cli"
	"hce/dc/internal/client"
	"hce/dc/internal/config"
	"hce/dc/internal/manual"
)

const notes = `Commands of --cmd:
  STAT  statistics of managers: names in --fields, or all
  GET   variables: names in --fields, * for all
  SET   changes variables until the daemon ends: --fields name:value,...
        or a JSON object; \, stands for a comma in a value
  STOP  stops the managers of --classes, or all and with them the daemon
  SUSPEND  --fields 1: the managers start nothing new; --fields 0: they go on
dc-admin keygen makes the keys for other machines; see dc-admin keygen --help.

Examples:
  dc-admin --cmd STAT --classes BatchTasksManager
  dc-admin --cmd SET --classes BatchTasksManager --fields BatchDefaultMaxURLs:100
  dc-admin --cmd STOP

stdout is a list with one pair per class: [object, 0], or [object, 1] for a class
that did not answer. Exit status: 0 all answered, 1 a class did not answer or
refused, no ini file was found, or the command is unknown; 2 wrong options, fields
or classes, or an unreadable ini file.`

// commands are those of --cmd.
var commands = []string{"STAT", "GET", "SET", "STOP", "SUSPEND"}

// sequence is the order in which the daemon starts its managers (DECISIONS 8.1).
var sequence = []string{"AdminInterfaceServer", "SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "keygen" {
		os.Exit(keygen(os.Args[2:], os.Stdout, os.Stderr))
	}
	var path, command, fields, classes string
	s := cli.New("dc-admin", "looks after a running dc-daemon")
	s.Text(&path, "config", "c", "FILE", "ini file; without it dc-admin.ini is looked for in the current\nfolder and in /etc/dc-admin/")
	s.Text(&command, "cmd", "", "NAME", "command")
	s.Text(&fields, "fields", "", "LIST", "names, or name:value pairs, separated by commas")
	s.Text(&classes, "classes", "", "LIST", "managers, separated by commas; STAT and STOP: all by default")
	s.Values("cmd", commands...)
	s.List("classes", sequence...)
	s.Note(notes)
	err := s.Parse(os.Args[1:])
	page, asked := manual.Answer(s, err)
	switch {
	case asked:
		fmt.Print(page)
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		os.Exit(client.AdminWrong)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := run(ctx, path, command, fields, classes)
	text, err := client.Text(out.JSON)
	if err == nil {
		_, err = os.Stdout.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		os.Exit(client.AdminFailed)
	}
	os.Exit(out.Exit)
}

func run(ctx context.Context, path, command, fields, classes string) client.Outcome {
	wrong := func(err error) client.Outcome {
		err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")) // one line, whatever is wrong
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminFailure(client.AdminWrong, err.Error())
	}
	path, err := config.Find("dc-admin", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-admin:", err)
		return client.AdminFailure(client.AdminFailed, err.Error())
	}
	f, err := config.Load(path)
	if err != nil {
		return wrong(err)
	}
	dtma, server := f.Section("dtma"), f.Section("Server")
	c := client.Command{Name: command, Server: client.Server{
		Host:    dtma.Text("clientHost", "127.0.0.1"),
		Port:    int(dtma.Int("clientPort", 5503, 1, 65535)),
		Timeout: dtma.Duration("timeout", time.Millisecond, 90*time.Second, time.Millisecond, 24*time.Hour),
		Curve:   client.Keys(dtma),
	}}
	start := server.Names("instantiateSequence", sequence)
	end := slices.Clone(start)
	slices.Reverse(end)
	end = server.Names("shutdownSequence", end)
	if err := f.Err(); err != nil {
		return wrong(err)
	}
	if command == "" {
		return client.AdminFailure(client.AdminFailed, "--cmd is missing; it is one of "+strings.Join(commands, ", "))
	}
	if c.Fields, err = client.Fields(command, fields); err != nil {
		return wrong(err)
	}
	c.Classes = config.Names(classes)
	switch {
	case len(c.Classes) > 0:
	case command == "STAT":
		c.Classes = start
	case command == "STOP":
		c.Classes = end
	case command == "GET" || command == "SET":
		return wrong(fmt.Errorf("--classes is missing: %s wants the names of managers", command))
	}
	if len(c.Fields) == 0 && (command == "GET" || command == "SET") {
		return wrong(fmt.Errorf("--fields is missing: %s wants names", command))
	}
	return c.Do(ctx)
}
