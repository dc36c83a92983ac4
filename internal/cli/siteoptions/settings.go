package siteoptions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Settings are the options that describe a site, as typed.
type Settings struct {
	depth, maxPages, delay, scope, Name string
	include, exclude                    []string
	properties, fields                  []string // NAME=VALUE
	proxy, agent                        string
	headers                             []string // NAME: VALUE
	Browser                             bool
}

// DeclareOptions declares the options. With edit, only what is given changes.
func (o *Settings) DeclareOptions(c *command.Command) {
	c.Choice(&o.scope, "scope", "", strings.Join(target.Scopes, "|"), "how far to follow links: host (default; with and without www), domain (with sub-domains), prefix (below the folder of the URL), any", target.Scopes...)
	c.List(&o.include, "include", "", "PATTERN", "follow only matching links; a glob (/docs/**, *.html) or re:REGEXP; may be repeated")
	c.List(&o.exclude, "exclude", "", "PATTERN", "do not follow matching links; may be repeated")
	c.Text(&o.depth, "depth", "", "NUMBER", "follow links up to this distance from the URL; 0: only the URL; default: no limit")
	c.Text(&o.maxPages, "max-pages", "", "NUMBER", "fetch at most this number of URLs, failed ones included; default: no limit")
	c.Text(&o.delay, "delay", "", "TIME", "pause between two requests to a host, such as 500ms (default) or 2s; robots.txt may require more")
	c.Text(&o.agent, "user-agent", "", "TEXT", "User-Agent of all requests; its name also chooses the group of robots.txt")
	c.List(&o.headers, "header", "", "'NAME: VALUE'", "header of all requests; may be repeated")
	hintOptions(c)
	c.Text(&o.proxy, "proxy", "", "ADDRESS", "send all requests through this proxy, such as http://user:password@host:3128 or socks5://host:1080; env: the one of the environment")
	c.Flag(&o.Browser, "browser", "", "load pages in a headless Chromium")
	c.List(&o.properties, "property", "", "NAME=VALUE", "property of the site (docs/properties.md); may be repeated")
	c.List(&o.fields, "set", "", "FIELD=VALUE", "field of the site, such as maxErrors=100 (docs/properties.md); may be repeated")
}

// ReadLimits reads the options about links.
func (o Settings) ReadLimits() (target.Limits, error) {
	l := target.Limits{Scope: target.Host, Include: o.include, Exclude: o.exclude, Depth: -1}
	if o.scope != "" {
		var err error
		if l.Scope, err = target.ParseScope(o.scope); err != nil {
			return l, fmt.Errorf("--scope: %w", err)
		}
	}
	if o.depth != "" {
		n, err := command.ParseNumber("--depth", o.depth, 0, 1000000)
		if err != nil {
			return l, err
		}
		l.Depth = int(n)
	}
	return l, nil
}

// ChangesFilters reports whether the options change the filters of a site.
func (o Settings) ChangesFilters() bool {
	return o.scope != "" || o.depth != "" || len(o.include) > 0 || len(o.exclude) > 0
}

func parseDelay(text string) (milliseconds int64, err error) {
	d, err := command.Time{Option: "--delay", Most: 24 * time.Hour}.Parse(text)
	return d.Milliseconds(), err
}

// ApplyTo puts the options into the object of SITE_NEW or SITE_UPDATE, all but filters and properties.
func (o Settings) ApplyTo(object map[string]any) error {
	if o.maxPages != "" {
		n, err := command.ParseNumber("--max-pages", o.maxPages, 1, 1<<40)
		if err != nil {
			return err
		}
		object["maxURLs"] = n
	}
	if o.delay != "" {
		n, err := parseDelay(o.delay)
		if err != nil {
			return err
		}
		object["requestDelay"] = n
	}
	if o.Browser {
		object["fetchType"] = sitespec.FetchBrowser
	}
	for _, pair := range o.fields {
		if err := setField(object, pair); err != nil {
			return err
		}
	}
	return nil
}

// listFields are the fields of a site that are no columns; options set them.
var listFields = map[string]string{"urls": "the URL arguments", "filters": "--include, --exclude and --scope", "properties": "--property", "id": "--name"}

// setField reads FIELD=VALUE of --set.
func setField(object map[string]any, pair string) error {
	name, value, found := strings.Cut(pair, "=")
	if !found {
		return fmt.Errorf("--set %q is not FIELD=VALUE", pair)
	}
	if use, listed := listFields[name]; listed {
		return fmt.Errorf("--set %s: set it with %s", name, use)
	}
	column, problem := strict.Field(name)
	if problem != nil {
		return fmt.Errorf("--set %s", problem)
	}
	object[name] = value
	if column.Kind == schema.KindInt || column.Kind == schema.KindFloat {
		if _, err := strconv.ParseFloat(value, 64); err != nil || column.Kind == schema.KindInt && strings.ContainsAny(value, ".eExXpP") {
			return fmt.Errorf("--set %s: %q is not a number", name, value)
		}
		object[name] = json.Number(value)
	}
	return nil
}

// PropertyMap reads NAME=VALUE of --property. Unknown names are refused.
func (o Settings) PropertyMap() (map[string]string, error) {
	all := map[string]string{}
	var problems strict.Error
	for _, pair := range o.properties {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, fmt.Errorf("--property %q is not NAME=VALUE", pair)
		}
		problems = append(problems, strict.Property("--property", name)...)
		problems = append(problems, strict.PropertyValue("--property", name, value)...)
		all[name] = value
	}
	if len(problems) > 0 {
		return nil, problems
	}
	text, err := o.headerText()
	if err != nil {
		return nil, err
	}
	if text != "" {
		if problems := strict.PropertyValue("--header", sitespec.HeadersProperty, text); len(problems) > 0 || all[sitespec.HeadersProperty] != "" {
			return nil, errors.Join(strict.Error(problems), command.Refuse("--header and --user-agent set the property %s; use one of them", sitespec.HeadersProperty))
		}
		all[sitespec.HeadersProperty] = text
	}
	if o.proxy != "" {
		address, err := o.proxyAddress()
		if err != nil {
			return nil, err
		}
		all[sitespec.ProxyProperty] = address
	}
	return all, nil
}

// NewSite returns the object of SITE_NEW for root URLs, checked.
func (o Settings) NewSite(roots []string) (map[string]any, error) {
	spec := sitespec.Spec{ID: o.Name, Roots: roots, Fields: map[string]any{}}
	var err error
	if spec.Limits, err = o.ReadLimits(); err != nil {
		return nil, command.Refusal{Err: err}
	}
	if spec.Properties, err = o.PropertyMap(); err != nil {
		return nil, command.Refusal{Err: err}
	}
	if err := o.ApplyTo(spec.Fields); err != nil {
		return nil, command.Refusal{Err: err}
	}
	object, err := spec.Object()
	switch problems := (strict.Error)(nil); {
	case errors.Is(err, sitespec.ErrEndless):
		return nil, command.Refuse("--scope any follows links to every host and has no end; add --max-pages or --depth")
	case errors.Is(err, sitespec.ErrID):
		return nil, command.Refuse("--name %q is not 1 to 32 letters, digits, - and _", o.Name)
	case errors.As(err, &problems):
		return nil, problems
	case err != nil:
		return nil, command.Refusal{Err: err}
	}
	return object, nil
}

// ListDifferences lists in which settings a stored site differs from the object of SITE_NEW that these
// options have made.
func (o Settings) ListDifferences(site wire.Site, object map[string]any) []string {
	var fields []string
	for _, pair := range o.fields {
		name, _, _ := strings.Cut(pair, "=")
		fields = append(fields, name)
	}
	return sitespec.Differences(site, object, fields)
}
