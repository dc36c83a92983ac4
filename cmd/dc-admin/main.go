// dc-admin reads statistics and variables of a running daemon, changes variables, and
// suspends, drains and stops the daemon (docs/spec/daemon.md 4).
package main

import (
	"os"
	"strings"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
)

var text = command.Text{
	Name: "dc-admin", Summary: "controls a running dc-daemon", UsageError: command.ExitRefused,
	Description: `Values of --cmd:
  STAT     print statistics: the names in --fields, or all
  GET      print variables: the names in --fields, * for all
  SET      change variables until the daemon stops: --fields name:value,... or a
           JSON object; write \, for a comma in a value
  SUSPEND  stop starting new work in the managers of --classes, or in all; running
           work continues. --fields 1 means the same, --fields 0 means RESUME
  RESUME   start new work again
  STOP     stop the managers of --classes, or all managers and the daemon
  DRAIN    SUSPEND, wait until no work runs, then STOP. After --timeout, or
           Ctrl-C, DRAIN resumes the managers and exits with 1 or 4; with --force it
           stops the daemon after the timeout. stderr shows the remaining work

The daemon asks for a key (admin_auth in dc-daemon.ini). It creates the key of dc-admin at its
first start; the key keys in dc-admin.ini names the folder. Run dc-admin as the user of the
daemon, as root, or with a key of your own.

stdout is a JSON list with one pair for each class: [object, 0], or [object, 1] if the
class did not answer.`,
	Examples: `  dc-admin --cmd STAT --classes BatchTasksManager
  dc-admin --cmd SET --classes BatchTasksManager --fields BatchDefaultMaxURLs:100
  dc-admin --cmd SUSPEND --classes BatchTasksManager,BatchTasksManagerProcess
  dc-admin --cmd DRAIN --timeout 10m
  dc-admin top`,
	ExitStatus: `0 all classes answered; 1 a class did not answer or refused, or the command is unknown; 2 wrong
options, fields or classes, or an unreadable ini file; 3 the daemon cannot be reached; 4 interrupted.`,
}

func main() {
	ctx := command.SignalContext()
	var r request
	c := command.New(text, func() int { return r.main(ctx) })
	c.Config(&r.config, text.Name)
	c.Choice(&r.command, "cmd", "", "NAME", "command, see above", strings.Split(client.Commands, ", ")...)
	c.Text(&r.fields, "fields", "f", "LIST", "names or name:value pairs, separated by commas")
	c.Choices(&r.classes, "classes", "", "LIST", "managers, separated by commas: "+strings.Join(client.Managers, ", ")+"; default for STAT, STOP, SUSPEND and RESUME: all", client.Managers...)
	c.Text(&r.timeout, "timeout", "", "TIME", "DRAIN: time to wait, 1s to 168h (default 25m); a number without a unit counts seconds")
	c.Flag(&r.force, "force", "", "DRAIN: stop after the timeout although work still runs")
	c.Add(topCommand(ctx))
	c.Add(keygenCommand())
	c.Add(nodeCommand(ctx))
	os.Exit(c.Main(os.Args[1:]))
}
