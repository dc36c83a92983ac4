package dc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/target"
)

// Scope says how far a crawl follows links.
type Scope string

// Scopes.
const (
	Host   Scope = "host"   // the hosts of the root URLs, with and without www.
	Domain Scope = "domain" // their registered domains, with all sub-domains
	Prefix Scope = "prefix" // the folders of the root URLs
	Any    Scope = "any"    // every host; needs MaxPages or MaxDepth
)

// Site is what to crawl. Only URLs is required.
type Site struct {
	URLs []string // root URLs, with http or https
	ID   string   // 1 to 32 letters, digits, - and _; "": the md5 of the first URL

	Scope    Scope    // "": Host
	Include  []string // patterns of links to follow: globs such as "/docs/**", or "re:" and a regular expression; none: all
	Exclude  []string // patterns of links not to follow
	MaxDepth int      // links from a root URL; 0: no limit
	RootOnly bool     // follow no links
	MaxPages int64    // URLs to fetch, failed ones included; 0: no limit

	// Delay is the pause between two requests to a host, in whole milliseconds; 0: 500 ms; below 0: none. robots.txt may ask for more.
	Delay     time.Duration
	UserAgent string      // "": that of the folder's ini/crawler-task_headers.txt; its name also chooses the group of robots.txt
	Header    http.Header // further headers of all requests
	Proxy     string      // such as http://user:password@host:3128 or socks5://host:1080; "": none
	Browser   bool        // load pages in a headless Chromium, which must be installed

	// Properties are further properties by name (docs/properties.md). Unknown names and invalid values are errors.
	Properties map[string]string
}

// object returns the object of SITE_NEW, checked.
func (s Site) object() (map[string]any, error) {
	if len(s.URLs) == 0 {
		return nil, errors.New("the site has no URL")
	}
	spec := sitespec.Spec{ID: s.ID, Fields: map[string]any{}}
	for _, text := range s.URLs {
		u, err := target.Parse(text)
		if err != nil {
			return nil, err
		}
		if u.Guessed {
			return nil, fmt.Errorf("URL %q has no scheme; write %s", text, u.Text)
		}
		spec.Roots = append(spec.Roots, u.Text)
	}
	var err error
	if spec.Limits, err = s.limits(); err != nil {
		return nil, err
	}
	if spec.Properties, err = s.properties(); err != nil {
		return nil, err
	}
	switch {
	case s.MaxPages < 0:
		return nil, fmt.Errorf("field MaxPages is %d", s.MaxPages)
	case s.MaxPages > 0:
		spec.Fields["maxURLs"] = s.MaxPages
	}
	if s.Delay != 0 {
		spec.Fields["requestDelay"] = max(s.Delay.Milliseconds(), 0)
	}
	if s.Browser {
		spec.Fields["fetchType"] = sitespec.FetchBrowser
	}
	return spec.Object()
}

func (s Site) limits() (l target.Limits, err error) {
	l = target.Limits{Include: s.Include, Exclude: s.Exclude, Depth: -1}
	if l.Scope, err = target.ParseScope(string(cmp.Or(s.Scope, Host))); err != nil {
		return l, fmt.Errorf("field Scope: %w", err)
	}
	switch {
	case s.MaxDepth < 0, s.RootOnly && s.MaxDepth > 0:
		return l, fmt.Errorf("field MaxDepth is %d, RootOnly is %t", s.MaxDepth, s.RootOnly)
	case s.MaxDepth > 0:
		l.Depth = s.MaxDepth
	case s.RootOnly:
		l.Depth = 0
	}
	return l, nil
}

// properties joins the properties that have fields with the others.
func (s Site) properties() (map[string]string, error) {
	all := maps.Clone(s.Properties)
	if all == nil {
		all = map[string]string{}
	}
	set := func(field, name, value string) error {
		if all[name] != "" {
			return fmt.Errorf("field %s and the property %s are both set", field, name)
		}
		all[name] = value
		return nil
	}
	if s.Proxy != "" {
		address, err := sitespec.ProxyAddress(s.Proxy)
		if err != nil {
			return nil, fmt.Errorf("field Proxy: %w", err)
		}
		if err := set("Proxy", sitespec.ProxyProperty, address); err != nil {
			return nil, err
		}
	}
	headers := s.Header.Clone()
	if s.UserAgent != "" {
		if headers == nil {
			headers = http.Header{}
		}
		headers.Set("User-Agent", s.UserAgent)
	}
	if len(headers) == 0 {
		return all, nil
	}
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, err
	}
	return all, set("UserAgent", sitespec.HeadersProperty, string(text))
}
