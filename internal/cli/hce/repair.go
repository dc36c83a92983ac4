package hce

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
)

func repairCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	return p.NewLeaf(command.Text{
		Name: "repair", Summary: "makes damaged pages of a data folder again",
		Description: `Reads all stored pages. A page whose text is damaged or missing, and whose raw content is whole, is
processed again. A page without a whole raw content is fetched again, by the next crawl. Each of
them is named on stderr. A damaged file is set aside in a folder, and its whole entries are kept.

It works in the folder of --data, or in that of this user, while no daemon runs there. For a
dc-daemon, stop it and run: db-task --repair. Exit status 1: some pages must be fetched again.`,
		Examples: "  hce repair\n  hce repair --data /srv/crawl --json",
	}, &o, func(s *subcommand.Session) error { return repairFolder(s) })
}

// repaired is the summary of db-task --repair.
type repaired struct {
	Files   int64 `json:"files"`
	Process int64 `json:"process"`
	Fetch   int64 `json:"fetch"`
	Lost    int64 `json:"lost"`
}

func repairFolder(s *subcommand.Session) error {
	at, err := s.FindPlace()
	if err != nil {
		return err
	}
	if at.Server != nil {
		return command.Refuse("a daemon runs at %s; stop it, then run db-task --repair on its machine, or give a folder of hce with --data", at.Server)
	}
	if !datafolder.Exists(at.Dir) {
		return command.Refuse("the folder %s has no crawl; give another one with --data", at.Dir)
	}
	programs, err := node.Programs()
	if err != nil {
		return err
	}
	if s.Node, err = node.Open(at.Dir, programs); err != nil {
		return err
	}
	text, err := s.Node.DBTask(s.Ctx, s.Talk, "--repair")
	if err != nil {
		return err
	}
	var done repaired
	if err := json.Unmarshal(text, &done); err != nil {
		return fmt.Errorf("read the summary of db-task --repair: %w", err)
	}
	if s.JSON {
		err = s.PrintJSON(done)
	} else {
		sayRepaired(s, done)
	}
	if err == nil && done.Fetch+done.Lost > 0 {
		err = command.ErrWithErrors
	}
	return err
}

func sayRepaired(s *subcommand.Session, done repaired) {
	if done == (repaired{}) {
		s.PrintMessage("nothing is damaged")
		return
	}
	s.PrintMessage("%s made again from raw contents, %s fetched again: both with: %s", plaintext.Count(done.Process, "page will be", "pages will be"),
		plaintext.Count(done.Fetch, "will be", "will be"), s.CommandHint("crawl", "SITE"))
	if done.Lost > 0 {
		s.PrintMessage("%s gone", plaintext.Count(done.Lost, "older version is", "older versions are"))
	}
}
