package subcommand

import (
	"context"
	"errors"
	"io"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/files"
)

// ExitText is the part of the help about exit statuses.
const ExitText = `0 done; 1 done, with errors: pages failed, doctor found faults, or a node of a cluster that is
away makes the change later; 2 refused: wrong arguments or values, nothing was changed; 3 failed: no
daemon, a node of a cluster that is away, a full disk, a failure of a program; 4 interrupted: the
same command continues. All sub-commands use these numbers.`

// ExitOf returns the exit status of an error.
func ExitOf(err error) int {
	status := command.ExitOf(err)
	if status != command.ExitFailed && status != command.ExitRefused {
		return status
	}
	var (
		byService *service.Refusal
		part      *service.Incomplete
		problems  strict.Error
	)
	switch {
	case IsDeferred(err):
		return command.ExitErrors
	case errors.As(err, &part):
		return command.ExitFailed
	case errors.As(err, &byService), errors.As(err, &problems), errors.Is(err, export.ErrExists):
		return command.ExitRefused
	}
	return status
}

// Program is hce: what its sub-commands share. When Ctx is done, they end in order.
type Program struct {
	Ctx       context.Context
	Out, Talk io.Writer
}

// workDir is the folder that the run works in; "" for a daemon.
func (s *Session) workDir() string {
	if s.Node == nil {
		return ""
	}
	return s.Node.Dir
}

// NewLeaf returns a sub-command with the common options.
func (p Program) NewLeaf(text command.Text, o *Options, do func(s *Session) error) *command.Command {
	text.UsageError, text.ExitStatus = command.ExitRefused, ExitText
	c := command.New(text, func() int {
		out := &output{Writer: p.Out}
		s := &Session{Ctx: p.Ctx, Options: *o, Out: out, Talk: p.Talk}
		err := do(s)
		s.CloseAll()
		err = files.ExplainFull(out.firstFailure(err), s.workDir())
		command.PrintError(p.Talk, "hce", err)
		return ExitOf(err)
	})
	o.DeclarePlace(c)
	c.Flag(&o.JSON, "json", "", "print JSON for machines instead of tables")
	c.Flag(&o.ShowRequest, "show-request", "", "print each operation on stderr as it is sent")
	return c
}

// DeclarePlace declares the options that lead to the data.
func (o *Options) DeclarePlace(c *command.Command) {
	c.Text(&o.Server, "server", "", "HOST:PORT", "client port of the daemon to talk to")
	c.Text(&o.Config, "config", "c", "FILE", "ini file of dc-client, for address and keys of the daemon")
	c.Text(&o.Data, "data", "", "DIR", "data folder of hce, instead of a daemon")
}

// NewGroup returns a command that has only sub-commands.
func NewGroup(name, summary, description, examples string, subs ...*command.Command) *command.Command {
	return command.NewGroup(command.Text{
		Name: name, Summary: summary, Description: description, Examples: examples, ExitStatus: ExitText, UsageError: command.ExitRefused,
	}, subs...)
}

// DeclareNetworks adds --allow-network.
func DeclareNetworks(c *command.Command, list *string) {
	c.Networks(list, "networks that are not public and may be fetched, such as 127.0.0.0/8; without a running daemon")
}
