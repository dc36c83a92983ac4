package hce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

func siteCommand(p subcommand.Program) *command.Command {
	return subcommand.NewGroup("site", "lists, shows and changes sites",
		`SITE is the id of a site or one of its root URLs, with or without scheme.`,
		`  hce site ls
  hce site show example.org
  hce site new https://example.org/ --depth 3 --property ROBOTS_META=0
  hce site edit example.org --delay 2s
  hce site rm example.org --yes`,
		siteLsCommand(p), siteShowCommand(p), siteNewCommand(p), siteEditCommand(p), siteStateCommand(p, "pause", "stops the crawl of a site", wire.SiteSuspended),
		siteStateCommand(p, "resume", "continues the crawl of a site", wire.SiteActive), siteRecrawlCommand(p), siteRmCommand(p))
}

func siteLsCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	return p.NewLeaf(command.Text{
		Name: "ls", Summary: "lists the sites",
		Description: "The columns are the counters of SITE_STATUS: known URLs, URLs that wait, processed pages, errors,\nand the size of the raw pages.",
		Examples:    "  hce site ls\n  hce site ls --json",
	}, &o, func(s *subcommand.Session) error {
		list, err := s.OpenSites()
		if err != nil {
			return err
		}
		if s.JSON {
			if list == nil {
				list = []wire.Site{}
			}
			return s.PrintJSON(list)
		}
		t := plaintext.Table{Head: []string{"SITE", "STATE", " URLS", " WAITING", " PAGES", " ERRORS", " SIZE", "ROOT"}}
		for _, site := range list {
			t.AddRow(site.ID, subcommand.StateName(site.State), fmt.Sprint(site.CollectedURLs+int64(len(site.URLs))), fmt.Sprint(site.NewURLs),
				fmt.Sprint(site.Contents), fmt.Sprint(site.Errors), files.Bytes(site.Size), subcommand.RootOf(site))
		}
		t.Print(s.Out)
		return nil
	})
}

func siteShowCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	c := p.NewLeaf(command.Text{
		Name: "show", Summary: "shows the settings and counters of a site",
		Examples: "  hce site show example.org",
	}, &o, func(s *subcommand.Session) error {
		if err := s.OpenService(); err != nil {
			return err
		}
		site, err := s.WholeSite(words[0])
		if err != nil {
			return err
		}
		for i, p := range site.Properties {
			if p.Value != "" && secret.IsProperty(p.Name) {
				site.Properties[i].Value = secret.Hidden
			}
		}
		if s.JSON {
			return s.PrintJSON(site)
		}
		showSite(s, site)
		return nil
	})
	c.Words(&words, "SITE", 1, 1)
	return c
}

func showSite(s *subcommand.Session, site wire.Site) {
	s.PrintNamed("site", "%s", site.ID)
	s.PrintNamed("description", "%s", site.Description)
	s.PrintNamed("state", "%s", subcommand.StateName(site.State))
	for _, u := range site.URLs {
		s.PrintNamed("root", "%s", u.URL.URL)
	}
	s.PrintNamed("pages", "%d processed, %d waiting to be processed", site.Contents, site.Resources)
	s.PrintNamed("URLs", "%d collected, %d waiting", site.CollectedURLs, site.NewURLs)
	s.PrintNamed("errors", "%d %s", site.Errors, strings.Join(site.ErrorMask.Names(), " "))
	s.PrintNamed("size", "%s", files.Bytes(site.Size))
	s.PrintNamed("delay", "%d ms", site.RequestDelay)
	s.PrintNamed("limits", "%d URLs, %d pages, %d errors, %d bytes (0: no limit)", site.MaxURLs, site.MaxResources, site.MaxErrors, site.MaxResourceSize)
	s.PrintNamed("recrawl", "every %d minutes, next %s", site.RecrawlPeriod, cmp.Or(string(site.RecrawlDate), "never"))
	s.PrintNamed("browser", "%t", site.FetchType == sitespec.FetchBrowser)
	for _, f := range site.Filters {
		verb := "include"
		if f.Action < 0 || f.Action == 0 && f.Type == 0 {
			verb = "exclude"
		}
		if f.OpCode != 0 {
			verb, f.Pattern = "condition", fmt.Sprintf("%s (operation %d) %s", f.Subject, f.OpCode, f.Pattern)
		}
		s.PrintNamed("filter", "%s %s", verb, f.Pattern)
	}
	for _, p := range site.Properties {
		s.PrintNamed("property", "%s=%s", p.Name, p.Value)
	}
}

func siteNewCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var set siteoptions.Settings
	var words []string
	var file string
	c := p.NewLeaf(command.Text{
		Name: "new", Summary: "creates a site, which a running daemon crawls at once",
		Description: `Creates a site from its root URLs, or from a file with the object of SITE_NEW
(docs/properties.md). Unknown keys, unknown properties, filters that do not compile and
sites that exist are refused. "hce crawl URL" creates the site itself.`,
		Examples: "  hce site new https://example.org/ --depth 3\n  hce site new --file my-site.json",
	}, &o, func(s *subcommand.Session) error { return newSite(s, set, file, words) })
	c.Words(&words, "[URL...]", 0, 0)
	set.DeclareOptions(c)
	c.Text(&set.Name, "name", "", "ID", "id of the site; default: the md5 of the first URL")
	c.Text(&file, "file", "f", "FILE", "JSON file with the object of SITE_NEW, instead of URLs and options")
	return c
}

func newSite(s *subcommand.Session, set siteoptions.Settings, file string, words []string) error {
	object, err := siteObject(s, set, file, words)
	if err != nil {
		return err
	}
	if err := s.ConnectOrCreate(); err != nil {
		return err
	}
	var answer subcommand.Statuses
	err = s.AskService(wire.SiteNew, object, &answer)
	if err != nil && !subcommand.IsDeferred(err) {
		return existsHint(s.Options, err)
	}
	if len(answer.Statuses) == 0 {
		return errors.New("SITE_NEW: the answer names no site")
	}
	if s.JSON {
		return errors.Join(err, s.PrintJSON(map[string]any{"id": answer.Statuses[0]}))
	}
	fmt.Fprintln(s.Out, answer.Statuses[0])
	if s.Node != nil {
		s.PrintMessage("no daemon runs in %s; crawl the site with: %s", s.Node.Dir, s.CommandHint("crawl", fmt.Sprint(answer.Statuses[0])))
	}
	return nil
}

// siteObject returns the checked object of SITE_NEW from a file or from the arguments.
func siteObject(s *subcommand.Session, set siteoptions.Settings, file string, words []string) (any, error) {
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
	roots, err := target.ParseRoots(words)
	if err != nil {
		return nil, err
	}
	return set.NewSite(roots)
}

// existsHint adds a remedy to the refusal of a site that exists.
func existsHint(o subcommand.Options, err error) error {
	if subcommand.ExitOf(err) == command.ExitRefused && strings.Contains(err.Error(), "Duplicate site") {
		return command.Refuse("the site exists already; change it with: %s; or choose another id with --name", o.CommandHint("site", "edit", "SITE"))
	}
	return err
}

func siteEditCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var set siteoptions.Settings
	var words, unset []string
	c := p.NewLeaf(command.Text{
		Name: "edit", Summary: "changes settings of a site",
		Description: `Only what is given changes. --scope, --depth, --include and --exclude together replace all
filters of the site.`,
		Examples: "  hce site edit example.org --delay 2s --property ROBOTS_META=0\n  hce site edit example.org --unset ROBOTS_META",
	}, &o, func(s *subcommand.Session) error { return editSite(s, set, unset, words[0]) })
	c.Words(&words, "SITE", 1, 1)
	set.DeclareOptions(c)
	c.List(&unset, "unset", "", "NAME", "remove this property; may be repeated")
	return c
}

func editSite(s *subcommand.Session, set siteoptions.Settings, unset []string, typed string) error {
	properties, err := set.PropertyMap()
	if err != nil {
		return command.Refusal{Err: err}
	}
	limits, err := set.ReadLimits()
	if err != nil {
		return command.Refusal{Err: err}
	}
	site, err := s.OpenSite(typed)
	if err != nil {
		return err
	}
	object := map[string]any{"id": site.ID, "updateType": wire.UpdateOverwrite}
	if err := set.ApplyTo(object); err != nil {
		return command.Refusal{Err: err}
	}
	if set.ChangesFilters() {
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
	return updateSite(s, object)
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
func updateSite(s *subcommand.Session, object map[string]any) error {
	var answer subcommand.Statuses
	err := s.AskService(wire.SiteUpdate, object, &answer)
	if err != nil && !subcommand.IsDeferred(err) {
		return err
	}
	if len(answer.Statuses) == 0 || !answer.IsDone() {
		return errors.Join(err, command.Refuse("SITE_UPDATE: site %v is not known", object["id"]))
	}
	return err
}

func siteStateCommand(p subcommand.Program, name, summary string, state int64) *command.Command {
	var o subcommand.Options
	var words []string
	c := p.NewLeaf(command.Text{
		Name: name, Summary: summary,
		Description: "Pages that are being fetched are finished.",
		Examples:    "  hce site " + name + " example.org",
	}, &o, func(s *subcommand.Session) error {
		site, err := s.OpenSite(words[0])
		if err != nil {
			return err
		}
		return updateSite(s, map[string]any{"id": site.ID, "state": state})
	})
	c.Words(&words, "SITE", 1, 1)
	return c
}

func siteRecrawlCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var failed, full bool
	c := p.NewLeaf(command.Text{
		Name: "recrawl", Summary: "lets all pages of a site be fetched again",
		Description: `Each URL that was fetched becomes due (Status 1), and its server is asked whether it has changed
(If-None-Match, If-Modified-Since). Pages that did not change are neither stored nor processed
again, unless the site has other settings than when they were read. Contents stay until a new
version is stored. Entries of feeds are asked for with their feed. In a folder of hce, "hce crawl
SITE" does the work.`,
		Examples: "  hce site recrawl example.org\n  hce site recrawl example.org --failed",
	}, &o, func(s *subcommand.Session) error { return recrawlSite(s, words[0], failed, full) })
	c.Words(&words, "SITE", 1, 1)
	c.Flag(&failed, "failed", "", "only URLs with an error")
	c.Flag(&full, "full", "", "read and process unchanged pages again, too")
	return c
}

func recrawlSite(s *subcommand.Session, typed string, failed, full bool) error {
	site, err := s.OpenSite(typed)
	if err != nil {
		return err
	}
	a := actions.Actions{Service: s.Service}
	n, err := a.Recrawl(s.Ctx, site.ID, failed, full)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(map[string]any{"id": site.ID, "urls": n})
	}
	s.PrintMessage("%s will be fetched again", plaintext.Count(n, "URL", "URLs"))
	if s.Node != nil && n > 0 {
		s.PrintMessage("no daemon runs in %s; fetch them with: %s", s.Node.Dir, s.CommandHint("crawl", site.ID))
	}
	return nil
}

// renewURLs makes the URLs of a site that match a condition due again, and returns their number.
func renewURLs(s *subcommand.Session, site, where string, full bool) (int64, error) {
	a := actions.Actions{Service: s.Service}
	return a.Renew(s.Ctx, site, where, full)
}
