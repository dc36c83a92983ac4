package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/wordcount"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/files"
)

func (p program) clientCommand() *command.Command {
	return newGroupCommand("client", "uses the archive of a server",
		"The sub-commands talk to the server of --server, or of url in [Client]. What they do is what package client offers to Go programs.",
		`  archive client query --where "domain = 'example.org'" --order-by "commitTime DESC"
  archive client put https://example.org/ notes.txt <notes.txt
  archive client watch --state seen`,
		p.clientQuery(), p.clientList(), p.clientCat(), p.clientPut(), p.clientTag(), p.clientWatch(), p.clientStatus())
}

func (p program) clientQuery() *command.Command {
	var q queryOptions
	c := p.newClientCommand(command.Text{
		Name: "query", Summary: "lists the versions of pages that match",
		Description: "The columns are those of archive db query.",
		Examples:    `  archive client query --where "mimeType = 'text/html'" --order-by "commitTime DESC" --limit 20`,
	}, func(s *session, c *client.Client) error {
		query, err := q.readQuery()
		if err != nil {
			return err
		}
		return s.queryRows(c, query)
	})
	q.declareOptions(c)
	return c
}

func (p program) clientList() *command.Command {
	var words []string
	c := p.newClientCommand(command.Text{
		Name: "ls", Summary: "lists all versions of a page with their files",
		Examples: "  archive client ls https://example.org/",
	}, func(s *session, c *client.Client) error { return s.printVersions(c, words[0]) })
	c.Words(&words, "URL", 1, 1)
	return c
}

func (p program) clientCat() *command.Command {
	var words []string
	var tag, name string
	c := p.newClientCommand(command.Text{
		Name: "cat", Summary: "prints a page as received, or another file of it",
		Examples: "  archive client cat https://example.org/\n  archive client cat https://example.org/ --file words.txt",
	}, func(s *session, c *client.Client) error { return s.printFile(c, words[0], tag, name) })
	c.Words(&words, "URL", 1, 1)
	c.Text(&tag, "version", "", "TAG", "commit tag; without it the newest version")
	c.Text(&name, "file", "", "NAME", "file in the folder of the page; without it the page itself")
	return c
}

func (p program) clientPut() *command.Command {
	var words []string
	var tag, from string
	c := p.newClientCommand(command.Text{
		Name: "put", Summary: "adds a file to the folder of a page",
		Description: `The file is read from standard input or from --from. A file that exists is never overwritten, and
a version that a crawl has replaced takes no more files; both are refused (exit status 2). A source that gives nothing for a minute, or less than 512 bytes a
second for long, is cut off, and nothing is stored.`,
		Examples: "  archive client put https://example.org/ notes.txt <notes.txt\n  archive client put https://example.org/ img/a.png --from a.png",
	}, func(s *session, c *client.Client) error { return s.putFile(c, words[0], words[1], tag, from) })
	c.Words(&words, "URL NAME", 2, 2)
	c.Text(&tag, "version", "", "TAG", "commit tag; without it the newest version")
	c.Text(&from, "from", "", "FILE", "file to read; without it standard input")
	return c
}

func (s *session) putFile(c archive.Store, href, name, tag, from string) error {
	source := io.Reader(os.Stdin)
	if from != "" {
		f, err := os.Open(from)
		if err != nil {
			return command.Refusal{Err: err}
		}
		defer f.Close()
		source = f
	}
	m, err := s.findVersion(c, href, tag)
	if err != nil {
		return err
	}
	w, err := c.Create(s.ctx, m, name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, source); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.Close(); err != nil {
		return err
	}
	s.printMessage("stored %s with %s of %s", name, m.CommitTag, m.URL)
	return nil
}

func (p program) clientTag() *command.Command {
	var words []string
	var tag, content string
	var c *command.Command
	c = p.newClientCommand(command.Text{
		Name: "tag", Summary: "prints or adds a node in the XML of a page",
		Description: "With --set it adds the node with that content, which is XML. A node that exists is never changed.",
		Examples:    "  archive client tag https://example.org/ wordcount\n  archive client tag https://example.org/ rating --set '<stars>4</stars>'",
	}, func(s *session, store *client.Client) error {
		return s.readOrSetTag(store, words[0], words[1], tag, content, c.Given("set"))
	})
	c.Words(&words, "URL NAME", 2, 2)
	c.Text(&tag, "version", "", "TAG", "commit tag; without it the newest version")
	c.Text(&content, "set", "", "XML", "content of a new node")
	return c
}

func (s *session) readOrSetTag(store archive.Store, href, name, tag, content string, set bool) error {
	m, err := s.findVersion(store, href, tag)
	if err != nil {
		return err
	}
	if set {
		return store.SetTag(s.ctx, m, name, content)
	}
	text, err := store.Tag(s.ctx, m, name)
	if err != nil {
		return err
	}
	if s.json {
		return command.PrintJSON(s.out, text)
	}
	return s.printData("%s", plaintext.CleanLines(text))
}

func (p program) clientWatch() *command.Command {
	var after, state string
	c := p.newClientCommand(command.Text{
		Name: "watch", Summary: "prints new commits as the server tells of them",
		Description: `It prints a line for each new commit, and with --json a JSON object. It connects again when the
connection is lost, and misses nothing. With --state it continues after the last commit that the run
before has printed. It ends with Ctrl-C.`,
		Examples: "  archive client watch\n  archive client watch --after 0\n  archive client watch --state seen --json",
	}, func(s *session, c *client.Client) error { return s.watchCommits(c, after, state) })
	c.Text(&after, "after", "", "NUMBER", "print the commits after this one first; 0: all; without it only new ones")
	c.Text(&state, "state", "", "FILE", "file with the number of the last printed commit; the first run makes it")
	return c
}

func (s *session) watchCommits(c *client.Client, after, state string) error {
	position, err := s.startPosition(c, after, state)
	if err != nil {
		return err
	}
	return c.Observe(s.ctx, position, func(list []archive.Commit) error {
		for _, commit := range list {
			if err := s.printLine(commit, "%d  %s", commit.Number, commit.CommitTag); err != nil {
				return err
			}
		}
		return writeState(state, list[len(list)-1].Number)
	})
}

// startPosition returns the commit after which watch begins: that of the state file, of --after, or the last
// one of the server. A new state file gets it at once.
func (s *session) startPosition(c *client.Client, after, state string) (int64, error) {
	text, err := os.ReadFile(state)
	switch {
	case state != "" && err == nil:
		after = strings.TrimSpace(string(text))
	case state != "" && !errors.Is(err, fs.ErrNotExist):
		return 0, command.Refusal{Err: err}
	}
	if after == "" {
		now, err := c.Status(s.ctx)
		if err != nil {
			return 0, err
		}
		return now.Number, writeState(state, now.Number)
	}
	if state != "" {
		if err := files.CheckOutput(state); err != nil {
			return 0, command.Refusal{Err: err}
		}
	}
	position, err := strconv.ParseInt(after, 10, 64)
	if err != nil || position < 0 {
		return 0, command.Refuse("the number of a commit is 0 or larger, not %.100q", after)
	}
	return position, nil
}

// writeState writes the state file of watch.
func writeState(state string, position int64) error {
	if state == "" {
		return nil
	}
	return files.Write(state, fmt.Appendln(nil, position), 0o600)
}

// printLine prints a line of data, or a value as JSON in a line.
func (s *session) printLine(value any, format string, args ...any) error {
	if s.json {
		return json.NewEncoder(s.out).Encode(value)
	}
	return s.printData(format, args...)
}

func (p program) clientStatus() *command.Command {
	return p.newClientCommand(command.Text{
		Name: "status", Summary: "prints the registered observers and the last search of the server",
		Examples: "  archive client status",
	}, func(s *session, c *client.Client) error {
		state, err := c.Status(s.ctx)
		if err != nil {
			return err
		}
		if s.json {
			return command.PrintJSON(s.out, state)
		}
		for _, o := range state.Observers {
			if err := s.printData("observer %s since %s, commit %d", o.Address, o.Since, o.Position); err != nil {
				return err
			}
		}
		return s.printData("last commit %d, searched at %s, every %g s", state.Number, state.Searched, state.Interval)
	})
}

func (p program) countCommand() *command.Command {
	var where string
	c := p.newClientCommand(command.Text{
		Name: "count", Summary: "counts the words of the HTML pages",
		Description: `It counts the words of the newest version of each HTML page of the server's archive, and stores the
result with the page: as the file words.txt and as the node wordcount. It prints a line for each page:
counted, present (an earlier run has stored it), gone (the newest crawl has not found the page any more),
outdated (crawls have replaced the page again and again meanwhile) or failed. It ends with 0 if it is
complete, and with 1 if a page is outdated or failed; run it again to complete it.`,
		Examples: "  archive count\n  archive count --where \"domain = 'example.org'\"\n  archive client cat https://example.org/ --file words.txt",
	}, func(s *session, c *client.Client) error { return s.countWords(c, where) })
	c.Text(&where, "where", "", "CONDITION", "count only pages that match; columns as in archive db query")
	return c
}

func (s *session) countWords(c archive.Store, where string) error {
	failed := false
	err := wordcount.Run(s.ctx, c, where, func(r wordcount.Result) error {
		failed = failed || r.State == wordcount.Outdated || r.State == wordcount.Failed
		if r.Error != "" {
			s.printMessage("%s: %s", r.URL, r.Error)
		}
		return s.printLine(r, "%-8s  %8d  %s", r.State, r.Total, plaintext.CleanLines(r.URL))
	})
	if err == nil && failed {
		err = command.ErrWithErrors
	}
	return err
}
