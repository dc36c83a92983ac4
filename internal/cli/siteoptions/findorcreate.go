package siteoptions

import (
	"hce/dc/canonical"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
)

// FindOrCreate returns the site that typed names, or that of the first page of an import if typed is "". It creates a site
// that is not known, whose root URL is not fetched.
func FindOrCreate(s *subcommand.Session, typed, first string) (site wire.Site, err error) {
	if typed != "" {
		site, err = s.FindSite(typed)
		if err == nil || subcommand.ExitOf(err) != command.ExitRefused || !wire.ValidSiteID(typed) {
			return site, err
		}
	}
	if first == "" {
		return site, command.Refuse("the files have no page of http or https, so they name no site; nothing was changed")
	}
	u, err := canonical.Net(first)
	if err != nil {
		return site, command.Refusal{Err: err}
	}
	root := u.Scheme + "://" + u.Host + "/"
	object, err := Settings{Name: typed}.NewSite([]string{root})
	if err != nil {
		return site, err
	}
	object["moveURLs"] = false // the root URL is not fetched
	id := object["id"].(string)
	site, found, err := s.SiteStatus(id)
	if err != nil || found {
		return site, err
	}
	if err := s.AskService(wire.SiteNew, object, nil); err != nil {
		return site, err
	}
	s.PrintMessage("created site %s (%s)", id, root)
	site, _, err = s.SiteStatus(id)
	return site, err
}
