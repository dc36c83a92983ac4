package strict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/schema"
)

// Problem is a mistake in a request.
type Problem struct {
	Field  string // such as Site.properties.HTTP_HEADERS
	Value  string // "" if it does not matter
	Reason string
	Near   string // what the user probably meant; "" if unknown
	// Refused means that the service refuses the request by itself.
	Refused bool
}

// String describes the problem in one line.
func (p Problem) String() string {
	text := p.Field
	if p.Value != "" {
		text += fmt.Sprintf(" = %.200q", p.Value)
	}
	return text + " " + p.Reason + config.Suggestion(p.Near)
}

// Error is several problems as one error.
type Error []Problem

// Error has one line for each problem.
func (e Error) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Check returns the problems of a request, none if it is good. A request that the service refuses
// has one problem: the message of the refusal.
func Check(op wire.Op, raw json.RawMessage) []Problem {
	notes := &lenient.Notes{}
	if err := service.Check(op, raw, notes); err != nil {
		return []Problem{{Field: op.String(), Reason: err.Error(), Refused: true}}
	}
	var list []Problem
	for _, path := range notes.Unknown {
		object, name := path, ""
		if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
			object, name = path[:dot], path[dot+1:]
		}
		list = append(list, Problem{Field: path, Reason: "is unknown", Near: config.Nearest(name, notes.Known[object])})
	}
	for _, remark := range notes.Ignored {
		list = append(list, Problem{Field: remark.Part, Reason: remark.Text})
	}
	list = append(list, checkCodes(op, raw)...)
	switch op {
	case wire.SiteNew, wire.SiteUpdate:
		list = append(list, checkSite(raw)...)
	case wire.URLNew:
		list = append(list, checkURLs(raw)...)
	case wire.BatchRun:
		list = append(list, checkBatch(raw)...)
	}
	return list
}

// checkBatch looks at the items: the URL of an item with a content may be missing.
func checkBatch(raw json.RawMessage) (list []Problem) {
	var batch struct {
		Items []struct {
			SiteID string `json:"siteId"`
			URL    struct {
				URL string `json:"url"`
			} `json:"urlObj"`
			Properties json.RawMessage `json:"properties"`
			Site       struct {
				Filters    []wire.SiteFilter `json:"filters"`
				Properties json.RawMessage   `json:"properties"`
			} `json:"siteObj"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &batch); err != nil {
		return []Problem{{Field: "Batch", Reason: err.Error()}}
	}
	if len(batch.Items) == 0 {
		list = append(list, Problem{Field: "Batch.items", Reason: "is empty; give an item for each URL"})
	}
	given := given{}
	for i, item := range batch.Items {
		name := fmt.Sprintf("BatchItem[%d]", i)
		if field, text := name+".urlObj.url", item.URL.URL; text != "" {
			list = append(list, RootURL(field, text)...)
			list = append(list, given.reportDuplicate(field, item.SiteID, text)...)
		}
		list = append(list, checkProperties(name+".properties", item.Properties)...)
		list = append(list, checkProperties(name+".siteObj.properties", item.Site.Properties)...)
		list = append(list, checkFilters(name+".siteObj", item.Site.Filters)...)
	}
	return list
}

func checkProperties(field string, raw json.RawMessage) (list []Problem) {
	names, values := readProperties(raw)
	for i, name := range names {
		list = append(list, PropertyValue(field, name, values[i])...)
		if !strings.HasPrefix(field, "BatchItem") || !slices.Contains(itemProperties(), name) {
			list = append(list, Property(field, name)...)
		}
		if name != "PROCESS_CTYPES" && slices.Contains(names[:i], name) { // which may have several rows
			list = append(list, Problem{Field: field + "." + name, Reason: "is given twice; the last value counts"})
		}
	}
	return list
}

func checkFilters(object string, filters []wire.SiteFilter) (list []Problem) {
	for i, f := range filters {
		list = append(list, Filter(fmt.Sprintf("%s.filters[%d].pattern", object, i), f)...)
	}
	return list
}

// checkURLs checks the addresses of URL_NEW. Their shape is good.
func checkURLs(raw json.RawMessage) (list []Problem) {
	var rows []struct {
		SiteID string `json:"siteId"`
		URL    string `json:"url"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return []Problem{{Field: "URL", Reason: err.Error()}}
	}
	given := given{}
	for i, row := range rows {
		field := fmt.Sprintf("URL[%d].url", i)
		list = append(list, RootURL(field, row.URL)...)
		list = append(list, given.reportDuplicate(field, row.SiteID, row.URL)...)
	}
	return list
}

// given are the URLs of a request, by site and canonical form.
type given map[string]bool

// reportDuplicate reports a URL that the request has already, perhaps in another spelling.
func (g given) reportDuplicate(field, site, text string) []Problem {
	key := text
	if u, err := target.Parse(text); err == nil {
		key = u.Text
	}
	if key = site + " " + key; g[key] {
		return []Problem{{Field: field, Value: text, Reason: "is given twice"}}
	}
	g[key] = true
	return nil
}

// checkSite checks the lists of a site. Their shape is good.
func checkSite(raw json.RawMessage) (list []Problem) {
	var site struct {
		URLs       []wire.SiteURL    `json:"urls"`
		Filters    []wire.SiteFilter `json:"filters"`
		Properties json.RawMessage   `json:"properties"`
	}
	if err := json.Unmarshal(raw, &site); err != nil {
		return []Problem{{Field: "Site", Reason: err.Error()}}
	}
	given := given{}
	for i, u := range site.URLs {
		field := fmt.Sprintf("Site.urls[%d]", i)
		list = append(list, RootURL(field, u.URL.URL)...)
		list = append(list, given.reportDuplicate(field, "", u.URL.URL)...)
	}
	list = append(list, checkFilters("Site", site.Filters)...)
	return append(list, checkProperties("Site.properties", site.Properties)...)
}

// RootURL checks a root URL: scheme, host, form.
func RootURL(field, text string) []Problem {
	u, err := target.Parse(text)
	switch {
	case err != nil:
		return []Problem{{Field: field, Reason: "cannot be crawled: " + err.Error()}}
	case u.Guessed:
		return []Problem{{Field: field, Value: text, Reason: "has no scheme", Near: u.Text}}
	}
	return nil
}

// Filter checks that a rule compiles.
func Filter(field string, f wire.SiteFilter) []Problem {
	_, errs := filter.Compile([]filter.Rule{{
		Pattern: f.Pattern, Subject: f.Subject, OpCode: int(f.OpCode), Stage: int(f.Stage), Action: int(f.Action), Type: int(f.Type), State: 1, Group: int(f.GroupID),
	}})
	var list []Problem
	for _, err := range errs {
		list = append(list, Problem{Field: field, Value: f.Pattern, Reason: "does not compile: " + err.Error()})
	}
	return list
}

// Property checks the name of a property.
func Property(field, name string) []Problem {
	if known, near := KnownProperty(name); !known {
		return []Problem{{Field: field + "." + name, Reason: "is unknown", Near: near}}
	}
	return nil
}

// readProperties returns the names and values of the properties in the object form or the list form.
func readProperties(raw json.RawMessage) (names, values []string) {
	text := func(raw json.RawMessage) string {
		if text, err := prop.Text(raw); err == nil {
			return text
		}
		return string(raw)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for name, value := range object {
			names, values = append(names, name), append(values, text(value))
		}
		return names, values
	}
	var rows []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &rows) == nil {
		for _, row := range rows {
			names, values = append(names, row.Name), append(values, text(row.Value))
		}
	}
	return names, values
}

// Field returns the JSON name of a column of a site, or a problem if there is no such field.
func Field(name string) (schema.Column, *Problem) {
	var known []string
	for _, c := range wire.SiteColumns {
		if c.JSON == name {
			return c, nil
		}
		known = append(known, c.JSON)
	}
	return schema.Column{}, &Problem{Field: name, Reason: "is not a field of a site", Near: config.Nearest(name, known)}
}
