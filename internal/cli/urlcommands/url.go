package urlcommands

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

func URLCommand(p subcommand.Program) *command.Command {
	return subcommand.NewGroup("url", "lists, shows, adds and deletes the URLs of a site, and lists versions of their pages", "SITE is the id of a site or one of its root URLs.",
		`  hce url ls example.org --failed
  hce url show https://example.org/a
  hce url history https://example.org/a
  hce url add example.org https://example.org/hidden.html
  hce url rm example.org https://example.org/old.html`,
		urlLsCommand(p), urlShowCommand(p), urlHistoryCommand(p), urlAddCommand(p), urlRmCommand(p))
}

// urlLs are the options of hce url ls.
type urlLs struct {
	status, where, limit string
	failed, forbidden    bool
	referrers, outside   bool
	reasons              bool
}

func urlLsCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	ls := urlLs{limit: "1000"}
	c := p.NewLeaf(command.Text{
		Name: "ls", Summary: "lists the URLs of a site",
		Description: "The order is that of the keys (md5 of the URL), so --limit gives the same URLs each time. --where is\na condition on the columns of docs/spec/objects.md 4.5, in the MySQL dialect.",
		Examples:    "  hce url ls example.org --status new\n  hce url ls example.org --failed --referrers\n  hce url ls example.org --outside --reasons\n  hce url ls example.org --where 'Size > 1000000' --json",
	}, &o, func(s *subcommand.Session) error { return listURLs(s, ls, words[0]) })
	c.Words(&words, "SITE", 1, 1)
	c.Choice(&ls.status, "status", "", "STATUS", "only URLs in this status", statusNames()...)
	c.Flag(&ls.failed, "failed", "", "only URLs with an error")
	c.Flag(&ls.forbidden, "forbidden", "", "only URLs that robots.txt forbids; they were not requested")
	c.Flag(&ls.referrers, "referrers", "", "with the pages that link to each URL; reads all stored pages")
	c.Flag(&ls.outside, "outside", "", "instead, links of stored pages that are no URLs of the site")
	c.Flag(&ls.reasons, "reasons", "", "why each is not requested: the rule of robots.txt or of a filter, another host, the depth, a limit. Requests robots.txt")
	c.Text(&o.Ini, "ini", "", "FILE", "with --reasons: crawler-task.ini of the daemon; default: as hce explain finds it")
	subcommand.DeclareNetworks(c, &o.Networks)
	c.Text(&ls.where, "where", "", "SQL", "only URLs that fulfil this condition")
	c.Text(&ls.limit, "limit", "", "NUMBER", "at most this number of URLs; 0: all")
	return c
}

func statusNames() []string { return slices.Sorted(maps.Keys(actions.Statuses)) }

// rowCondition returns the condition of the options.
func (ls urlLs) rowCondition() (string, error) {
	var parts []string
	if ls.status != "" {
		code, known := actions.Statuses[ls.status]
		if !known {
			names := statusNames()
			return "", command.Refuse("--status %q is not one of %s%s", ls.status, strings.Join(names, ", "), config.Suggestion(config.Nearest(ls.status, names)))
		}
		parts = append(parts, code)
	}
	if ls.failed {
		parts = append(parts, actions.Failed)
	}
	if ls.forbidden {
		parts = append(parts, forbidden)
	}
	if ls.where != "" {
		own, err := subcommand.WhereCondition(ls.where)
		if err != nil {
			return "", err
		}
		parts = append(parts, own)
	}
	return strings.Join(parts, " AND "), nil
}

// forbidden is the condition of URLs that robots.txt forbids.
var forbidden = fmt.Sprintf("`ErrorMask` & %d <> 0", errormask.Robots)

func listURLs(s *subcommand.Session, ls urlLs, typed string) error {
	if ls.outside && (ls.status != "" || ls.failed || ls.forbidden || ls.referrers || ls.where != "") {
		return command.Refuse("--outside lists links that are no URLs of the site, each with a page that has it; --status, --failed, --forbidden, --referrers and --where are for its URLs")
	}
	if !ls.reasons && s.Ini+s.Networks != "" {
		return command.Refuse("--ini and --allow-network are for --reasons")
	}
	limit, err := command.ParseNumber("--limit", ls.limit, 0, 1<<40)
	if err = cmp.Or(err, command.CheckNetworks(s.Networks)); err != nil {
		return command.Refusal{Err: err}
	}
	where, err := ls.rowCondition()
	if err != nil {
		return err
	}
	site, err := s.OpenSite(typed)
	if err != nil {
		return err
	}
	if ls.outside {
		return outsideLs(s, ls, site.ID, limit)
	}
	lines := urlLines{Session: s, ls: ls, site: site.ID}
	if !s.JSON {
		fmt.Fprintf(s.Out, "%-10s %4s %9s  %s\n", "STATUS", "CODE", "SIZE", "URL")
	}
	n := int64(0)
	err = pages.Reader{Service: s.Service, Site: site.ID, Where: where}.Read(s.Ctx, "", func(p *pages.Page) error {
		if limit > 0 && n == limit {
			return subcommand.ErrEnough
		}
		n++
		return lines.addRow(p.URL)
	}, nil)
	if errors.Is(err, subcommand.ErrEnough) {
		s.PrintMessage("only the first %d; see more with --limit", limit)
		err = nil
	}
	if err = cmp.Or(err, lines.printRows()); err == nil && lines.parents {
		s.PrintMessage("linked by: the first page; all pages, with element and text of their links: --referrers")
	}
	return err
}

func urlShowCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var site string
	var links bool
	c := p.NewLeaf(command.Text{
		Name: "show", Summary: "shows what is stored about a URL",
		Examples: "  hce url show https://example.org/a\n  hce url show https://example.org/a --referrers",
	}, &o, func(s *subcommand.Session) error {
		row, err := s.OpenRow(words[0], site)
		if err != nil {
			return err
		}
		row.HTTPCode = row.AnsweredCode()
		if !links {
			if s.JSON {
				return s.PrintJSON(row)
			}
			showURL(s, row)
			return nil
		}
		found, err := referrersOf(s, row.SiteID, []wire.URL{row})
		if err != nil {
			return err
		}
		if s.JSON {
			object, err := withMembers(row, map[string]any{"referrers": found[row.URLMd5]})
			return errors.Join(err, s.PrintJSON(object))
		}
		showURL(s, row)
		for _, r := range found[row.URLMd5] {
			showReferrer(s, r)
		}
		return nil
	})
	c.Words(&words, "URL", 1, 1)
	c.Flag(&links, "referrers", "", "with the pages that link to it, the element and the text of the link; reads all stored pages of the site")
	c.Text(&site, "site", "", "SITE", "site of the URL, if several have it")
	return c
}

func showURL(s *subcommand.Session, row wire.URL) {
	s.PrintNamed("url", "%s", row.URL)
	s.PrintNamed("site", "%s", row.SiteID)
	s.PrintNamed("key", "%s", row.URLMd5)
	s.PrintNamed("status", "%s", export.StatusName(row.Status))
	for _, hop := range row.Hops() {
		s.PrintNamed("redirect", "%d to %s", hop.Code, hop.URL)
	}
	s.PrintNamed("answer", "%d %s %s, %s in %d ms", row.AnsweredCode(), row.ContentType, row.Charset, files.Bytes(row.Size), row.CrawlingTime)
	if text := causes.RetryText(row); text != "" {
		s.PrintNamed("retry", "%s", text)
	}
	if names := row.RobotsNames(); len(names) > 0 {
		s.PrintNamed("robots", "%s", strings.Join(names, ", "))
	}
	if row.UnavailableAfter != "" {
		s.PrintNamed("unavailable", "after %s", row.UnavailableAfter)
	}
	if row.Canonical != "" {
		s.PrintNamed("canonical", "%s", row.Canonical)
	}
	s.PrintNamed("found", "%s, depth %d", row.CDate, row.Depth)
	s.PrintNamed("crawled", "%s, %d times", cmp.Or(string(row.UDate), "never"), row.Crawled)
	if row.ContentDate != "" {
		s.PrintNamed("changed", "%s", row.ContentDate)
	}
	if why := outdatedText(&pages.Page{URL: row}); why != "" {
		s.PrintNamed("content", "%s", why)
	}
	s.PrintNamed("processed", "%d times, %d values", row.Processed, row.TagsCount)
	s.PrintNamed("links", "%d inside, %d outside", row.LinksI, row.LinksE)
	for _, bit := range row.ErrorMask.Bits() {
		s.PrintNamed("error", "%s: %s", bit.Name, bit.Message)
	}
}

func urlAddCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	c := p.NewLeaf(command.Text{
		Name: "add", Summary: "adds URLs to a site, to be crawled",
		Description: `The filters of the site do not apply to them. A URL that is known already is refused. "-" reads URLs from stdin, one
on a line; those that are known are left out and counted, so that a list can be added again after an interruption.`,
		Examples: `  hce url add example.org https://example.org/hidden.html
  hce url add example.org - < list.txt`,
	}, &o, func(s *subcommand.Session) error { return urlAdd(s, words[0], words[1:]) })
	c.Words(&words, "SITE URL...|-", 2, 0)
	return c
}

func urlAdd(s *subcommand.Session, typed string, words []string) error {
	if slices.Equal(words, []string{command.Standard}) {
		return urlAddList(s, typed)
	}
	texts, err := target.ParseRoots(words)
	if err != nil {
		return err
	}
	site, err := s.OpenSite(typed)
	if err != nil {
		return err
	}
	known, err := s.RowsOf([]string{site.ID}, texts)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return command.Refuse("URL %s is known already (%s); let it be fetched again with: %s", known[0].URL, export.StatusName(known[0].Status), s.CommandHint("site", "recrawl", site.ID))
	}
	if _, _, err := addURLs(s, site, texts); err != nil {
		return err
	}
	s.PrintMessage("added %s to site %s", plaintext.Count(int64(len(texts)), "URL", "URLs"), site.ID)
	return nil
}

// urlAddList adds the URLs of stdin that are not known, in portions.
func urlAddList(s *subcommand.Session, typed string) error {
	list, err := target.ReadList(command.Standard)
	if err != nil {
		return err
	}
	site, err := s.OpenSite(typed)
	if err != nil {
		return err
	}
	added, known, err := addURLs(s, site, list)
	if err != nil {
		return fmt.Errorf("after %s: %w; the same command continues", plaintext.Count(int64(added), "URL", "URLs"), err)
	}
	s.PrintMessage("added %s to site %s, %d were known", plaintext.Count(int64(added), "URL", "URLs"), site.ID, known)
	return nil
}

// addURLs adds the URLs that a site does not have.
func addURLs(s *subcommand.Session, site wire.Site, texts []string) (added, known int, err error) {
	a := actions.Actions{Service: s.Service}
	return a.AddTo(s.Ctx, site, texts)
}

func urlRmCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	c := p.NewLeaf(command.Text{
		Name: "rm", Summary: "deletes URLs of a site with their pages",
		Description: "A URL that a page of the site links to may be found again.",
		Examples:    "  hce url rm example.org https://example.org/old.html",
	}, &o, func(s *subcommand.Session) error { return urlRm(s, words[0], words[1:]) })
	c.Words(&words, "SITE URL...", 2, 0)
	return c
}

func urlRm(s *subcommand.Session, typed string, words []string) error {
	for _, word := range words {
		if _, err := target.Parse(word); err != nil {
			return command.Refusal{Err: err}
		}
	}
	if err := s.OpenService(); err != nil {
		return err
	}
	var requests []any
	for _, word := range words { // all are looked up before the first one is deleted
		row, err := s.StoredRow(word, typed)
		if err != nil {
			return err
		}
		requests = append(requests, map[string]any{"siteId": row.SiteID, "url": row.URLMd5, "urlType": wire.ByMd5, "delayedType": wire.Immediate})
	}
	if err := s.AskService(wire.URLDelete, requests, nil); err != nil {
		return err
	}
	s.PrintMessage("deleted %s", plaintext.Count(int64(len(words)), "URL", "URLs"))
	return nil
}
