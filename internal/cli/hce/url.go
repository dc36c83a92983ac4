package hce

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

func (p program) urlCommand() *command.Command {
	return newGroupCommand("url", "lists, shows, adds and deletes the URLs of a site, and lists versions of their pages", "SITE is the id of a site or one of its root URLs.",
		`  hce url ls example.org --failed
  hce url show https://example.org/a
  hce url history https://example.org/a
  hce url add example.org https://example.org/hidden.html
  hce url rm example.org https://example.org/old.html`,
		p.urlLsCommand(), p.urlShowCommand(), p.urlHistoryCommand(), p.urlAddCommand(), p.urlRmCommand())
}

// statusCodes are the words of --status.
var statusCodes = map[string]string{
	"new": "`Status`=1", "crawling": "`Status` IN (2,3,8)", "crawled": "`Status`=4", "processing": "`Status` IN (5,6)", "processed": "`Status`=7",
}

// urlLs are the options of hce url ls.
type urlLs struct {
	status, where, limit string
	failed, forbidden    bool
	referrers, outside   bool
	reasons              bool
}

func (p program) urlLsCommand() *command.Command {
	var o options
	var words []string
	ls := urlLs{limit: "1000"}
	c := p.newLeafCommand(command.Text{
		Name: "ls", Summary: "lists the URLs of a site",
		Description: "The order is that of the keys (md5 of the URL), so --limit gives the same URLs each time. --where is\na condition on the columns of docs/spec/objects.md 4.5, in the MySQL dialect.",
		Examples:    "  hce url ls example.org --status new\n  hce url ls example.org --failed --referrers\n  hce url ls example.org --outside --reasons\n  hce url ls example.org --where 'Size > 1000000' --json",
	}, &o, func(s *session) error { return s.urlLs(ls, words[0]) })
	c.Words(&words, "SITE", 1, 1)
	c.Choice(&ls.status, "status", "", "STATUS", "only URLs in this status", statusNames()...)
	c.Flag(&ls.failed, "failed", "", "only URLs with an error")
	c.Flag(&ls.forbidden, "forbidden", "", "only URLs that robots.txt forbids; they were not requested")
	c.Flag(&ls.referrers, "referrers", "", "with the pages that link to each URL; reads all stored pages")
	c.Flag(&ls.outside, "outside", "", "instead, links of stored pages that are no URLs of the site")
	c.Flag(&ls.reasons, "reasons", "", "why each is not requested: the rule of robots.txt or of a filter, another host, the depth, a limit. Requests robots.txt")
	c.Text(&o.ini, "ini", "", "FILE", "with --reasons: crawler-task.ini of the daemon; default: as hce explain finds it")
	networksOption(c, &o.networks)
	c.Text(&ls.where, "where", "", "SQL", "only URLs that fulfil this condition")
	c.Text(&ls.limit, "limit", "", "NUMBER", "at most this number of URLs; 0: all")
	return c
}

func statusNames() []string { return slices.Sorted(maps.Keys(statusCodes)) }

// rowCondition returns the condition of the options.
func (ls urlLs) rowCondition() (string, error) {
	var parts []string
	if ls.status != "" {
		code, known := statusCodes[ls.status]
		if !known {
			names := statusNames()
			return "", command.Refuse("--status %q is not one of %s%s", ls.status, strings.Join(names, ", "), config.Suggestion(config.Nearest(ls.status, names)))
		}
		parts = append(parts, code)
	}
	if ls.failed {
		parts = append(parts, "`ErrorMask`<>0 AND NOT (`Status`=4 AND `Crawled`=0)")
	}
	if ls.forbidden {
		parts = append(parts, forbidden)
	}
	if ls.where != "" {
		own, err := whereCondition(ls.where)
		if err != nil {
			return "", err
		}
		parts = append(parts, own)
	}
	return strings.Join(parts, " AND "), nil
}

// forbidden is the condition of URLs that robots.txt forbids.
var forbidden = fmt.Sprintf("`ErrorMask` & %d <> 0", errormask.Robots)

// errEnough ends a reading at --limit.
var errEnough = errors.New("enough")

func (s *session) urlLs(ls urlLs, typed string) error {
	if ls.outside && (ls.status != "" || ls.failed || ls.forbidden || ls.referrers || ls.where != "") {
		return command.Refuse("--outside lists links that are no URLs of the site, each with a page that has it; --status, --failed, --forbidden, --referrers and --where are for its URLs")
	}
	if !ls.reasons && s.ini+s.networks != "" {
		return command.Refuse("--ini and --allow-network are for --reasons")
	}
	limit, err := parseNumber("--limit", ls.limit, 0, 1<<40)
	if err = cmp.Or(err, checkNetworkList(s.networks)); err != nil {
		return command.Refusal{Err: err}
	}
	where, err := ls.rowCondition()
	if err != nil {
		return err
	}
	site, err := s.openSite(typed)
	if err != nil {
		return err
	}
	if ls.outside {
		return s.outsideLs(ls, site.ID, limit)
	}
	lines := urlLines{session: s, ls: ls, site: site.ID}
	if !s.json {
		fmt.Fprintf(s.out, "%-10s %4s %9s  %s\n", "STATUS", "CODE", "SIZE", "URL")
	}
	n := int64(0)
	err = pages.Reader{Service: s.service, Site: site.ID, Where: where}.Read(s.ctx, "", func(p *pages.Page) error {
		if limit > 0 && n == limit {
			return errEnough
		}
		n++
		return lines.addRow(p.URL)
	}, nil)
	if errors.Is(err, errEnough) {
		s.printMessage("only the first %d; see more with --limit", limit)
		err = nil
	}
	if err = cmp.Or(err, lines.printRows()); err == nil && lines.parents {
		s.printMessage("linked by: the first page; all pages, with element and text of their links: --referrers")
	}
	return err
}

func (p program) urlShowCommand() *command.Command {
	var o options
	var words []string
	var site string
	var links bool
	c := p.newLeafCommand(command.Text{
		Name: "show", Summary: "shows what is stored about a URL",
		Examples: "  hce url show https://example.org/a\n  hce url show https://example.org/a --referrers",
	}, &o, func(s *session) error {
		row, err := s.openRow(words[0], site)
		if err != nil {
			return err
		}
		row.HTTPCode = row.AnsweredCode()
		if !links {
			if s.json {
				return s.printJSON(row)
			}
			s.showURL(row)
			return nil
		}
		found, err := s.referrersOf(row.SiteID, []wire.URL{row})
		if err != nil {
			return err
		}
		if s.json {
			object, err := withMembers(row, map[string]any{"referrers": found[row.URLMd5]})
			return errors.Join(err, s.printJSON(object))
		}
		s.showURL(row)
		for _, r := range found[row.URLMd5] {
			s.showReferrer(r)
		}
		return nil
	})
	c.Words(&words, "URL", 1, 1)
	c.Flag(&links, "referrers", "", "with the pages that link to it, the element and the text of the link; reads all stored pages of the site")
	c.Text(&site, "site", "", "SITE", "site of the URL, if several have it")
	return c
}

func (s *session) showURL(row wire.URL) {
	s.printNamed("url", "%s", row.URL)
	s.printNamed("site", "%s", row.SiteID)
	s.printNamed("key", "%s", row.URLMd5)
	s.printNamed("status", "%s", export.StatusName(row.Status))
	for _, hop := range row.Hops() {
		s.printNamed("redirect", "%d to %s", hop.Code, hop.URL)
	}
	s.printNamed("answer", "%d %s %s, %s in %d ms", row.AnsweredCode(), row.ContentType, row.Charset, files.Bytes(row.Size), row.CrawlingTime)
	if text := retryText(row); text != "" {
		s.printNamed("retry", "%s", text)
	}
	if names := row.RobotsNames(); len(names) > 0 {
		s.printNamed("robots", "%s", strings.Join(names, ", "))
	}
	if row.UnavailableAfter != "" {
		s.printNamed("unavailable", "after %s", row.UnavailableAfter)
	}
	if row.Canonical != "" {
		s.printNamed("canonical", "%s", row.Canonical)
	}
	s.printNamed("found", "%s, depth %d", row.CDate, row.Depth)
	s.printNamed("crawled", "%s, %d times", cmp.Or(string(row.UDate), "never"), row.Crawled)
	if row.ContentDate != "" {
		s.printNamed("changed", "%s", row.ContentDate)
	}
	if why := outdatedText(&pages.Page{URL: row}); why != "" {
		s.printNamed("content", "%s", why)
	}
	s.printNamed("processed", "%d times, %d values", row.Processed, row.TagsCount)
	s.printNamed("links", "%d inside, %d outside", row.LinksI, row.LinksE)
	for _, bit := range row.ErrorMask.Bits() {
		s.printNamed("error", "%s: %s", bit.Name, bit.Message)
	}
}

// retryText says why and when a URL is asked again, or that it was given up; "" for other URLs.
func retryText(row wire.URL) string {
	switch {
	case row.RetryCause == "":
		return ""
	case row.RetryCause == wire.CauseTrap:
		return manual.Locate("after the other URLs: it belongs to a trap, many URLs that bring no new pages (docs/traps.md)")
	case row.RetryDate == "":
		return fmt.Sprintf("given up after %s; the last cause: %s", countNoun(row.Retries, "request", "requests"), row.RetryCause)
	case row.Retries == 0:
		return fmt.Sprintf("not before %s: its host has a pause", row.RetryDate)
	}
	return fmt.Sprintf("not before %s: asked in vain %s, the last cause: %s", row.RetryDate, countNoun(row.Retries, "time", "times"), row.RetryCause)
}

func (p program) urlAddCommand() *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "add", Summary: "adds URLs to a site, to be crawled",
		Description: `The filters of the site do not apply to them. A URL that is known already is refused. "-" reads URLs from stdin, one
on a line; those that are known are left out and counted, so that a list can be added again after an interruption.`,
		Examples: `  hce url add example.org https://example.org/hidden.html
  hce url add example.org - < list.txt`,
	}, &o, func(s *session) error { return s.urlAdd(words[0], words[1:]) })
	c.Words(&words, "SITE URL...|-", 2, 0)
	return c
}

func (s *session) urlAdd(typed string, words []string) error {
	if slices.Equal(words, []string{standard}) {
		return s.urlAddList(typed)
	}
	texts, err := parseRoots(words)
	if err != nil {
		return err
	}
	site, err := s.openSite(typed)
	if err != nil {
		return err
	}
	known, err := s.rowsOf([]string{site.ID}, texts)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return command.Refuse("URL %s is known already (%s); let it be fetched again with: %s", known[0].URL, export.StatusName(known[0].Status), s.commandHint("site", "recrawl", site.ID))
	}
	if err := s.addURLs(site, texts); err != nil {
		return err
	}
	s.printMessage("added %s to site %s", countNoun(int64(len(texts)), "URL", "URLs"), site.ID)
	return nil
}

// urlAddList adds the URLs of stdin that are not known, in portions.
func (s *session) urlAddList(typed string) error {
	list, err := readURLs(standard)
	if err != nil {
		return err
	}
	site, err := s.openSite(typed)
	if err != nil {
		return err
	}
	added, known := int64(0), int64(0)
	for part := range slices.Chunk(list, 500) {
		rows, err := s.rowsOf([]string{site.ID}, part)
		if err != nil {
			return err
		}
		keys := map[string]bool{}
		for i := range rows {
			keys[rows[i].URLMd5] = true
		}
		part = slices.DeleteFunc(part, func(url string) bool { return keys[urlkey.Of(url)] })
		known += int64(len(rows))
		if len(part) == 0 {
			continue
		}
		if err := s.addURLs(site, part); err != nil {
			return fmt.Errorf("after %s: %w; the same command continues", countNoun(added, "URL", "URLs"), err)
		}
		added += int64(len(part))
	}
	s.printMessage("added %s to site %s, %d were known", countNoun(added, "URL", "URLs"), site.ID, known)
	return nil
}

// addURLs adds URLs that are not known to a site.
func (s *session) addURLs(site wire.Site, texts []string) error {
	var requests []any
	for _, text := range texts {
		request := map[string]any{"siteId": site.ID, "url": text, "siteSelect": wire.SelectExplicit}
		if len(site.URLs) > 0 { // like a link of the root page; without a parent it would be a root URL
			request["parentMd5"], request["depth"] = site.URLs[0].URLMd5, 1
		}
		requests = append(requests, request)
	}
	var answer statuses
	if err := s.askService(wire.URLNew, requests, &answer); err != nil {
		return err
	}
	for i, status := range answer.Statuses {
		if fmt.Sprint(status) != "0" && i < len(texts) {
			return fmt.Errorf("URL_NEW did not add %s (status %v)", texts[i], status)
		}
	}
	return nil
}

func (p program) urlRmCommand() *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "rm", Summary: "deletes URLs of a site with their pages",
		Description: "A URL that a page of the site links to may be found again.",
		Examples:    "  hce url rm example.org https://example.org/old.html",
	}, &o, func(s *session) error { return s.urlRm(words[0], words[1:]) })
	c.Words(&words, "SITE URL...", 2, 0)
	return c
}

func (s *session) urlRm(typed string, words []string) error {
	for _, word := range words {
		if _, err := target.Parse(word); err != nil {
			return command.Refusal{Err: err}
		}
	}
	if err := s.openService(); err != nil {
		return err
	}
	var requests []any
	for _, word := range words { // all are looked up before the first one is deleted
		row, err := s.storedRow(word, typed)
		if err != nil {
			return err
		}
		requests = append(requests, map[string]any{"siteId": row.SiteID, "url": row.URLMd5, "urlType": wire.ByMd5, "delayedType": wire.Immediate})
	}
	if err := s.askService(wire.URLDelete, requests, nil); err != nil {
		return err
	}
	s.printMessage("deleted %s", countNoun(int64(len(words)), "URL", "URLs"))
	return nil
}
