package hce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/files"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

func (p program) siteCommand() *command.Command {
	return newGroupCommand("site", "lists, shows and changes sites",
		`SITE is the id of a site or one of its root URLs, with or without scheme.`,
		`  hce site ls
  hce site show example.org
  hce site new https://example.org/ --depth 3 --property ROBOTS_META=0
  hce site edit example.org --delay 2s
  hce site rm example.org --yes`,
		p.siteLsCommand(), p.siteShowCommand(), p.siteNewCommand(), p.siteEditCommand(), p.siteStateCommand("pause", "stops the crawl of a site", wire.SiteSuspended),
		p.siteStateCommand("resume", "continues the crawl of a site", wire.SiteActive), p.siteRecrawlCommand(), p.siteRmCommand())
}

func (p program) siteLsCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "ls", Summary: "lists the sites",
		Description: "The columns are the counters of SITE_STATUS: known URLs, URLs that wait, processed pages, errors,\nand the size of the raw pages.",
		Examples:    "  hce site ls\n  hce site ls --json",
	}, &o, func(s *session) error {
		list, err := s.openSites()
		if err != nil {
			return err
		}
		if s.json {
			if list == nil {
				list = []wire.Site{}
			}
			return s.printJSON(list)
		}
		t := table{head: []string{"SITE", "STATE", " URLS", " WAITING", " PAGES", " ERRORS", " SIZE", "ROOT"}}
		for _, site := range list {
			t.addRow(site.ID, stateName(site.State), fmt.Sprint(site.CollectedURLs+int64(len(site.URLs))), fmt.Sprint(site.NewURLs),
				fmt.Sprint(site.Contents), fmt.Sprint(site.Errors), files.Bytes(site.Size), rootOf(site))
		}
		t.printTable(s.out)
		return nil
	})
}

func (p program) siteShowCommand() *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "show", Summary: "shows the settings and counters of a site",
		Examples: "  hce site show example.org",
	}, &o, func(s *session) error {
		if err := s.openService(); err != nil {
			return err
		}
		site, err := s.wholeSite(words[0])
		if err != nil {
			return err
		}
		for i, p := range site.Properties {
			if p.Value != "" && secret.IsProperty(p.Name) {
				site.Properties[i].Value = secret.Hidden
			}
		}
		if s.json {
			return s.printJSON(site)
		}
		s.showSite(site)
		return nil
	})
	c.Words(&words, "SITE", 1, 1)
	return c
}

func (s *session) showSite(site wire.Site) {
	s.printNamed("site", "%s", site.ID)
	s.printNamed("description", "%s", site.Description)
	s.printNamed("state", "%s", stateName(site.State))
	for _, u := range site.URLs {
		s.printNamed("root", "%s", u.URL.URL)
	}
	s.printNamed("pages", "%d processed, %d waiting to be processed", site.Contents, site.Resources)
	s.printNamed("URLs", "%d collected, %d waiting", site.CollectedURLs, site.NewURLs)
	s.printNamed("errors", "%d %s", site.Errors, strings.Join(site.ErrorMask.Names(), " "))
	s.printNamed("size", "%s", files.Bytes(site.Size))
	s.printNamed("delay", "%d ms", site.RequestDelay)
	s.printNamed("limits", "%d URLs, %d pages, %d errors, %d bytes (0: no limit)", site.MaxURLs, site.MaxResources, site.MaxErrors, site.MaxResourceSize)
	s.printNamed("recrawl", "every %d minutes, next %s", site.RecrawlPeriod, cmp.Or(string(site.RecrawlDate), "never"))
	s.printNamed("browser", "%t", site.FetchType == sitespec.FetchBrowser)
	for _, f := range site.Filters {
		verb := "include"
		if f.Action < 0 || f.Action == 0 && f.Type == 0 {
			verb = "exclude"
		}
		if f.OpCode != 0 {
			verb, f.Pattern = "condition", fmt.Sprintf("%s (operation %d) %s", f.Subject, f.OpCode, f.Pattern)
		}
		s.printNamed("filter", "%s %s", verb, f.Pattern)
	}
	for _, p := range site.Properties {
		s.printNamed("property", "%s=%s", p.Name, p.Value)
	}
}

func (p program) siteNewCommand() *command.Command {
	var o options
	var set settings
	var words []string
	var file string
	c := p.newLeafCommand(command.Text{
		Name: "new", Summary: "creates a site, which a running daemon crawls at once",
		Description: `Creates a site from its root URLs, or from a file with the object of SITE_NEW
(docs/properties.md). Unknown keys, unknown properties, filters that do not compile and
sites that exist are refused. "hce crawl URL" creates the site itself.`,
		Examples: "  hce site new https://example.org/ --depth 3\n  hce site new --file my-site.json",
	}, &o, func(s *session) error { return s.newSite(set, file, words) })
	c.Words(&words, "[URL...]", 0, 0)
	set.declareOptions(c)
	c.Text(&set.name, "name", "", "ID", "id of the site; default: the md5 of the first URL")
	c.Text(&file, "file", "f", "FILE", "JSON file with the object of SITE_NEW, instead of URLs and options")
	return c
}

func (s *session) newSite(set settings, file string, words []string) error {
	object, err := s.siteObject(set, file, words)
	if err != nil {
		return err
	}
	if err := s.connectOrCreate(); err != nil {
		return err
	}
	var answer statuses
	err = s.askService(wire.SiteNew, object, &answer)
	if err != nil && !isDeferred(err) {
		return s.existsHint(err)
	}
	if len(answer.Statuses) == 0 {
		return errors.New("SITE_NEW: the answer names no site")
	}
	if s.json {
		return errors.Join(err, s.printJSON(map[string]any{"id": answer.Statuses[0]}))
	}
	fmt.Fprintln(s.out, answer.Statuses[0])
	if s.node != nil {
		s.printMessage("no daemon runs in %s; crawl the site with: %s", s.node.Dir, s.commandHint("crawl", fmt.Sprint(answer.Statuses[0])))
	}
	return nil
}

// siteObject returns the checked object of SITE_NEW from a file or from the arguments.
func (s *session) siteObject(set settings, file string, words []string) (any, error) {
	if file == "" && len(words) == 0 {
		return nil, command.Refuse("give a URL, or a file with --file")
	}
	if file != "" {
		if len(words) > 0 {
			return nil, command.Refuse("--file does not go with URL %q", words[0])
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, command.Refusal{Err: err}
		}
		var object any
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, command.Refuse("%s is not JSON: %w", file, err)
		}
		return json.RawMessage(text), sitespec.Check(wire.SiteNew, json.RawMessage(text))
	}
	roots, err := parseRoots(words)
	if err != nil {
		return nil, err
	}
	return set.newSite(roots)
}

// parseRoots reads root URLs, which need a scheme.
func parseRoots(words []string) (roots []string, err error) {
	for _, word := range words {
		url, err := listedURL(word)
		switch {
		case err != nil:
			return nil, command.Refusal{Err: err}
		case slices.Contains(roots, url):
			return nil, command.Refuse("URL %s is given twice", url)
		}
		roots = append(roots, url)
	}
	return roots, nil
}

// existsHint adds a remedy to the refusal of a site that exists.
func (o options) existsHint(err error) error {
	if exitOf(err) == command.ExitRefused && strings.Contains(err.Error(), "Duplicate site") {
		return command.Refuse("the site exists already; change it with: %s; or choose another id with --name", o.commandHint("site", "edit", "SITE"))
	}
	return err
}

func (p program) siteEditCommand() *command.Command {
	var o options
	var set settings
	var words, unset []string
	c := p.newLeafCommand(command.Text{
		Name: "edit", Summary: "changes settings of a site",
		Description: `Only what is given changes. --scope, --depth, --include and --exclude together replace all
filters of the site.`,
		Examples: "  hce site edit example.org --delay 2s --property ROBOTS_META=0\n  hce site edit example.org --unset ROBOTS_META",
	}, &o, func(s *session) error { return s.editSite(set, unset, words[0]) })
	c.Words(&words, "SITE", 1, 1)
	set.declareOptions(c)
	c.List(&unset, "unset", "", "NAME", "remove this property; may be repeated")
	return c
}

func (s *session) editSite(set settings, unset []string, typed string) error {
	properties, err := set.propertyMap()
	if err != nil {
		return command.Refusal{Err: err}
	}
	limits, err := set.readLimits()
	if err != nil {
		return command.Refusal{Err: err}
	}
	site, err := s.openSite(typed)
	if err != nil {
		return err
	}
	object := map[string]any{"id": site.ID, "updateType": wire.UpdateOverwrite}
	if err := set.applyTo(object); err != nil {
		return command.Refusal{Err: err}
	}
	if set.changesFilters() {
		if object["filters"], err = target.Filters(sitespec.Roots(site), limits); err != nil {
			return command.Refusal{Err: err}
		}
	}
	if len(properties)+len(unset) > 0 {
		if object["properties"], err = mergeProperties(site, properties, unset); err != nil {
			return err
		}
	}
	if len(object) == 2 {
		return command.Refuse("nothing to change; give an option, see --help")
	}
	if err := sitespec.Check(wire.SiteUpdate, object); err != nil {
		return err
	}
	return s.updateSite(object)
}

// mergeProperties returns all properties of the site with the changes: SITE_UPDATE replaces the list.
func mergeProperties(site wire.Site, changes map[string]string, unset []string) ([]map[string]any, error) {
	list := []map[string]any{}
	for _, p := range site.Properties {
		if _, changed := changes[p.Name]; !changed && !slices.Contains(unset, p.Name) {
			list = append(list, map[string]any{"name": p.Name, "value": p.Value, "urlMd5": p.URLMd5})
		}
	}
	for _, name := range unset {
		if _, has := site.Property(name); !has {
			return nil, command.Refuse("--unset %s: the site has no such property", name)
		}
	}
	for name, value := range changes {
		list = append(list, map[string]any{"name": name, "value": value})
	}
	return list, nil
}

// updateSite sends SITE_UPDATE of one site.
func (s *session) updateSite(object map[string]any) error {
	var answer statuses
	err := s.askService(wire.SiteUpdate, object, &answer)
	if err != nil && !isDeferred(err) {
		return err
	}
	if len(answer.Statuses) == 0 || !answer.isDone() {
		return errors.Join(err, command.Refuse("SITE_UPDATE: site %v is not known", object["id"]))
	}
	return err
}

// statuses are those of a GeneralResponse, of each node if their answers are joined.
type statuses struct {
	Statuses []any `json:"statuses"`
}

// isDone reports whether all are 0.
func (s statuses) isDone() bool {
	return !slices.ContainsFunc(s.Statuses, func(status any) bool { return fmt.Sprint(status) != "0" })
}

func (p program) siteStateCommand(name, summary string, state int64) *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: name, Summary: summary,
		Description: "Pages that are being fetched are finished.",
		Examples:    "  hce site " + name + " example.org",
	}, &o, func(s *session) error {
		site, err := s.openSite(words[0])
		if err != nil {
			return err
		}
		return s.updateSite(map[string]any{"id": site.ID, "state": state})
	})
	c.Words(&words, "SITE", 1, 1)
	return c
}

func (p program) siteRecrawlCommand() *command.Command {
	var o options
	var words []string
	var failed, full bool
	c := p.newLeafCommand(command.Text{
		Name: "recrawl", Summary: "lets all pages of a site be fetched again",
		Description: `Each URL that was fetched becomes due (Status 1), and its server is asked whether it has changed
(If-None-Match, If-Modified-Since). Pages that did not change are neither stored nor processed
again, unless the site has other settings than when they were read. Contents stay until a new
version is stored. Entries of feeds are asked for with their feed. In a folder of hce, "hce crawl
SITE" does the work.`,
		Examples: "  hce site recrawl example.org\n  hce site recrawl example.org --failed",
	}, &o, func(s *session) error { return s.recrawlSite(words[0], failed, full) })
	c.Words(&words, "SITE", 1, 1)
	c.Flag(&failed, "failed", "", "only URLs with an error")
	c.Flag(&full, "full", "", "read and process unchanged pages again, too")
	return c
}

// updatesAtOnce is the number of rows of one URL_UPDATE.
const updatesAtOnce = 200

func (s *session) recrawlSite(typed string, failed, full bool) error {
	site, err := s.openSite(typed)
	if err != nil {
		return err
	}
	where := "`Status` IN (4,7)"
	if failed {
		where += " AND `ErrorMask`<>0 AND `Crawled`>0"
	}
	n, err := s.renewURLs(site.ID, where, full)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(map[string]any{"id": site.ID, "urls": n})
	}
	s.printMessage("%s will be fetched again", countNoun(n, "URL", "URLs"))
	if s.node != nil && n > 0 {
		s.printMessage("no daemon runs in %s; fetch them with: %s", s.node.Dir, s.commandHint("crawl", site.ID))
	}
	return nil
}

// renewURLs makes the URLs of a site that match a condition due again, and returns their number. Entries of
// feeds are no pages of a server; their feed brings them. A row keeps the errors of its content, which an
// unchanged page still has; with other errors, or if full is set, its page is read again even if unchanged.
func (s *session) renewURLs(site, where string, full bool) (n int64, err error) {
	where += fmt.Sprintf(" AND `Type`<>%d", wire.TypeFetched)
	for after := ""; ; {
		rows, err := pages.Rows(s.ctx, s.service, site, where+" AND `URLMd5`>'"+after+"'", "`URLMd5` ASC", updatesAtOnce)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		var requests []any
		for _, row := range rows {
			request := map[string]any{"siteId": site, "urlMd5": row.URLMd5, "status": wire.StatusNew, "state": wire.URLEnabled}
			if failed := row.ErrorMask&^revalidate.ContentErrors != 0; failed || full {
				request["errorMask"], request["settingsSum"] = 0, 0
			}
			requests = append(requests, request)
		}
		if err := s.askService(wire.URLUpdate, requests, nil); err != nil {
			return n, err
		}
		n, after = n+int64(len(rows)), rows[len(rows)-1].URLMd5
	}
}
