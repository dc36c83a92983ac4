package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// randomRequest is a request that was made from the document.
type randomRequest struct {
	operation documented
	method    string
	path      string // as in the document
	values    map[string]string
	query     url.Values
	header    http.Header
	body      any
	raw       map[string]string // texts that are put in the place of a string of the body
	text      string            // of the body, if it is no longer body
	change    string            // what is wrong with it; "": it is one of the document
}

// target is the path with the query. In a query, \raw becomes a percent sign.
func (r *randomRequest) target() string {
	target := r.path
	for name, value := range r.values {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
	}
	if len(r.query) > 0 {
		target += "?" + strings.ReplaceAll(r.query.Encode(), url.QueryEscape(`\raw`), "%")
	}
	return target
}

// content is the body as it is sent.
func (r *randomRequest) content() string {
	if r.text != "" || r.body == nil {
		return r.text
	}
	text, err := json.Marshal(r.body)
	if err != nil {
		panic(err)
	}
	content := string(text)
	for mark, value := range r.raw {
		content = strings.Replace(content, `"`+mark+`"`, value, 1)
	}
	return content
}

// String is the request for a person.
func (r *randomRequest) String() string {
	return fmt.Sprintf("%s: %s %.300q %.300q %.500q, change: %s", r.operation.OperationID, r.method, r.target(), fmt.Sprint(r.header), r.content(), r.change)
}

// requests makes requests from a document.
type requests struct {
	*rand.Rand
	*contract
	sites, keys, pages []string // ids, keys of URLs, URLs of a website that answers
}

func (g *requests) choose(list ...string) string { return list[g.IntN(len(list))] }

// newRequest makes a request of the document, or one that is wrong in one place.
func (g *requests) newRequest(method, path string, o documented) *randomRequest {
	r := &randomRequest{operation: o, method: strings.ToUpper(method), path: path, values: map[string]string{}, query: url.Values{}, header: http.Header{}, raw: map[string]string{}}
	for _, p := range o.Parameters {
		text := g.newText(p.Schema, p.Name)
		given := p.Required || g.IntN(3) == 0
		switch {
		case p.In == "path":
			r.values[p.Name] = text
		case p.In == "query" && given:
			r.query.Set(p.Name, text)
		case p.In == "header" && given:
			r.header.Set(p.Name, text)
		}
	}
	if o.RequestBody != nil && (o.RequestBody.Required || g.IntN(4) > 0) {
		r.body = g.newValue(o.RequestBody.Content["application/json"].Schema, "", 0)
		r.header.Set("Content-Type", "application/json")
	}
	if g.IntN(3) > 0 {
		g.makeWrong(r)
	}
	return r
}

// newText is a value of a parameter.
func (g *requests) newText(s *schema, name string) string {
	value := g.newValue(s, name, 0)
	list, is := value.([]any)
	if !is {
		return fmt.Sprint(value)
	}
	var items []string
	for _, one := range list {
		items = append(items, fmt.Sprint(one))
	}
	return strings.Join(items, ",")
}

// newValue is a value of a schema. name is that of the property.
func (g *requests) newValue(s *schema, name string, depth int) any {
	s = g.resolve(s)
	if len(s.Enum) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	switch s.Type {
	case "string":
		return g.newString(s, name)
	case "integer":
		if name == "delayMs" {
			return g.IntN(2) // the next request to the website waits for it
		}
		low, high := int64(-1<<40), int64(1<<40)
		if s.Minimum != nil {
			low = int64(*s.Minimum)
		}
		if s.Maximum != nil {
			high = int64(*s.Maximum)
		}
		return [4]int64{low, high, low + 1, low + g.Int64N(high-low+1)}[g.IntN(4)]
	case "boolean":
		return g.IntN(2) == 0
	case "array":
		return g.newArray(s, name, depth)
	case "object":
		return g.newObject(s, name, depth)
	}
	return [6]any{nil, true, 1.5, "text", []any{"a"}, map[string]any{"type": "object", "css": "h1", "properties": map[string]any{"title": map[string]any{"type": "string"}}}}[g.IntN(6)]
}

func (g *requests) newArray(s *schema, name string, depth int) any {
	list := []any{}
	low, high := 0, 3
	if s.MinItems != nil {
		low = *s.MinItems
	}
	if s.MaxItems != nil && g.IntN(20) == 0 {
		high = *s.MaxItems
	}
	for range low + g.IntN(max(low, high)-low+1) {
		list = append(list, g.newValue(s.Items, name, depth+1))
	}
	return list
}

// memberNames are names that mean something in objects whose names are free.
var memberNames = map[string][]string{
	"headers": {"X-Tide", "Accept-Language"}, "properties": {"ROBOTS_META", "HTTP_COOKIE"}, "fields": {"title", "price"}, "schema": {"type", "properties"},
}

func (g *requests) newObject(s *schema, name string, depth int) any {
	object := map[string]any{}
	for name, property := range s.Properties {
		if slices.Contains(s.Required, name) || g.IntN(2+depth) == 0 {
			object[name] = g.newValue(property, name, depth+1)
		}
	}
	if !s.closed && depth < 4 {
		for range g.IntN(3) {
			member := g.choose("a.b", "ü", "A B", "")
			if names := memberNames[name]; names != nil && g.IntN(20) > 0 {
				member = g.choose(names...)
			}
			object[member] = g.newValue(s.others, member, depth+1)
		}
	}
	return object
}

// newString is a text that the schema allows. Most of the time it is one that means something.
func (g *requests) newString(s *schema, name string) string {
	if s.Pattern != "" {
		return g.choose("", "wait=0", "wait=000", "wait=1")
	}
	if s.Format == "date-time" {
		return time.Unix(g.Int64N(1<<33), 0).UTC().Format(time.RFC3339)
	}
	text := map[string]string{
		"site": g.choose(g.sites...), "id": g.choose(append(g.sites, fmt.Sprint("n", g.IntN(100)), "", "")...), "key": g.choose(g.keys...), "cursor": g.choose(append(g.sites, g.keys...)...), "url": g.choose(g.pages...),
		"roots": g.choose(g.pages...), "urls": g.choose(g.pages...) + fmt.Sprint(g.IntN(1000)), "prefix": g.choose(g.pages...)[:10], "css": g.choose("h1", "p.price", "a::attr(href)", "*"),
		"xpath": g.choose("//h1", "//a/@href", "count(//p)"), "pattern": g.choose(`\d+`, `(.)(.)`, `a|`), "jsonld": "a.b", "fields": g.choose("url", "title", "text", "links", "size"), "search": "TIDE",
		"include": g.choose("/a/**", "re:^x", "*"), "exclude": g.choose("/b/*", "re:y$"), "If-None-Match": g.choose("*", `"a", W/"b"`), "ROBOTS_META": g.choose("", "0", "1"), "X-Tide": "High",
		"HTTP_COOKIE": "k=v", "description": "the coast",
	}[name]
	if text == "" || g.IntN(8) == 0 {
		text = g.choose("", "a", "Ebbe & Flut", "潮汐", "%", "_", "a,b", "-1", "true", "{}", "..", "/", "?", "#", `"`, `\`, "'", "' OR ''='", "${x}", "<b>", "\u2028", "e\u0301", strings.Repeat("x", 300))
	}
	for s.MinLength != nil && len(text) < *s.MinLength {
		text += "x"
	}
	if runes := []rune(text); s.MaxLength != nil && len(runes) > *s.MaxLength {
		text = string(runes[:*s.MaxLength])
	}
	return text
}
