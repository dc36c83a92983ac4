package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/files"
)

const exitText = `0 done, or nothing to do, or a step of another process runs; 1 done, with errors: check found
faults, or files of pages cannot be read; 2 refused: wrong arguments, or a file that is not of its
form, nothing was changed; 3 failed: no daemon, a full disk, a failure of a program; 4 interrupted:
the next run continues.`

// reported is an error that the log has already.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// exitOf returns the exit status of an error.
func exitOf(err error) int {
	var fault *folder.Fault
	status := command.ExitOf(err)
	switch {
	case status != command.ExitFailed:
		return status
	case errors.As(err, &fault), errors.Is(err, folder.ErrNoTarget), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return command.ExitRefused
	}
	return subcommand.ExitOf(err)
}

// program is ose.
type program struct {
	ctx       context.Context
	out, talk io.Writer
}

// Command returns ose with all sub-commands. When ctx is done, they end in order.
func Command(ctx context.Context, out, talk io.Writer) *command.Command {
	p := program{ctx, out, talk}
	return command.NewGroup(command.Text{
		Name: "ose", Summary: "collects web sites in folders of plain files, in cycles of three steps", UsageError: command.ExitRefused,
		Description: `Each target is a folder with a list of URLs and numbered files. fetch (OSEM001) requests the URLs
that were not checked yet, parse (OSEM002) writes the links of each page, and merge (OSEM003) adds
the links of the target's host to the list. run does what a target needs of the three; start it
every ten minutes by cron, or let ose daemon do it. A kill at any moment loses nothing: the next
run continues.

DIR is the folder of a target, or a folder with such folders.`,
		Examples: `  ose init sites/example.org https://example.org/
  ose run sites
  ose status sites
  ose check sites/example.org
  ose import sites/example.org`,
		ExitStatus: exitText,
	},
		p.initCommand(), p.stepCommand(fetchText), p.stepCommand(parseText), p.stepCommand(mergeText), p.stepCommand(runText), p.daemonCommand(),
		p.statusCommand(), p.checkCommand(), p.importCommand(), p.exportCommand())
}

// newLeafCommand returns a sub-command.
func (p program) newLeafCommand(text command.Text, do func() error) *command.Command {
	text.UsageError, text.ExitStatus = command.ExitRefused, exitText
	return command.New(text, func() int {
		err := files.ExplainFull(do(), "")
		_, known := errors.AsType[reported](err)
		switch {
		case errors.Is(err, context.Canceled):
			p.printLine("interrupted; the next run continues")
		case !known:
			command.PrintError(p.talk, "ose", err)
		}
		return exitOf(err)
	})
}

// printLine prints a line for the person at the terminal.
func (p program) printLine(format string, args ...any) {
	fmt.Fprintf(p.talk, "ose: "+format+"\n", args...)
}

// newLogger returns the log of the program.
func (p program) newLogger(quiet bool) *slog.Logger {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(p.talk, &slog.HandlerOptions{Level: level}))
}

// targetFolders returns the folders of targets: each DIR, or those in it.
func targetFolders(dirs []string) (list []*folder.Folder, err error) {
	seen := map[string]bool{}
	add := func(f *folder.Folder) {
		if path, err := filepath.EvalSymlinks(f.Dir); err != nil || !seen[path] {
			seen[path] = true
			list = append(list, f)
		}
	}
	for _, dir := range dirs {
		f, err := folder.Open(dir)
		if err == nil {
			add(f)
			continue
		}
		if !errors.Is(err, folder.ErrNoTarget) {
			return nil, err
		}
		entries, readErr := os.ReadDir(dir)
		before := len(list)
		for _, e := range entries {
			if !e.IsDir() { // a link is not followed
				continue
			}
			if f, err := folder.Open(filepath.Join(dir, e.Name())); err == nil {
				add(f)
			}
		}
		if readErr != nil || len(list) == before {
			return nil, err
		}
	}
	return list, nil
}
