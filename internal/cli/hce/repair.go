package hce

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
)

func (p program) repairCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "repair", Summary: "makes damaged pages of a data folder again",
		Description: `Reads all stored pages. A page whose text is damaged or missing, and whose raw content is whole, is
processed again. A page without a whole raw content is fetched again, by the next crawl. Each of
them is named on stderr. A damaged file is set aside in a folder, and its whole entries are kept.

It works in the folder of --data, or in that of this user, while no daemon runs there. For a
dc-daemon, stop it and run: db-task --repair. Exit status 1: some pages must be fetched again.`,
		Examples: "  hce repair\n  hce repair --data /srv/crawl --json",
	}, &o, func(s *session) error { return s.repairFolder() })
}

// repaired is the summary of db-task --repair.
type repaired struct {
	Files   int64 `json:"files"`
	Process int64 `json:"process"`
	Fetch   int64 `json:"fetch"`
	Lost    int64 `json:"lost"`
}

func (s *session) repairFolder() error {
	at, err := s.findPlace()
	if err != nil {
		return err
	}
	if at.server != nil {
		return command.Refuse("a daemon runs at %s; stop it, then run db-task --repair on its machine, or give a folder of hce with --data", at.server)
	}
	if !datafolder.Exists(at.dir) {
		return command.Refuse("the folder %s has no crawl; give another one with --data", at.dir)
	}
	programs, err := node.Programs()
	if err != nil {
		return err
	}
	if s.node, err = node.Open(at.dir, programs); err != nil {
		return err
	}
	text, err := s.node.DBTask(s.ctx, s.talk, "--repair")
	if err != nil {
		return err
	}
	var done repaired
	if err := json.Unmarshal(text, &done); err != nil {
		return fmt.Errorf("read the summary of db-task --repair: %w", err)
	}
	if s.json {
		err = s.printJSON(done)
	} else {
		s.sayRepaired(done)
	}
	if err == nil && done.Fetch+done.Lost > 0 {
		err = command.ErrWithErrors
	}
	return err
}

func (s *session) sayRepaired(done repaired) {
	if done == (repaired{}) {
		s.printMessage("nothing is damaged")
		return
	}
	s.printMessage("%s made again from raw contents, %s fetched again: both with: %s", countNoun(done.Process, "page will be", "pages will be"),
		countNoun(done.Fetch, "will be", "will be"), s.commandHint("crawl", "SITE"))
	if done.Lost > 0 {
		s.printMessage("%s gone", countNoun(done.Lost, "older version is", "older versions are"))
	}
}
