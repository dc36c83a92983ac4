package program

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/config"
)

func (p program) dbCommand() *command.Command {
	return newGroupCommand("db", "builds, checks and queries the database of all versions",
		"The database has a row for each version of each page. It can be built again at any time.",
		"  archive db check --root /srv/archive\n  archive db recover --root /srv/archive\n  archive db query --root /srv/archive --where \"title LIKE '%price%'\"",
		p.recoverCommand(), p.checkCommand(), p.queryCommand())
}

func (p program) recoverCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "recover", Summary: "builds the database again from the XML files of all versions",
		Description: `It reads the data.xml files of all versions from git. The XML schema gets the names of all nodes.
A database that is damaged in any way is set aside under a name that is printed; stop all programs
that use it first. archive repair does this, and mends files.`,
		Examples: "  archive db recover --root /srv/archive",
	}, &o, func(s *session) error { return s.recoverDatabase() })
}

func (s *session) recoverDatabase() error {
	done, err := repository.Recover(s.ctx, s.root)
	s.sayAside(done)
	if err == nil {
		s.printMessage("built the database again from %d versions", done.Versions)
	}
	return err
}

// sayAside names what was set aside.
func (s *session) sayAside(done repository.Recovery) {
	for _, name := range done.SetAside {
		s.printMessage("set aside what was damaged or unknown as %s", filepath.Join(s.root, name))
	}
}

func (p program) repairCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "repair", Summary: "mends database, schema and files from git",
		Description: `It does what archive db recover does, and makes the files of the folders again from git where they
differ. What differs and what git does not know is set aside, never deleted. Stop all programs that
use the archive first. What cannot be mended, such as damage inside of git, is printed as archive db
check does; then the exit status is 1.`,
		Examples: "  archive repair --root /srv/archive",
	}, &o, func(s *session) error {
		done, err := repository.Repair(s.ctx, s.root)
		s.sayAside(done)
		if err != nil {
			return err
		}
		s.printMessage("built the database again from %d versions; made the files of %d domains again", done.Versions, len(done.Domains))
		if s.json {
			return errors.Join(command.PrintJSON(s.out, done), withErrors(done.Left))
		}
		return s.printDifferences(done.Left)
	})
}

// printDifferences prints what differs from git, and ends with 1 if anything does.
func (s *session) printDifferences(list []string) error {
	for _, line := range list {
		if err := s.printData("%s", plaintext.CleanLines(line)); err != nil {
			return err
		}
	}
	return withErrors(list)
}

func withErrors(list []string) error {
	if len(list) > 0 {
		return command.ErrWithErrors
	}
	return nil
}

func (p program) checkCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "check", Summary: "compares database, files and XML with git",
		Description: `It prints each difference on a line, and ends with 1 if there are any. archive db recover mends the
database, and archive repair the files, too.`,
		Examples: "  archive db check --root /srv/archive",
	}, &o, func(s *session) error {
		list, err := repository.Check(s.ctx, s.root)
		if err != nil {
			return err
		}
		if s.json {
			return errors.Join(command.PrintJSON(s.out, append([]string{}, list...)), withErrors(list))
		}
		return s.printDifferences(list)
	})
}

func (p program) queryCommand() *command.Command {
	var o options
	var q queryOptions
	c := p.newArchiveCommand(command.Text{
		Name: "query", Summary: "lists the versions of pages that match",
		Description: `The columns are url, mimeType, title, path, domain, commitTime, createTime, commitTag,
keptFrom and keptCause, in the MySQL dialect. Times are CET, such as '2026-03-01 12:00:00'.`,
		Examples: `  archive db query --root /srv/archive --where "domain = 'example.org' AND mimeType = 'text/html'" --order-by "commitTime DESC, url" --limit 20`,
	}, &o, func(s *session, r *repository.Repository) error {
		query, err := q.readQuery()
		if err != nil {
			return err
		}
		return s.queryRows(r, query)
	})
	q.declareOptions(c)
	return c
}

// queryOptions are the options of a query.
type queryOptions struct{ where, order, most string }

func (q *queryOptions) declareOptions(c *command.Command) {
	c.Text(&q.where, "where", "", "CONDITION", "condition on columns; default: all")
	c.Text(&q.order, "order-by", "", "LIST", "columns to sort by, each with ASC or DESC")
	c.Text(&q.most, "limit", "", "NUMBER", "most versions; without it all")
}

func (q *queryOptions) readQuery() (archive.Query, error) {
	n, err := parseLimit(q.most)
	return archive.Query{Where: q.where, OrderBy: q.order, Limit: n}, err
}

func (p program) configCommand() *command.Command {
	return newGroupCommand("config", "shows the settings", "The settings are those of archive.ini, of the environment and of --root.",
		"  archive config show --root /srv/archive\n  archive config get Crawler.depth --root /srv/archive", p.showCommand(), p.getCommand())
}

func (p program) showCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "show", Summary: "prints all settings and where they come from",
		Examples: "  archive config show --config /etc/archive/archive.ini",
	}, &o, func(s *session) error {
		s.warnUnknown(s.printMessage, s.log)
		return s.file.WriteEffective(s.out)
	})
}

func (p program) getCommand() *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "get", Summary: "prints one setting",
		Examples: "  archive config get Crawler.depth",
	}, &o, func(s *session) error { return s.printSetting(words[0]) })
	c.Words(&words, "SECTION.KEY", 1, 1)
	return c
}

func (s *session) printSetting(name string) error {
	section, key, found := strings.Cut(name, ".")
	if !found {
		return command.Refuse("setting %q is not SECTION.KEY, such as Crawler.depth", name)
	}
	var text bytes.Buffer
	if err := s.file.WriteEffective(&text); err != nil {
		return err
	}
	effective, err := config.Parse(s.file.Path, text.Bytes())
	if err != nil {
		return err
	}
	keys := effective.Keys(section)
	for _, known := range keys {
		if known == key {
			return s.printData("%s", effective.Section(section).Text(key, ""))
		}
	}
	return command.Refuse("setting %s is unknown%s; archive config show lists all", name, config.Suggestion(config.Nearest(key, keys)))
}
