package template

import (
	"encoding/json"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// Lists of objects: a rule with tags makes an object of each match of its target, such as a product
// of a list. Its value is a JSON list. See docs/templates.md, Lists of objects.

// takeObjects takes the objects of a rule with tags.
func (x *run) takeObjects(tag string, f *finding, found []part) {
	var kept []part
	var nodes []*html.Node
	for _, p := range found {
		if p.match.Node == nil || p.match.Attr != "" || !f.exclude.keepsElement(p.match.Node) {
			continue
		}
		if len(nodes) == maxItems {
			x.addProblem(errormask.MaxItems, tag, f.number, "more than %d objects; the rest is ignored", maxItems)
			break
		}
		kept, nodes = append(kept, p), append(nodes, p.match.Node)
	}
	if len(nodes) == 0 {
		return
	}
	objects := x.writeObjects(tag, f, nodes)
	for i, p := range kept {
		if objects[i] == "" {
			continue
		}
		p.values = []string{objects[i]}
		if !x.keepPart(tag, f, p) {
			return
		}
	}
}

// writeObjects returns the object of each element, as JSON; "" for one without a value, or without a
// mandatory tag. The rules of an object follow Apply, formats included.
func (x *run) writeObjects(name string, f *finding, nodes []*html.Node) []string {
	asItems, inside := x.asItems, x.inside
	x.asItems, x.inside = false, inside+name+"."
	defer func() { x.asItems, x.inside = asItems, inside }()
	all := x.collectAll(f.rule.fields, nodes)
	groups, order := x.groupValues(all, containerNumbers(nodes))
	objects := make([]string, len(nodes))
	for _, n := range order {
		if r, ok := x.buildItem(f.rule.fields, groups[n], n+1); ok {
			objects[n] = objectJSON(&r)
		}
	}
	if x.o.Trace != nil {
		f.fields = traceParts(f.rule.fields, all, "used in the objects")
	}
	return objects
}

// objectJSON writes a result as a JSON object: its tags in order, texts and lists of objects.
func objectJSON(r *result.Result) string {
	var b strings.Builder
	for i := range r.Tags {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(quoteJSON(r.Tags[i].Name))
		b.WriteByte(':')
		if value := r.Tags[i].First(); r.Tags[i].Type == typeRecords {
			b.WriteString(value)
		} else {
			b.WriteString(quoteJSON(value))
		}
	}
	b.WriteByte('}')
	return b.String()
}

// quoteJSON returns a text as JSON.
func quoteJSON(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always have a form
	return strings.TrimSuffix(b.String(), "\n")
}

// listJSON makes a JSON list of values that are JSON.
func listJSON(values []string) string { return "[" + strings.Join(values, ",") + "]" }

// isList reports whether a text is a JSON list.
func isList(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "[") && json.Valid([]byte(text))
}
