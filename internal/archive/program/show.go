package program

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"hce/dc/internal/archive"
	"hce/dc/internal/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/wire"
)

func (p program) lsCommand() *command.Command {
	var o options
	var words []string
	c := p.opened(command.Text{
		Name: "ls", Summary: "lists commits, or the versions of a page",
		Description: "Without a URL it lists the newest 1,000 commits, the oldest of them first; with one all versions of it, with their files.",
		Examples:    "  archive ls --root /srv/archive\n  archive ls --root /srv/archive https://example.org/",
	}, &o, func(s *session, r *repository.Repository) error {
		if len(words) == 0 {
			return s.commits(r)
		}
		return s.versions(r, words[0])
	})
	c.Words(&words, "[URL]", 0, 1)
	return c
}

const shownCommits = 1000

func (s *session) commits(r *repository.Repository) error {
	last, err := r.Last(s.ctx)
	if err != nil {
		return err
	}
	list, err := r.Commits(s.ctx, max(0, last-shownCommits), shownCommits)
	if err != nil {
		return err
	}
	if s.json {
		return command.PrintJSON(s.out, list)
	}
	for _, c := range list {
		if err := s.print("%6d  %s", c.Number, c.CommitTag); err != nil {
			return err
		}
	}
	return nil
}

// versionFiles is a version of a page, as it is printed with --json.
type versionFiles struct {
	archive.Meta
	Files []archive.File `json:"files"`
}

func (s *session) versions(r archive.Store, href string) error {
	list, err := r.Query(s.ctx, archive.Query{Where: "url = " + wire.QuotedSQL(href)})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("URL %s: %w", href, archive.ErrNotFound)
	}
	found := make([]versionFiles, len(list))
	for i, m := range list {
		found[i].Meta = m
		if found[i].Files, err = r.List(s.ctx, m); err != nil {
			return err
		}
	}
	if s.json {
		return command.PrintJSON(s.out, found)
	}
	for _, v := range found {
		if err := s.print("%s  %s  %s", v.CommitTag, v.MIMEType, clean(v.Title)); err != nil {
			return err
		}
		for _, f := range v.Files {
			if err := s.print("  %9d  %s", f.Size, clean(f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p program) catCommand() *command.Command {
	var o options
	var words []string
	var tag, name string
	c := p.opened(command.Text{
		Name: "cat", Summary: "prints a page as received",
		Description: "It prints the newest version of the page, or that of --version, or another of its files.",
		Examples: `  archive cat --root /srv/archive https://example.org/
  archive cat --root /srv/archive https://example.org/ --version example.org@2026-03-01T12:00:00 --file data.xml`,
	}, &o, func(s *session, r *repository.Repository) error { return s.cat(r, words[0], tag, name) })
	c.Words(&words, "URL", 1, 1)
	c.Text(&tag, "version", "", "TAG", "commit tag; archive ls URL lists them")
	c.Text(&name, "file", "", "NAME", "file in the folder of the page; without it the page itself")
	return c
}

func (s *session) cat(r archive.Store, href, tag, name string) error {
	m, err := s.find(r, href, tag)
	if err != nil {
		return err
	}
	if name == "" {
		name = repository.DataName(m.URL, m.MIMEType)
	}
	file, err := r.Open(s.ctx, m, name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(s.out, file)
	return err
}

// find returns the version of a page with a commit tag, or the newest one.
func (s *session) find(r archive.Store, href, tag string) (archive.Meta, error) {
	where := "url = " + wire.QuotedSQL(href)
	if tag != "" {
		where += " AND commitTag = " + wire.QuotedSQL(tag)
	}
	list, err := r.Query(s.ctx, archive.Query{Where: where, OrderBy: "commitTime DESC", Limit: 1})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("URL %s %s: %w", href, tag, archive.ErrNotFound)
	}
	if err != nil {
		return archive.Meta{}, err
	}
	return list[0], nil
}

// queryRows prints the versions that match.
func (s *session) queryRows(r archive.Store, q archive.Query) error {
	list, err := r.Query(s.ctx, q)
	if err != nil {
		return err
	}
	if s.json {
		return command.PrintJSON(s.out, list)
	}
	for _, m := range list {
		if err := s.print("%s", clean(strings.Join([]string{m.CommitTag, m.MIMEType, m.URL, m.Title}, "  "))); err != nil {
			return err
		}
	}
	return nil
}

func limit(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, command.Refuse("--limit %q is not a whole number above 0", text)
	}
	return n, nil
}
