package fields

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/canonical"
	"hce/dc/internal/web/xpath"
)

// Read returns the values of a page by the names of their fields: texts, numbers, booleans, objects, and lists of them. text is HTML in
// UTF-8, url the base of its links. problems name fields that cost too much.
func (s *Set) Read(ctx context.Context, text []byte, url string) (values map[string]any, problems []string) {
	doc, err := xpath.HTML(text)
	if err != nil {
		return map[string]any{}, []string{fmt.Sprintf("the page is not read for fields: %v", err)}
	}
	steps, _ := xpath.Limits{}.Take()
	r := &reader{ctx: ctx, doc: doc, steps: steps, base: baseURL(ctx, doc, url)}
	values = s.readAll(r, []*html.Node{nil})[0]
	return values, r.problems
}

// baseURL is the base of the links of a page.
func baseURL(ctx context.Context, doc *xpath.Document, url string) string {
	if found, _ := baseElement.Matches(ctx, doc, 1); len(found) == 1 {
		if u, err := canonical.Web.Resolve(url, found[0].Text); err == nil {
			return u
		}
	}
	return url
}

var (
	baseElement = mustTarget("//base/@href")
	scripts     = mustTarget("//script[@type='application/ld+json']")
	wholePage   = mustTarget("//body")
)

func mustTarget(text string) *xpath.Expr {
	e, err := xpath.Compile(text)
	if err != nil {
		panic(err)
	}
	return e
}

// reader reads one page.
type reader struct {
	ctx      context.Context
	doc      *xpath.Document
	base     string
	steps    int // left, for all fields
	linked   []any
	asked    bool // linked is set
	problems []string
}

// readAll returns the values of each record. The one record nil is the page.
func (s *Set) readAll(r *reader, records []*html.Node) []map[string]any {
	values := make([]map[string]any, len(records))
	for i := range values {
		values[i] = map[string]any{}
	}
	for _, f := range s.fields {
		for i, list := range f.find(r, records) {
			switch {
			case len(list) == 0:
			case f.list:
				values[i][f.name] = list
			default:
				values[i][f.name] = list[0]
			}
		}
	}
	return values
}

// find returns the values of a field in each of the records.
func (f *field) find(r *reader, records []*html.Node) [][]any {
	if f.selector == nil {
		lists := make([][]any, len(records))
		lists[0] = f.ofPage(r) // records have nothing but elements
		return lists
	}
	found, err := f.matches(r, records)
	if err != nil {
		r.problems = append(r.problems, fmt.Sprintf("field %q: %v", f.name, err))
	}
	if f.record == nil {
		return f.texts(r, found)
	}
	return f.records(r, found)
}

// matches returns what the selector finds in each of the records.
func (f *field) matches(r *reader, records []*html.Node) ([][]xpath.Match, error) {
	limits := xpath.Limits{Matches: maxValues, Steps: &r.steps}
	if records[0] == nil {
		found, err := f.selector.Find(r.ctx, r.doc, limits)
		return [][]xpath.Match{found}, err
	}
	lists, ok, err := xpath.FindIn(r.ctx, f.selector, r.doc, records, limits)
	if ok || err != nil {
		return lists, err
	}
	found, err := f.selector.Find(r.ctx, r.doc, limits)
	return divide(found, records), err
}

// divide gives each match to the innermost record around it.
func divide(found []xpath.Match, records []*html.Node) [][]xpath.Match {
	number := map[*html.Node]int{}
	for i, node := range records {
		number[node] = i
	}
	lists := make([][]xpath.Match, len(records))
	for _, m := range found {
		for n := m.Node; n != nil; n = n.Parent {
			if i, ok := number[n]; ok {
				lists[i] = append(lists[i], m)
				break
			}
		}
	}
	return lists
}

// records makes an object of each element.
func (f *field) records(r *reader, found [][]xpath.Match) [][]any {
	var nodes []*html.Node
	for _, list := range found {
		for _, m := range list {
			if m.Node != nil && m.Attr == "" {
				nodes = append(nodes, m.Node)
			}
		}
	}
	lists := make([][]any, len(found))
	if len(nodes) == 0 {
		return lists
	}
	objects := f.record.readAll(r, nodes)
	for i, list := range found {
		for _, m := range list {
			if m.Node != nil && m.Attr == "" {
				if len(objects[0]) > 0 { // an element without any field is no record
					lists[i] = append(lists[i], objects[0])
				}
				objects = objects[1:]
			}
		}
	}
	return lists
}

// texts returns the values of matches.
func (f *field) texts(r *reader, found [][]xpath.Match) [][]any {
	lists := make([][]any, len(found))
	for i, list := range found {
		for _, m := range list {
			text := m.Text
			if m.Attr == "" && m.Node != nil {
				text = textOf(m.Node)
			}
			lists[i] = append(lists[i], f.valuesOf(text, r.base)...)
		}
	}
	return lists
}

// ofPage returns the values of a field without a selector.
func (f *field) ofPage(r *reader) (list []any) {
	if f.path == nil {
		if body, _ := wholePage.Find(r.ctx, r.doc, xpath.Limits{Matches: 1}); len(body) == 1 {
			list = f.valuesOf(textOf(body[0].Node), r.base)
		}
		return list
	}
	for _, found := range r.follow(f.path) {
		switch v := found.(type) {
		case map[string]any:
			if f.kind == "" && f.pattern == nil {
				list = append(list, v)
			}
		case string:
			list = append(list, f.valuesOf(v, r.base)...)
		case json.Number:
			list = append(list, f.valuesOf(v.String(), r.base)...)
		case bool:
			list = append(list, f.valuesOf(strconv.FormatBool(v), r.base)...)
		}
	}
	return list
}

// follow returns what a path leads to in the JSON-LD objects of the page. The first object that has the path counts.
func (r *reader) follow(path []string) []any {
	if !r.asked {
		r.asked = true
		found, _ := scripts.Find(r.ctx, r.doc, xpath.Limits{Matches: maxValues})
		for _, m := range found {
			d := json.NewDecoder(strings.NewReader(rawText(m.Node)))
			d.UseNumber()
			var value any
			if d.Decode(&value) == nil {
				r.linked = append(r.linked, objectsOf(value)...)
			}
		}
	}
	for _, object := range r.linked {
		if list := valuesAt(object, path); len(list) > 0 {
			return list
		}
	}
	return nil
}

// objectsOf returns the objects of a script: itself, those of a list and those of @graph.
func objectsOf(value any) (list []any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			list = append(list, objectsOf(one)...)
		}
	case map[string]any:
		list = append(list, v)
		if graph, ok := v["@graph"].([]any); ok {
			list = append(list, graph...)
		}
	}
	return list
}

// valuesAt returns what is at a path; lists on the way are followed.
func valuesAt(value any, path []string) (list []any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			list = append(list, valuesAt(one, path)...)
		}
		return list
	case map[string]any:
		if len(path) > 0 {
			return valuesAt(v[path[0]], path[1:])
		}
	}
	if len(path) > 0 || value == nil {
		return nil
	}
	return []any{value}
}

// valuesOf returns the values in a text: itself, or what the pattern finds.
func (f *field) valuesOf(text, base string) (list []any) {
	texts := []string{text}
	if f.pattern != nil {
		most := 1
		if f.list {
			most = maxValues
		}
		texts, _ = f.pattern.FindAll(text, most)
	}
	for _, one := range texts {
		if v, ok := f.convert(strings.Join(strings.Fields(one), " "), base); ok {
			list = append(list, v)
		}
	}
	return list
}

// convert returns a text as a value of the field's type.
func (f *field) convert(text, base string) (any, bool) {
	if text == "" {
		return nil, false
	}
	switch f.kind {
	case "number":
		n, ok := numberIn(text)
		return n, ok
	case "integer":
		n, ok := numberIn(text)
		return int64(n), ok && n == math.Trunc(n) && math.Abs(n) < 1<<53
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes", "1", "on":
			return true, true
		case "false", "no", "0", "off":
			return false, true
		}
		return nil, false
	case "url":
		u, err := canonical.Web.Resolve(base, text)
		return u, err == nil
	}
	return text, true
}

// textOf is the text of an element without scripts and styles.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !isHidden(d.Parent) {
			b.WriteString(d.Data)
			continue
		}
		if d.Type == html.ElementNode {
			b.WriteByte(' ')
		}
	}
	if n.Type == html.TextNode {
		return n.Data
	}
	return b.String()
}

func isHidden(n *html.Node) bool {
	return n != nil && (n.Data == "script" || n.Data == "style" || n.Data == "template" || n.Data == "noscript")
}

// rawText is the text of a script.
func rawText(n *html.Node) string {
	if n.FirstChild == nil {
		return ""
	}
	return n.FirstChild.Data
}
