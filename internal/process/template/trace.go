package template

import (
	"strings"
	"unicode/utf8"

	"hce/dc/internal/wire/result"
)

// Trace says what each rule of a template found and why its value was used or not.
type Trace struct {
	Template  string     `json:"template"` // its name in quotes, or its number
	Tags      []TagTrace `json:"tags"`
	Problems  []Problem  `json:"problems,omitempty"`
	Container string     `json:"container,omitempty"` // of items: the path of the element around them
	Items     int        `json:"items,omitempty"`
	Notes     []string   `json:"notes,omitempty"` // about items: what was dropped, and why
}

// TagTrace is the trace of one tag.
type TagTrace struct {
	Name    string      `json:"name"`
	Value   string      `json:"value"`   // at most 2000 characters; "": the tag has none
	Default bool        `json:"default"` // the value is a default, which does not count
	Rules   []RuleTrace `json:"rules"`
}

// RuleTrace is the trace of one rule.
type RuleTrace struct {
	Target    string  `json:"target"`
	Type      string  `json:"type"`
	Join      string  `json:"join"`
	Mandatory bool    `json:"mandatory"`
	Matches   int     `json:"matches"`
	Found     string  `json:"found"`          // the value before postProcessing
	Post      *string `json:"postProcessing"` // the value after it; null: it was not applied
	Outcome   string  `json:"outcome"`
	Remark    string  `json:"remark,omitempty"`

	Fields []TagTrace `json:"fields,omitempty"` // of the objects of a rule with tags
}

// maxShown bounds a value in a trace, in characters.
const maxShown = 2000

func shortenValue(value string) string {
	if utf8.RuneCountInString(value) <= maxShown {
		return value
	}
	return string([]rune(value)[:maxShown]) + "…"
}

// traceOf is the trace of one tag. tag is nil if it has no value.
func traceOf(g *tag, list []finding, tag *result.Tag) TagTrace {
	t := TagTrace{Name: g.name}
	if tag != nil {
		t.Value, t.Default = shortenValue(strings.Join(tag.Data, " ")), tag.Default
	}
	for i := range list {
		t.Rules = append(t.Rules, list[i].ruleTrace())
	}
	return t
}

// traceParts is the trace of rules whose values are parts of items or objects.
func traceParts(tags []tag, all [][]finding, use string) (traces []TagTrace) {
	for i := range tags {
		for j := range all[i] {
			f := &all[i][j]
			values := f.matchedValues()
			f.done, f.raw, f.matched = true, strings.Join(values, " | "), len(values) > 0
			if f.matched {
				f.outcome = use
			}
		}
		traces = append(traces, traceOf(&tags[i], all[i], nil))
	}
	return traces
}

func (f *finding) ruleTrace() RuleTrace {
	r := RuleTrace{
		Target: f.path, Type: f.kind, Join: f.join, Mandatory: f.mandatory,
		Matches: f.count, Found: shortenValue(f.raw), Outcome: f.outcome, Remark: f.reason, Fields: f.fields,
	}
	if f.posted {
		value := shortenValue(f.value)
		r.Post = &value
	}
	switch {
	case r.Outcome != "":
	case !f.done:
		r.Outcome = "not evaluated"
	case !f.matched:
		r.Outcome = "no value"
	default:
		r.Outcome = "not used"
	}
	return r
}
