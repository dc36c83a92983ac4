package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/secret"
)

// Site is a site with its counters.
type Site struct {
	ID          string     `json:"id" doc:"1 to 32 letters, digits, - and _"`
	Roots       []string   `json:"roots" doc:"URLs where the crawl begins"`
	State       string     `json:"state" enum:"active,paused,disabled,deleted,cleaned" doc:"active sites are crawled"`
	Finished    *bool      `json:"finished,omitempty" doc:"no URL waits for its request and no page to be processed; only of one site"`
	Description string     `json:"description"`
	Counts      Counts     `json:"counts"`
	Settings    *Settings  `json:"settings,omitempty" doc:"only of one site"`
	Created     *time.Time `json:"created,omitempty"`
	Changed     *time.Time `json:"changed,omitempty" doc:"last change of the site or of its counters"`
	NextCrawl   *time.Time `json:"nextCrawl,omitempty" doc:"when all pages become due again, of a site with recrawlMinutes"`
}

// Counts are the counters of a site.
type Counts struct {
	URLs       int64 `json:"urls" doc:"known URLs"`
	Waiting    int64 `json:"waiting" doc:"URLs that wait for their request"`
	Crawling   int64 `json:"crawling" doc:"URLs whose request runs or is about to"`
	Unread     int64 `json:"unprocessed" doc:"fetched pages that wait to be processed"`
	Processing int64 `json:"processing" doc:"pages that are being processed"`
	Pages      int64 `json:"pages" doc:"processed pages"`
	Errors     int64 `json:"errors" doc:"URLs with an error"`
	Bytes      int64 `json:"bytes" doc:"size of the stored pages"`
}

// Settings say what is crawled and how. Values that are left out have their defaults.
type Settings struct {
	Depth          *int              `json:"depth,omitempty" minimum:"0" maximum:"1000000" doc:"follow links up to this distance from a root; without it there is no limit"`
	Scope          string            `json:"scope,omitempty" enum:"host,domain,prefix,any" doc:"how far links are followed: the host (default; with and without www), the domain with sub-domains, below the folder of the root, or any host"`
	Include        []string          `json:"include,omitempty" maxItems:"200" doc:"follow only links that match: globs such as /docs/**, or re:REGEXP"`
	Exclude        []string          `json:"exclude,omitempty" maxItems:"200" doc:"do not follow links that match"`
	MaxURLs        *int64            `json:"maxUrls,omitempty" minimum:"1" maximum:"1099511627776" doc:"request at most this number of URLs; without it there is no limit"`
	DelayMs        *int64            `json:"delayMs,omitempty" minimum:"0" maximum:"86400000" doc:"pause between two requests to a host, in ms; robots.txt may ask for more" example:"500"`
	RecrawlMinutes *int64            `json:"recrawlMinutes,omitempty" minimum:"0" maximum:"5256000" doc:"all pages are asked again after this time; 0: never"`
	Browser        *bool             `json:"browser,omitempty" doc:"load pages in a headless Chromium"`
	Properties     map[string]string `json:"properties,omitempty" doc:"further properties (docs/properties.md); values of secret ones are shown as stars"`
}

// NewSite is a site to create.
type NewSite struct {
	ID          string   `json:"id,omitempty" maxLength:"32" doc:"1 to 32 letters, digits, - and _; default: the md5 of the first root"`
	Roots       []string `json:"roots" minItems:"1" maxItems:"1000" doc:"URLs where the crawl begins" example:"[\"https://example.org/\"]"`
	Description string   `json:"description,omitempty" maxLength:"64"`
	Settings    Settings `json:"settings,omitempty"`
}

// StateNames are the names of the states of sites.
var StateNames = map[int64]string{
	wire.SiteActive: "active", wire.SiteDisabled: "disabled", wire.SiteSuspended: "paused", wire.SiteDeleted: "deleted", wire.SiteCleaned: "cleaned",
}

// siteOf returns the object of a stored site.
func siteOf(s wire.Site) Site {
	site := Site{
		ID: s.ID, Roots: sitespec.Roots(s), State: StateNames[s.State], Finished: s.Finished, Description: s.Description,
		Counts: Counts{
			URLs: s.CollectedURLs + int64(len(s.URLs)), Waiting: s.NewURLs, Crawling: s.CrawlingURLs, Unread: s.Resources, Processing: s.ProcessingURLs,
			Pages: s.Contents, Errors: s.Errors, Bytes: s.Size,
		},
		Created: timeOf(s.CDate), Changed: timeOf(s.UDate), NextCrawl: timeOf(s.RecrawlDate),
	}
	if site.Roots == nil {
		site.Roots = []string{}
	}
	return site
}

// settingsOf returns the settings of a stored site. Filters have no way back to scope, depth and patterns.
func settingsOf(s wire.Site) *Settings {
	browser := s.FetchType == sitespec.FetchBrowser
	set := Settings{DelayMs: &s.RequestDelay, RecrawlMinutes: &s.RecrawlPeriod, Browser: &browser, Properties: map[string]string{}}
	if s.MaxURLs > 0 {
		set.MaxURLs = &s.MaxURLs
	}
	for _, p := range s.Properties {
		set.Properties[p.Name] = shownValue(p.Name, p.Value)
	}
	return &set
}

// shownValue is the value of a property as people write it: a text without its quotes, stars for a secret.
func shownValue(name, stored string) string {
	if stored != "" && secret.IsProperty(name) {
		return secret.Hidden
	}
	if text, err := prop.Text(json.RawMessage(stored)); err == nil {
		return text
	}
	return stored
}

// storedSite returns a stored site.
func (a *Actions) storedSite(ctx context.Context, id string, exclude ...string) (wire.Site, error) {
	var site wire.Site
	if !wire.ValidSiteID(id) || id == wire.GeneralSite {
		return site, &NotFound{"site", id}
	}
	err := a.Service.Ask(ctx, wire.SiteStatus, map[string]any{"id": id, "deleteTaskId": nil, "excludeList": append([]string{}, exclude...)}, &site)
	if err != nil && !isPartial(err) {
		return site, err
	}
	if site.State == wire.SiteNotFound {
		return site, &NotFound{"site", id}
	}
	return site, nil
}

// checkSite returns a *NotFound if there is no such site. It asks for nothing that costs a look at rows.
func (a *Actions) checkSite(ctx context.Context, id string) error {
	_, err := a.storedSite(ctx, id, "urls", "filters", "properties", "finished")
	return err
}

// Site returns a site with its settings.
func (a *Actions) Site(ctx context.Context, id string) (Site, error) {
	stored, err := a.storedSite(ctx, id, "filters")
	if err != nil {
		return Site{}, err
	}
	site := siteOf(stored)
	site.Settings = settingsOf(stored)
	return site, nil
}

// Sites returns at most most sites behind an id, ordered by id.
func (a *Actions) Sites(ctx context.Context, after string, most int) ([]Site, error) {
	if after != "" && !wire.ValidSiteID(after) {
		return nil, &Invalid{"cursor", after, "it is not one of an answer"}
	}
	var found []wire.Site
	err := a.Service.Ask(ctx, wire.SiteFind, map[string]any{
		"url": nil, "excludeList": []string{"filters", "properties"},
		"criterions": map[string]any{"WHERE": "`Id`<>'" + wire.GeneralSite + "' AND `Id`>'" + after + "'", "ORDER BY": "`Id` ASC", "LIMIT": most},
	}, &found)
	if err != nil && !isPartial(err) {
		return nil, err
	}
	list := make([]Site, len(found))
	for i := range found {
		list[i] = siteOf(found[i])
	}
	return list, nil
}

// limitsOf returns what the settings say about links.
func (s Settings) limitsOf() (l target.Limits, err error) {
	l = target.Limits{Scope: target.Host, Include: s.Include, Exclude: s.Exclude, Depth: -1}
	if s.Scope != "" {
		if l.Scope, err = target.ParseScope(s.Scope); err != nil {
			return l, &Invalid{"settings.scope", s.Scope, err.Error()}
		}
	}
	if s.Depth != nil {
		l.Depth = *s.Depth
	}
	return l, nil
}

// columnsOf returns the columns that the settings set.
func (s Settings) columnsOf() map[string]any {
	columns := map[string]any{}
	if s.MaxURLs != nil {
		columns["maxURLs"] = *s.MaxURLs
	}
	if s.DelayMs != nil {
		columns["requestDelay"] = *s.DelayMs
	}
	if s.RecrawlMinutes != nil {
		columns["recrawlPeriod"] = *s.RecrawlMinutes
	}
	if s.Browser != nil {
		columns["fetchType"] = 1
		if *s.Browser {
			columns["fetchType"] = sitespec.FetchBrowser
		}
	}
	return columns
}

// checkProperties refuses unknown properties and values that the crawler cannot use.
func (s Settings) checkProperties() error {
	for name, value := range s.Properties {
		problems := append(strict.Property("settings.properties", name), strict.PropertyValue("settings.properties", name, value)...)
		if len(problems) > 0 {
			return &Invalid{Field: "settings.properties." + name, Message: strict.Error(problems).Error()}
		}
	}
	return nil
}

// canonicalURLs returns the canonical form of URLs.
func canonicalURLs(field string, typed []string) (urls []string, err error) {
	for i, one := range typed {
		u, err := target.Parse(one)
		if err == nil && u.Guessed {
			err = errors.New("it has no scheme; begin with https://")
		}
		if err != nil {
			return nil, &Invalid{fmt.Sprintf("%s[%d]", field, i), one, err.Error()}
		}
		urls = append(urls, u.Text)
	}
	return urls, nil
}

// rootsOf returns the canonical form of root URLs, each of which may be there once.
func rootsOf(field string, typed []string) ([]string, error) {
	roots, err := canonicalURLs(field, typed)
	for i, root := range roots {
		if slices.Contains(roots[:i], root) {
			return nil, &Invalid{fmt.Sprintf("%s[%d]", field, i), typed[i], "it is given twice"}
		}
	}
	return roots, err
}

// canonicalURL returns the canonical form of a URL.
func canonicalURL(field, typed string) (string, error) {
	urls, err := canonicalURLs(field, []string{typed})
	if invalid, is := errors.AsType[*Invalid](err); is {
		invalid.Field = field
		return "", invalid
	}
	return urls[0], nil
}

// objectOf returns the object of SITE_NEW.
func (n NewSite) objectOf() (map[string]any, error) {
	roots, err := rootsOf("roots", n.Roots)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, &Invalid{Field: "roots", Message: "give at least one URL"}
	}
	limits, err := n.Settings.limitsOf()
	if err != nil {
		return nil, err
	}
	if err := n.Settings.checkProperties(); err != nil {
		return nil, err
	}
	spec := sitespec.Spec{ID: n.ID, Roots: roots, Limits: limits, Properties: n.Settings.Properties, Fields: n.Settings.columnsOf()}
	if n.Description != "" {
		spec.Fields["description"] = n.Description
	}
	object, err := spec.Object()
	switch {
	case errors.Is(err, sitespec.ErrEndless):
		return nil, &Invalid{"settings.scope", "any", "links to every host have no end; set settings.maxUrls or settings.depth"}
	case errors.Is(err, sitespec.ErrID):
		return nil, &Invalid{"id", n.ID, err.Error()}
	case err != nil:
		return nil, settingsError(err)
	}
	return object, nil
}

// settingsError names the setting that is wrong.
func settingsError(err error) error {
	if pattern, is := errors.AsType[*target.PatternError](err); is {
		return &Invalid{Field: "settings." + pattern.List, Message: pattern.Err.Error()}
	}
	return &Invalid{Field: "settings", Message: err.Error()}
}

// CreateSite creates a site, which an active daemon crawls at once. The error is a *Conflict if its id is taken.
func (a *Actions) CreateSite(ctx context.Context, n NewSite) (Site, error) {
	object, err := n.objectOf()
	if err != nil {
		return Site{}, err
	}
	id := object["id"].(string)
	notFound := (*NotFound)(nil)
	switch err := a.checkSite(ctx, id); {
	case err == nil:
		return Site{}, &Conflict{"site " + id + " exists; change it, or give another id"}
	case !errors.As(err, &notFound):
		return Site{}, err
	}
	if err := a.Service.Ask(ctx, wire.SiteNew, object, nil); err != nil && !isPartial(err) {
		return Site{}, err
	}
	return a.Site(ctx, id)
}

// SiteChange changes a site. What is left out stays.
type SiteChange struct {
	State       string    `json:"state,omitempty" enum:"active,paused,disabled" doc:"a paused site gets no new requests; those that run are finished"`
	Description *string   `json:"description,omitempty" maxLength:"64"`
	Settings    *Settings `json:"settings,omitempty" doc:"depth, scope, include and exclude are replaced together; an empty property is removed"`
}

// ChangeSite changes a site.
func (a *Actions) ChangeSite(ctx context.Context, id string, change SiteChange) (Site, error) {
	stored, err := a.storedSite(ctx, id, "filters")
	if err != nil {
		return Site{}, err
	}
	object := map[string]any{"id": id, "updateType": wire.UpdateOverwrite}
	for state, name := range StateNames {
		if change.State == name {
			object["state"] = state
		}
	}
	if change.Description != nil {
		object["description"] = *change.Description
	}
	if change.Settings != nil {
		if err := change.Settings.addTo(object, stored); err != nil {
			return Site{}, err
		}
	}
	if len(object) == 2 {
		return Site{}, &Invalid{Message: "nothing to change; give state, description or settings"}
	}
	if err := sitespec.Check(wire.SiteUpdate, object); err != nil {
		return Site{}, settingsError(err)
	}
	if err := a.Service.Ask(ctx, wire.SiteUpdate, object, nil); err != nil && !isPartial(err) {
		return Site{}, err
	}
	return a.Site(ctx, id)
}

// addTo puts the settings into the object of SITE_UPDATE.
func (s Settings) addTo(object map[string]any, stored wire.Site) error {
	for name, value := range s.columnsOf() {
		object[name] = value
	}
	if s.Depth != nil || s.Scope != "" || s.Include != nil || s.Exclude != nil {
		limits, err := s.limitsOf()
		if err != nil {
			return err
		}
		if object["filters"], err = target.Filters(sitespec.Roots(stored), limits); err != nil {
			return settingsError(err)
		}
	}
	if len(s.Properties) == 0 {
		return nil
	}
	set := Settings{Properties: map[string]string{}}
	list := []map[string]any{}
	for name, value := range s.Properties {
		if value != "" {
			set.Properties[name] = value
			list = append(list, map[string]any{"name": name, "value": value})
		}
	}
	if err := set.checkProperties(); err != nil {
		return err
	}
	for _, p := range stored.Properties { // SITE_UPDATE replaces the list
		if _, changed := s.Properties[p.Name]; !changed {
			list = append(list, map[string]any{"name": p.Name, "value": p.Value, "urlMd5": p.URLMd5})
		}
	}
	object["properties"] = list
	return nil
}

// DeleteSite deletes a site with all its pages.
func (a *Actions) DeleteSite(ctx context.Context, id string) error {
	if err := a.checkSite(ctx, id); err != nil {
		return err
	}
	err := a.Service.Ask(ctx, wire.SiteDelete, map[string]any{"id": id, "taskType": 1, "delayedType": wire.Immediate}, nil)
	if isPartial(err) {
		return nil
	}
	return err
}
