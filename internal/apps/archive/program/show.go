package program

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
)

func (p program) lsCommand() *command.Command {
	var o options
	var words []string
	c := p.newArchiveCommand(command.Text{
		Name: "ls", Summary: "lists commits, or the versions of a page",
		Description: "Without a URL it lists all commits, the oldest first; with one all versions of it, with their files.",
		Examples:    "  archive ls --root /srv/archive\n  archive ls --root /srv/archive https://example.org/",
	}, &o, func(s *session, r *repository.Repository) error {
		if len(words) == 0 {
			return s.printCommits(r)
		}
		return s.printVersions(r, words[0])
	})
	c.Words(&words, "[URL]", 0, 1)
	return c
}

// printCommits prints all commits, the oldest first.
func (s *session) printCommits(r *repository.Repository) error {
	all, last := []archive.Commit{}, int64(0)
	for {
		list, err := r.Commits(s.ctx, last, 0)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		last = list[len(list)-1].Number
		if s.json {
			all = append(all, list...)
			continue
		}
		for _, c := range list {
			if err := s.printData("%6d  %s", c.Number, c.CommitTag); err != nil {
				return err
			}
		}
	}
	if s.json {
		return command.PrintJSON(s.out, all)
	}
	return nil
}

// versionFiles is a version of a page, as it is printed with --json.
type versionFiles struct {
	archive.Meta
	Files []archive.File `json:"files"`
}

func (s *session) printVersions(r archive.Store, href string) error {
	where, err := s.urlIs(r, href)
	if err != nil {
		return err
	}
	list, err := r.Query(s.ctx, archive.Query{Where: where})
	if err != nil {
		return err
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
		if err := s.printData("%s  %s  %s%s", v.CommitTag, v.MIMEType, plaintext.CleanLines(v.Title), keptText(v.Meta)); err != nil {
			return err
		}
		for _, f := range v.Files {
			if err := s.printData("  %9d  %s", f.Size, plaintext.CleanLines(f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptText marks a version with older content.
func keptText(m archive.Meta) string {
	if m.KeptFrom == "" {
		return ""
	}
	return fmt.Sprintf("  (content of %s: %s)", m.KeptFrom, plaintext.CleanLines(m.KeptCause))
}

func (p program) catCommand() *command.Command {
	var o options
	var words []string
	var tag, name string
	c := p.newArchiveCommand(command.Text{
		Name: "cat", Summary: "prints a page as received",
		Description: "It prints the newest version of the page, or that of --version, or another of its files.",
		Examples: `  archive cat --root /srv/archive https://example.org/
  archive cat --root /srv/archive https://example.org/ --version example.org@2026-03-01T12:00:00 --file data.xml`,
	}, &o, func(s *session, r *repository.Repository) error { return s.printFile(r, words[0], tag, name) })
	c.Words(&words, "URL", 1, 1)
	c.Text(&tag, "version", "", "TAG", "commit tag; archive ls URL lists them")
	c.Text(&name, "file", "", "NAME", "file in the folder of the page; without it the page itself")
	return c
}

func (s *session) printFile(r archive.Store, href, tag, name string) error {
	m, err := s.findVersion(r, href, tag)
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

// urlIs returns the condition for a URL as people type it: the first one that the archive has of the text as
// it is, and of what it may mean.
func (s *session) urlIs(r archive.Store, typed string) (string, error) {
	meant := target.Meant(typed)
	for _, href := range append([]string{typed}, meant...) {
		where := "url = " + wire.QuotedSQL(href)
		list, err := r.Query(s.ctx, archive.Query{Where: where, Limit: 1})
		if err != nil || len(list) > 0 {
			return where, err
		}
	}
	if _, err := target.Parse(typed); err != nil {
		return "", command.Refusal{Err: err}
	}
	return "", fmt.Errorf("URL %s: %w; list the URLs of its domain with --where \"domain = '%s'\" of query", typed, archive.ErrNotFound, target.Hostname(meant[0]))
}

// findVersion returns the version of a page with a commit tag, or the newest one.
func (s *session) findVersion(r archive.Store, href, tag string) (archive.Meta, error) {
	where, err := s.urlIs(r, href)
	if err != nil {
		return archive.Meta{}, err
	}
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

// queryRows prints the versions that match as they come, and says if there are more than the limit.
func (s *session) queryRows(r archive.Store, q archive.Query) error {
	limit, n := q.Limit, 0
	if limit > 0 {
		q.Limit++
	}
	before := "[\n"
	err := r.Each(s.ctx, q, func(m archive.Meta) error {
		if n++; limit > 0 && n > limit {
			return nil
		}
		if !s.json {
			return s.printData("%s", plaintext.CleanLines(strings.Join([]string{m.CommitTag, m.MIMEType, m.URL, m.Title}, "  "))+keptText(m))
		}
		text, err := json.MarshalIndent(m, "  ", "  ")
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s  %s", before, text)
			before = ",\n"
		}
		return err
	})
	if err == nil && s.json {
		err = s.printData("%s", map[bool]string{true: "[]", false: "\n]"}[n == 0])
	}
	if limit > 0 && n > limit {
		s.printMessage("the first %d versions; more match, raise --limit or leave it out", limit)
	}
	return err
}

func parseLimit(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, command.Refuse("--limit %q is not a whole number above 0", text)
	}
	return n, nil
}
