package program

import (
	"context"
	"fmt"
	"os"

	"hce/dc/internal/apps/webserver"
	"hce/dc/internal/apps/webserver/control"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/files"
)

const name = "hce-webserver"

var (
	text = command.Text{
		Name: name, Summary: "serves a folder and works with a search engine",
		Description: `A web server that indexes its own folder. A search engine asks it on its crawler port to create a
crawler; the crawler reads the folder, sends new and changed documents to the Web Store of the search
engine, and goes on to the servers that the pages link to.

Without an ini file the built-in values are used: the folder www of the current folder on
127.0.0.1:8080, data in the folder data. docs/webserver.md has all details.`,
		Examples: `  hce-webserver store
  hce-webserver serve --folder /usr/share/doc/bash
  hce-webserver ctl status`,
		ExitStatus: exitStatus, UsageError: command.ExitRefused,
	}
	serveText = command.Text{
		Name: "serve", Summary: "serves a folder by HTTP",
		Description: `SIGTERM, SIGINT and "hce-webserver ctl stop" stop the server in order: it finishes running answers and writes a
report to its data folder. A second signal ends it at once. SIGHUP reopens the log file.

With --console it reads the commands of "hce-webserver ctl" from standard input, too, and logs to
standard error, too, if there is a log file.`,
		Examples: `  hce-webserver serve --folder /srv/www
  hce-webserver serve -c /etc/hce-webserver/hce-webserver.ini --console`,
		ExitStatus: exitStatus, UsageError: command.ExitRefused,
	}
	storeText = command.Text{
		Name: "store", Summary: "receives what crawlers found out, and sends crawlers to servers",
		Description: `The Web Store appends documents to webstore/documents.jsonl in the data folder, one JSON object in a
line, and keeps the hosts with their times in webstore/expiry.jsonl. It answers a crawler when a
document is durable.

SIGUSR1 begins the crawling: the first server is asked for a crawler, and then each period all hosts
whose time is old. SIGTERM and SIGINT stop it; a second signal ends it at once. SIGHUP reopens the log
file.`,
		Examples: `  hce-webserver store
  DC_WebStore_first_server=a.example DC_WebStore_start=1 hce-webserver store`,
		ExitStatus: exitStatus, UsageError: command.ExitRefused,
	}
	ctlText = command.Text{
		Name: "ctl", Summary: "steers a running server",
		Description: `Commands:
  off [REASON...]  out of service: clients get 503 with the reason; the crawler port goes on
  on               into service again
  status           queue, connections, bytes and crawlers
  files            the indexed files with their MD5
  stop             orderly stop with a report`,
		Examples: `  hce-webserver ctl off back at noon
  hce-webserver ctl --json status`,
		ExitStatus: "0 done; 2 wrong arguments; 3 no server answered.", UsageError: command.ExitRefused,
	}
)

const exitStatus = `0 stopped in order; 2 wrong arguments or configuration; 3 a port, a file or the machine failed.
With --check-config: 0 the configuration is valid; 1 it is not.`

// Command returns hce-webserver with all sub-commands.
func Command() *command.Command {
	return command.NewGroup(text, ServeCommand(), storeCommand(), ctlCommand())
}

// ServeCommand returns the sub-command serve.
func ServeCommand() *command.Command {
	var o options
	var console bool
	c := command.New(serveText, func() int {
		return o.runWithSettings(func(ctx context.Context, s settings) error {
			cfg := s.server
			if console {
				cfg.Console, cfg.Output = os.Stdin, os.Stdout
			}
			return webserver.Run(ctx, cfg)
		}, console)
	})
	o.declareOptions(c)
	c.Text(&o.folder, "folder", "", "DIR", "served folder; overrides folder of [WebServer]")
	c.Flag(&console, "console", "", "read commands from standard input")
	c.Flag(&o.check, "check-config", "", "print the effective configuration and its errors, and start nothing")
	return c
}

func storeCommand() *command.Command {
	var o options
	c := command.New(storeText, func() int { return o.runWithSettings(runStore, false) })
	o.declareOptions(c)
	c.Flag(&o.check, "check-config", "", "print the effective configuration and its errors, and start nothing")
	return c
}

func ctlCommand() *command.Command {
	var o options
	var words []string
	var asJSON bool
	c := command.New(ctlText, func() int { return o.sendCommand(words, asJSON) })
	o.declareOptions(c)
	c.Flag(&asJSON, "json", "", "print JSON")
	c.Words(&words, "COMMAND...", 1, 0)
	return c
}

// sendCommand sends a command to the server and prints its reply.
func (o *options) sendCommand(words []string, asJSON bool) int {
	_, s, err := o.readSettings()
	if err != nil {
		return reportFailure(command.ExitRefused, err)
	}
	request := control.Request{Command: words[0]}
	for i, w := range words[1:] {
		if i > 0 {
			request.Reason += " "
		}
		request.Reason += w
	}
	r, err := control.Ask(command.SignalContext(), s.server.DataDir, request)
	switch {
	case err != nil:
		return reportFailure(command.ExitFailed, err)
	case r.Error != "":
		return reportFailure(command.ExitRefused, fmt.Errorf("%s", r.Error))
	case asJSON && r.Data != nil:
		err = command.PrintJSON(os.Stdout, r.Data)
	case asJSON:
		err = command.PrintJSON(os.Stdout, map[string]string{"done": r.Text})
	default:
		_, err = fmt.Println(r.Text)
	}
	if err != nil {
		return reportFailure(command.ExitFailed, err)
	}
	return command.ExitDone
}

func reportFailure(status int, err error) int {
	err = files.ExplainFull(err, "")
	fmt.Fprintln(os.Stderr, name+":", err)
	return status
}
