package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/target"
)

// initCommand returns the sub-command that creates a target.
func (p program) initCommand() *command.Command {
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "init", Summary: "creates the folder of a target",
		Description: `Creates DIR with the URLs as its list, in state 0. DIR must be new or empty. The host of the first URL is
the target's host: links to other hosts are not added by merge. Nothing is requested.`,
		Examples: "  ose init sites/example.org https://example.org/",
	}, func() error {
		var urls []string
		seen := map[folder.Key]bool{}
		for _, typed := range words[1:] {
			u, err := target.Parse(typed)
			if err != nil {
				return command.Refusal{Err: err}
			}
			text := strings.TrimSuffix(u.Text, "#")
			if key := folder.KeyOf(text); !seen[key] {
				seen[key] = true
				urls = append(urls, text)
			}
		}
		_, err := folder.Create(words[0], urls)
		return err
	})
	c.Words(&words, "DIR URL...", 2, 0)
	return c
}

// statusCommand returns the sub-command that shows targets.
func (p program) statusCommand() *command.Command {
	var dirs []string
	var json bool
	c := p.newLeafCommand(command.Text{
		Name: "status", Summary: "shows the state of targets and how many URLs they have",
		Description: "Reads .osestatus and .urls. Nothing is changed.",
		Examples:    "  ose status sites\n  ose status sites/example.org --json",
	}, func() error { return p.printStatus(dirs, json) })
	c.Words(&dirs, "DIR...", 1, 0)
	c.Flag(&json, "json", "", "print JSON for machines")
	return c
}

func (p program) printStatus(dirs []string, json bool) error {
	list, err := targetFolders(dirs)
	if err != nil {
		return err
	}
	all := []folder.Summary{}
	var worst error
	for _, f := range list {
		s, err := f.Summary()
		if err != nil {
			p.printLine("%v", err)
			worst = command.ErrWithErrors
			continue
		}
		all = append(all, s)
	}
	if json {
		if err := command.PrintJSON(p.out, all); err != nil {
			return err
		}
		return worst
	}
	for _, s := range all {
		state := s.State
		if s.Running {
			state += ", running"
		}
		var codes []string
		for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
			codes = append(codes, fmt.Sprintf("%s: %d", code, s.Codes[code]))
		}
		fmt.Fprintf(p.out, "%s  %s  last id %s  %d URLs, %d fetched, %d parsed  %s\n", s.Dir, state, s.LastID, s.URLs, s.Fetched, s.Parsed, strings.Join(codes, ", "))
	}
	return worst
}

// checkCommand returns the sub-command that looks for faults.
func (p program) checkCommand() *command.Command {
	var dirs []string
	c := p.newLeafCommand(command.Text{
		Name: "check", Summary: "reads every file of targets and names each fault",
		Description: `Reads all files, also the pages, whose size and md5 .meta has, and prints each fault with file, line and
column: records that are not of their form, URLs and ids that are there twice, pages that do not
fit, files of no record. Nothing is changed. A step that runs meanwhile may cause reports.`,
		Examples: "  ose check sites/example.org",
	}, func() error {
		list, err := targetFolders(dirs)
		if err != nil {
			return err
		}
		for _, f := range list {
			f.Check(func(fault error) {
				fmt.Fprintln(p.out, fault)
				err = command.ErrWithErrors
			})
		}
		return err
	})
	c.Words(&dirs, "DIR...", 1, 0)
	return c
}
