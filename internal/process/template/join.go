package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/wire/result"
)

// content is the tag whose runs of white space are reduced.
const content = "content_encoded"

// joinTag evaluates the rules of a tag, as far as their values are needed, and joins them
// (docs/spec/processing.md 3.4). It returns nil if the tag has no value.
func (x *run) joinTag(g *tag, list []finding) *result.Tag {
	for i := range list {
		f := &list[i]
		if f.join == joinConcat || !f.mandatory || x.asItems {
			continue
		}
		if x.evaluateRule(g.name, f); !f.matched {
			f.outcome = "mandatory rule without a value: the tag is left out"
			return nil
		}
	}
	chosen := x.winningRule(g, list)
	for i := range list {
		if list[i].join == joinConcat {
			x.evaluateRule(g.name, &list[i])
			chosen = append(chosen, &list[i])
		}
	}
	return x.joinChosen(g, chosen)
}

// winningRule returns the rule that wins among those that are not joined: the one with a value and
// the highest weight, else the first by weight. It is empty without such rules.
func (x *run) winningRule(g *tag, list []finding) []*finding {
	var order []*finding
	for i := range list {
		if list[i].join != joinConcat {
			order = append(order, &list[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *finding) int { return cmp.Compare(b.ruleWeight(), a.ruleWeight()) })
	for i, f := range order {
		if x.evaluateRule(g.name, f); f.matched {
			for _, other := range order[i+1:] {
				other.outcome = fmt.Sprintf("not needed: rule %d has a value", f.number)
			}
			return []*finding{f}
		}
	}
	return order[:min(1, len(order))]
}

// ruleWeight is the weight of a rule without that of its value.
func (f *finding) ruleWeight() int {
	weight := 0
	if f.join == joinBest {
		weight = 2
	}
	if f.mandatory {
		weight++
	}
	return weight
}

// joinChosen joins the values of the chosen rules, or uses the first default that is not empty. Lists of
// objects become one list.
func (x *run) joinChosen(g *tag, chosen []*finding) *result.Tag {
	tag := result.Tag{Name: g.name, Extractor: extractor}
	var paths, objects []string
	var b strings.Builder
	for _, f := range chosen {
		switch {
		case !f.matched:
			continue
		case len(paths) == 0:
			tag.Type = f.kind
		case (f.kind == typeRecords) != (tag.Type == typeRecords):
			f.outcome = "not used: a list of objects and a text are not joined"
			continue
		case f.kind != typeRecords:
			b.WriteString(x.ruleDelimiter(f.rule))
		}
		f.outcome = "used"
		if f.kind == typeRecords {
			objects = append(objects, f.value[1:len(f.value)-1])
		} else {
			b.WriteString(f.value)
		}
		paths = append(paths, f.path)
	}
	if len(paths) == 0 {
		return x.defaultTag(tag, chosen)
	}
	value := b.String()
	switch {
	case tag.Type == typeRecords:
		value = listJSON(objects)
	case g.name == content:
		value = x.o.Text.Reduce(value)
	}
	tag.Data, tag.XPath = []string{value}, strings.Join(paths, " ")
	return &tag
}

// defaultTag returns the tag with the default of its rules.
func (x *run) defaultTag(tag result.Tag, chosen []*finding) *result.Tag {
	for _, f := range chosen {
		if value := x.defaultOf(f.rule); strings.TrimSpace(value) != "" {
			f.outcome = "its default is used"
			tag.Data, tag.XPath, tag.Type, tag.Default = []string{value}, f.path, f.kind, true
			return &tag
		}
	}
	return nil
}

// PostProcess applies the postProcessing of the template's rules to the tags of a dynamic result
// with the same names. A tag without a value afterwards is removed.
func (t *Template) PostProcess(r *result.Result, o Options) []Problem {
	x := newRun(context.Background(), nil, t, o)
	for i := range t.tags {
		g := &t.tags[i]
		tag := r.Tag(g.name)
		at := slices.IndexFunc(g.rules, func(r *rule) bool { return r.post != nil })
		if tag == nil || at < 0 {
			continue
		}
		changed := *tag
		changed.Data = nil
		for _, value := range tag.Data {
			changed.Data = append(changed.Data, x.postProcess(g.name, at+1, g.rules[at], value))
		}
		r.Remove(g.name)
		r.Add(changed)
	}
	return x.problems
}
