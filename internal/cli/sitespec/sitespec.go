// Package sitespec makes the object of SITE_NEW from the settings that people give, with the defaults of hce, and compares
// it with a stored site.
//
//	object, err := sitespec.Spec{Roots: roots, Limits: limits}.Object()
//	if list := sitespec.Differences(stored, object, nil); len(list) > 0 { … }
package sitespec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"hce/dc/internal/cli/strict"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

// Spec describes a new site. The zero values of optional fields are the defaults.
type Spec struct {
	ID         string   // 1 to 32 letters, digits, - and _; "": the md5 of the first root URL
	Roots      []string // canonical URLs, at least one
	Limits     target.Limits
	Properties map[string]string
	Fields     map[string]any // further columns of the site, such as requestDelay
}

// Errors of Object that its callers explain in their own terms.
var (
	ErrID      = errors.New("the id of a site has 1 to 32 letters, digits, - and _")
	ErrEndless = errors.New("a site of every host has no end without a limit of pages or of depth")
)

// Properties of the settings that hce and Go programs have options for.
const (
	HeadersProperty = "HTTP_HEADERS"
	ProxyProperty   = "HTTP_PROXY_HOST"
)

// FetchBrowser is fetchType of a site whose pages are loaded in a browser (docs/spec/objects.md 5.2).
const FetchBrowser = 2

// ProxyAddress returns the address of a proxy as the property has it: with a port.
func ProxyAddress(address string) (string, error) {
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.Port() == "" {
		address = strings.TrimSuffix(address, "/") + map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	}
	_, err := proxypool.ParseAddress(address)
	return address, err
}

// DefaultDelay of a new site in ms, between two requests to a host.
const DefaultDelay = 500

// maxDescription is the most characters of a description.
const maxDescription = 64

// Object returns the object of SITE_NEW, checked. The error is ErrID, ErrEndless, or says which setting is not valid.
func (s Spec) Object() (map[string]any, error) {
	filters, err := target.Filters(s.Roots, s.Limits)
	if err != nil {
		return nil, err
	}
	if s.Limits.Scope == target.Any && s.Limits.Depth < 0 && s.Fields["maxURLs"] == nil {
		return nil, ErrEndless
	}
	id := cmp.Or(s.ID, wire.Md5(s.Roots[0]))
	if !wire.ValidSiteID(id) || id == wire.GeneralSite {
		return nil, ErrID
	}
	if filters == nil {
		filters = []target.Filter{}
	}
	properties := map[string]string{"STORE_HTTP_HEADERS": "1", "STORE_HTTP_REQUEST": "1"}
	maps.Copy(properties, s.Properties)
	description := []rune("hce: " + target.Hostname(s.Roots[0]))
	object := map[string]any{
		"id": id, "urls": s.Roots, "filters": filters, "properties": properties, "requestDelay": DefaultDelay, "processingDelay": 0,
		"description": string(description[:min(len(description), maxDescription)]),
	}
	maps.Copy(object, s.Fields)
	return object, Check(wire.SiteNew, object)
}

// Check returns a strict.Error for an object with problems.
func Check(op wire.Op, object any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if problems := strict.Check(op, raw); len(problems) > 0 {
		return strict.Error(problems)
	}
	return nil
}

// comparableFields are the fields that keep their value: the service changes the others, such as counters and dates.
var comparableFields = map[string]func(wire.Site) any{
	"description": func(s wire.Site) any { return s.Description }, "priority": func(s wire.Site) any { return s.Priority },
	"maxURLsFromPage": func(s wire.Site) any { return s.MaxURLsFromPage }, "maxResources": func(s wire.Site) any { return s.MaxResources },
	"maxErrors": func(s wire.Site) any { return s.MaxErrors }, "maxResourceSize": func(s wire.Site) any { return s.MaxResourceSize },
	"processingDelay": func(s wire.Site) any { return s.ProcessingDelay }, "httpTimeout": func(s wire.Site) any { return s.HTTPTimeout },
	"urlType": func(s wire.Site) any { return s.URLType }, "userId": func(s wire.Site) any { return s.UserID },
	"recrawlPeriod": func(s wire.Site) any { return s.RecrawlPeriod }, "categoryId": func(s wire.Site) any { return s.CategoryID },
}

// Differences lists in which settings a stored site differs from an object of Spec.Object. fields are the names of further
// columns to compare.
func Differences(site wire.Site, object map[string]any, fields []string) (list []string) {
	raw, err := json.Marshal(object)
	if err != nil {
		return []string{err.Error()}
	}
	wanted := wire.Site{RequestDelay: site.RequestDelay, MaxURLs: 0, FetchType: 1}
	if err := json.Unmarshal(raw, &wanted); err != nil {
		return []string{err.Error()}
	}
	differ := func(name string, stored, asked any) {
		if fmt.Sprint(stored) != fmt.Sprint(asked) {
			list = append(list, fmt.Sprintf("%s is %v, not %v", name, stored, asked))
		}
	}
	differ("URLs", Roots(site), Roots(wanted))
	differ("filters", filterTexts(site), filterTexts(wanted))
	differ("delay in ms", site.RequestDelay, wanted.RequestDelay)
	differ("max-pages", site.MaxURLs, wanted.MaxURLs)
	differ("fetchType", site.FetchType, wanted.FetchType)
	for _, name := range fields {
		if value := comparableFields[name]; value != nil {
			differ(name, value(site), value(wanted))
		}
	}
	for _, p := range wanted.Properties {
		if value, _ := site.Property(p.Name); value != p.Value {
			list = append(list, fmt.Sprintf("property %s is %s, not %s", p.Name, secret.ShowProperty(p.Name, value), secret.ShowProperty(p.Name, p.Value)))
		}
	}
	return list
}

// Roots returns the sorted root URLs of a site.
func Roots(site wire.Site) (list []string) {
	for _, u := range site.URLs {
		list = append(list, u.URL.URL)
	}
	slices.Sort(list)
	return list
}

func filterTexts(site wire.Site) (list []string) {
	for _, f := range site.Filters {
		list = append(list, fmt.Sprintf("%s (type %d, group %d)%s", f.Pattern, f.Type, f.GroupID, f.Subject))
	}
	slices.Sort(list)
	return list
}
