package subcommand

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// sitesAtOnce is the number of sites of one SITE_FIND.
const sitesAtOnce = 500

// SiteStatus returns a site with its counters. found is false if the id is not known.
func (s *Session) SiteStatus(id string, exclude ...string) (site wire.Site, found bool, err error) {
	if !wire.ValidSiteID(id) {
		return site, false, nil
	}
	err = s.AskService(wire.SiteStatus, map[string]any{"id": id, "deleteTaskId": nil, "excludeList": append([]string{}, exclude...)}, &site)
	return site, err == nil && site.State != wire.SiteNotFound, err
}

// OpenSites connects and returns all sites with their counters and root URLs.
func (s *Session) OpenSites() ([]wire.Site, error) {
	if err := s.OpenService(); err != nil {
		return nil, err
	}
	return s.ListSites("filters", "properties")
}

// Sites returns all sites of a service by id, with their counters and without the general one.
func Sites(ctx context.Context, service service.Service) ([]wire.Site, error) {
	s := &Session{Ctx: ctx, Service: service, Out: io.Discard, Talk: io.Discard}
	return s.ListSites("urls", "filters", "properties")
}

// ListSites returns all sites by id, without the general one.
func (s *Session) ListSites(exclude ...string) (list []wire.Site, err error) {
	after := ""
	for {
		var part []wire.Site
		err := s.AskService(wire.SiteFind, map[string]any{
			"url": nil, "excludeList": append([]string{}, exclude...),
			"criterions": map[string]any{"WHERE": "`Id`<>'" + wire.GeneralSite + "' AND `Id`>'" + after + "'", "ORDER BY": "`Id` ASC", "LIMIT": sitesAtOnce},
		}, &part)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
		if len(part) < sitesAtOnce {
			return list, nil
		}
		after = part[len(part)-1].ID
	}
}

// FindSite finds a site by its id or by a root URL, with or without scheme. Its counters may lack those of
// nodes of a cluster that are away: see WholeSite.
func (s *Session) FindSite(typed string) (site wire.Site, err error) {
	err = s.RunLookup(func(one *Session) error {
		site, err = one.WholeSite(typed)
		return err
	})
	return site, err
}

// WholeSite is FindSite with the counters of all nodes.
func (s *Session) WholeSite(typed string) (wire.Site, error) {
	if site, found, err := s.SiteStatus(typed); found || err != nil {
		return site, err
	}
	wanted := target.Meant(typed)
	for _, root := range wanted {
		if site, found, err := s.SiteStatus(wire.Md5(root)); found || err != nil {
			return site, err
		}
	}
	all, err := s.ListSites("filters", "properties")
	if err != nil {
		return wire.Site{}, err
	}
	var known []string
	for _, site := range all {
		for _, u := range site.URLs {
			if slices.Contains(wanted, u.URL.URL) {
				found, _, err := s.SiteStatus(site.ID)
				return found, err
			}
			known = append(known, u.URL.URL)
		}
		known = append(known, site.ID)
	}
	return wire.Site{}, command.Refuse("site %q is not known in %s%s; list the sites with: %s", typed, s.Service, config.Suggestion(nearestAddress(typed, known)), s.CommandHint("site", "ls"))
}

// nearestAddress compares without the scheme, which people often leave out.
func nearestAddress(typed string, known []string) string {
	short := map[string]string{}
	var names []string
	for _, name := range known {
		_, rest, found := strings.Cut(name, "://")
		if !found {
			rest = name
		}
		rest = strings.TrimSuffix(rest, "/")
		short[rest] = name
		names = append(names, rest)
	}
	_, rest, found := strings.Cut(typed, "://")
	if !found {
		rest = typed
	}
	return short[config.Nearest(strings.TrimSuffix(rest, "/"), names)]
}

// StoredRow finds a stored URL. site may be "": then all sites are searched.
func (s *Session) StoredRow(typed, site string) (row wire.URL, err error) {
	err = s.RunLookup(func(one *Session) error {
		row, err = one.findRow(typed, site)
		return err
	})
	return row, err
}

func (s *Session) findRow(typed, site string) (wire.URL, error) {
	texts := target.Meant(typed)
	if len(texts) == 0 {
		_, err := target.Parse(typed)
		return wire.URL{}, command.Refusal{Err: err}
	}
	if !slices.Contains(texts, typed) { // stored as it was given
		texts = append([]string{typed}, texts...)
	}
	var ids []string
	if site != "" {
		found, err := s.FindSite(site)
		if err != nil {
			return wire.URL{}, err
		}
		ids = []string{found.ID}
	} else {
		all, err := s.ListSites("urls", "filters", "properties")
		if err != nil {
			return wire.URL{}, err
		}
		for _, found := range all {
			ids = append(ids, found.ID)
		}
	}
	rows, err := s.RowsOf(ids, texts)
	switch {
	case err != nil:
		return wire.URL{}, err
	case len(rows) == 0:
		last := texts[len(texts)-1]
		return wire.URL{}, command.Refuse("URL %q is not known in %s%s; see what a crawl decides about it with: %s", typed, s.Service, config.Suggestion(s.nearURL(ids, last)), s.CommandHint("explain", last))
	case len(rows) > 1 && rows[0].SiteID != rows[1].SiteID:
		return wire.URL{}, command.Refuse("URL %q is in the sites %s and %s; choose one with --site", typed, rows[0].SiteID, rows[1].SiteID)
	}
	return rows[0], nil
}

const (
	nearSites = 20  // in which a similar URL is searched
	nearRows  = 200 // that are compared
	nearEnd   = 6   // letters at the end of a URL that may be wrong
)

// nearURL returns a stored URL that begins like text, "" if there is no similar one.
func (s *Session) nearURL(ids []string, text string) string {
	start := text[:max(0, len(text)-nearEnd)]
	if strings.ContainsAny(start, `'\`) || strings.Count(start, "/") < 3 {
		start = text[:strings.LastIndexByte(text, '/')+1]
	}
	if strings.ContainsAny(start, `'\`) {
		return ""
	}
	like := strings.NewReplacer("%", `\%`, "_", `\_`).Replace(start) + "%"
	var known []string
	for _, id := range ids[:min(len(ids), nearSites)] {
		rows, err := pages.Rows(s.Ctx, s.Service, id, "`URL` LIKE '"+like+"'", "", nearRows)
		if err != nil {
			return "" // only a hint
		}
		for _, row := range rows {
			known = append(known, row.URL)
		}
	}
	return config.Nearest(text, known)
}

// RowsOf asks for each of the URLs in each of the sites.
func (s *Session) RowsOf(ids, texts []string) (rows []wire.URL, err error) {
	for part := range slices.Chunk(ids, 200) {
		var requests []any
		for _, id := range part {
			for _, text := range texts {
				requests = append(requests, map[string]any{"siteId": id, "url": text, "urlType": wire.ByURL})
			}
		}
		var found []wire.URL
		if err := s.AskService(wire.URLStatus, requests, &found); err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// StateName returns the name of a site's state.
func StateName(state int64) string {
	if state == wire.SiteNotFound {
		return "unknown"
	}
	if name, ok := actions.StateNames[state]; ok {
		return name
	}
	return fmt.Sprint(state)
}

// RootOf returns the first root URL of a site, or its id.
func RootOf(site wire.Site) string {
	if len(site.URLs) > 0 {
		return site.URLs[0].URL.URL
	}
	return site.ID
}
