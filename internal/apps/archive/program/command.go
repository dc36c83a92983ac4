package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/crawl"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/files"
)

const exitText = `0 done; 1 done, with errors: a domain was not archived, or not completely; db check or repair found differences, or count
has pages that are outdated or failed; 2 refused: wrong arguments or values, a file that exists,
nothing was changed; 3 failed: a full disk, no connection, a failure of a program; 4 interrupted. All
sub-commands use these numbers.`

func exitOf(err error) int {
	status := command.ExitOf(err)
	switch {
	case status != command.ExitFailed:
		return status
	case errors.Is(err, crawl.ErrFailed):
		return command.ExitErrors
	case errors.Is(err, archive.ErrInvalid), errors.Is(err, archive.ErrNotFound), errors.Is(err, repository.ErrNoArchive), refusedByServer(err):
		return command.ExitRefused
	}
	return status
}

// program is archive.
type program struct {
	ctx       context.Context
	out, talk io.Writer
}

// Command returns archive with all sub-commands. When ctx is done, they end in order.
func Command(ctx context.Context, out, talk io.Writer) *command.Command {
	p := program{ctx, out, talk}
	subs := []*command.Command{p.initCommand(), p.crawlerCommand(), p.lsCommand(), p.catCommand(), p.dbCommand(), p.repairCommand(), p.configCommand()}
	return command.NewGroup(command.Text{
		Name: "archive", Summary: "keeps all versions of web sites", UsageError: command.ExitRefused,
		Description: `An archive is a folder. Each crawl of a domain is a version of it, a commit of git: all its
pages as received, with their metadata as XML and in a database. A page that is gone stays in the
older versions.

The settings are in archive.ini: that of --config, that in the folder of --root, ./archive.ini or
/etc/archive/archive.ini. Options override it.`,
		Examples: `  archive init /srv/archive
  archive crawler --root /srv/archive https://example.org/
  archive ls --root /srv/archive
  archive cat --root /srv/archive https://example.org/
  archive db query --root /srv/archive --where "mimeType LIKE 'image/%'" --order-by "commitTime DESC"
  archive db check --root /srv/archive`,
		ExitStatus: exitText,
	}, append(subs, p.networkCommands()...)...)
}

// session is one run of a sub-command.
type session struct {
	settings
	ctx  context.Context
	out  io.Writer
	talk io.Writer
	json bool
	log  *slog.Logger
}

// printMessage prints a line for the person at the terminal.
func (s *session) printMessage(format string, args ...any) {
	fmt.Fprintf(s.talk, "archive: %s\n", plaintext.CleanLines(fmt.Sprintf(format, args...)))
}

// printData prints a line of data.
func (s *session) printData(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format+"\n", args...)
	return err
}

// newLeafCommand returns a sub-command with the common options, which reads the settings.
func (p program) newLeafCommand(text command.Text, o *options, do func(s *session) error) *command.Command {
	text.UsageError, text.ExitStatus = command.ExitRefused, exitText
	c := command.New(text, func() int {
		err := files.ExplainFull(p.runSession(*o, do), o.root)
		command.PrintError(p.talk, "archive", err)
		return exitOf(err)
	})
	c.Text(&o.root, "root", "", "DIR", "folder of the archive, instead of root in archive.ini")
	c.Text(&o.config, "config", "c", "FILE", "ini file; without it archive.ini in the folder of --root, in the current folder, or in /etc/archive/")
	c.Flag(&o.json, "json", "", "print JSON for machines instead of tables")
	return c
}

func (p program) runSession(o options, do func(s *session) error) error {
	s := &session{ctx: p.ctx, out: p.out, talk: p.talk, json: o.json}
	var err error
	if s.settings, err = o.readSettings(s.printMessage); err != nil {
		return command.Refusal{Err: err}
	}
	s.log = slog.New(slog.DiscardHandler)
	return do(s)
}

// newArchiveCommand is leaf with the opened archive and its log.
func (p program) newArchiveCommand(text command.Text, o *options, do func(s *session, r *repository.Repository) error) *command.Command {
	return p.newLeafCommand(text, o, func(s *session) error {
		r, err := repository.Open(s.root)
		if err != nil {
			return err
		}
		err = s.runWithLog(func() error {
			r.Log = s.log
			return do(s, r)
		})
		return errors.Join(err, r.Close())
	})
}

// runWithLog calls do with the log open.
func (s *session) runWithLog(do func() error) error {
	log, _, out, err := s.settings.log.Open(s.talk)
	if err != nil {
		return err
	}
	defer out.Close()
	s.log = log
	s.warnUnknown(s.printMessage, log)
	return do()
}

// newGroupCommand returns a command that has only sub-commands.
func newGroupCommand(name, summary, description, examples string, subs ...*command.Command) *command.Command {
	return command.NewGroup(command.Text{
		Name: name, Summary: summary, Description: description, Examples: examples, ExitStatus: exitText, UsageError: command.ExitRefused,
	}, subs...)
}
