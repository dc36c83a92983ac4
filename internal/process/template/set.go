package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
)

const (
	// MaxText bounds the JSON of a property, in bytes.
	MaxText = 4 << 20
	// maxRules bounds the rules of all templates of a property.
	maxRules = 10_000
	// maxNotes bounds the unknown keys that are named.
	maxNotes = 20
)

// Set is the templates of a site. Goroutines may share it.
type Set struct {
	Templates []*Template // in the order of the property
	Select    string      // how Choose compares results; see there
	Unknown   []string    // keys that have no meaning, each with its place; at most 20

	rules  int
	merged int // templates at the start that Merge added
}

// Template is one template of a site.
type Template struct {
	Name         string // "" if the property gives none
	Mandatory    bool   // without a tag of its own, the page has an error
	OutputFormat json.RawMessage

	label     string // its name in quotes, or its number
	tags      []tag
	priority  *int64
	disabled  bool
	condition condition
	container *target // of SCRAPER_MULTI_ITEMS; nil: it is guessed
	problems  []Problem
	depth     int // lists of objects around these tags
}

// tag is the rules of one tag.
type tag struct {
	name  string
	rules []*rule
}

// HasTags reports whether the template has rules. Without them, the page is extracted
// dynamically, and only the output format counts.
func (t *Template) HasTags() bool { return len(t.tags) > 0 }

// Names returns the names of its tags, in their order.
func (t *Template) Names() []string {
	names := make([]string, len(t.tags))
	for i := range t.tags {
		names[i] = t.tags[i].name
	}
	return names
}

// Label returns the name of the template in quotes, or its number.
func (t *Template) Label() string { return t.label }

// Problems returns what cannot be followed whatever the page is. Apply and Items report the
// same problems.
func (s *Set) Problems() (problems []Problem) {
	for _, t := range s.Templates {
		problems = append(problems, t.problems...)
		if t.condition.fault != "" {
			problems = append(problems, t.condition.problemFor(t))
		}
		for i := range t.tags {
			for j, r := range t.tags[i].rules {
				for _, f := range r.faults {
					problems = append(problems, Problem{f.bits, t.label, t.tags[i].name, j + 1, f.message})
				}
			}
		}
	}
	return problems
}

// condition restricts a template to some URLs.
type condition struct {
	field   string
	pattern string
	match   *pyregexp.Regexp // nil: always
	fault   string           // why it cannot be followed; then it never holds
}

func (c *condition) problemFor(t *Template) Problem {
	return Problem{errormask.Regexp, t.label, "", 0, "the condition " + c.fault + "; the template is not used"}
}

// For returns the enabled templates whose condition holds, the one with the highest priority
// first. If one of them has no priority, they keep their order. field returns a field of the
// URL by its name in the protocol (url, contentType, depth…), and false for an unknown name.
func (s *Set) For(field func(name string) (value string, known bool)) (list []*Template, problems []Problem) {
	for _, t := range s.Templates {
		if t.disabled {
			continue
		}
		holds, problem := t.conditionHolds(field)
		if problem != nil {
			problems = append(problems, *problem)
		}
		if holds {
			list = append(list, t)
		}
	}
	if !slices.ContainsFunc(list, func(t *Template) bool { return t.priority == nil }) {
		slices.SortStableFunc(list, func(a, b *Template) int { return cmp.Compare(*b.priority, *a.priority) })
	}
	return list, problems
}

// conditionHolds reports whether the condition of a template holds.
func (t *Template) conditionHolds(field func(string) (string, bool)) (bool, *Problem) {
	c := &t.condition
	if c.fault != "" {
		p := c.problemFor(t)
		return false, &p
	}
	if c.match == nil {
		return true, nil
	}
	value, known := field(c.field)
	if !known {
		return false, &Problem{errormask.Scraper, t.label, "", 0, fmt.Sprintf("the condition names the field %.80q, which a URL does not have; the template is not used", c.field)}
	}
	return c.match.MatchStart(value), nil
}

// Parse reads the property template: {"templates": [T, …], "select": …}, the old form
// {tag: [rules]}, one T or a list of them, as an object or as its JSON text. An empty text gives
// one template without tags. An error names template, tag, rule, key and value. What is
// well-formed but cannot be followed, such as an invalid XPath, is in Problems instead.
func Parse(text string) (*Set, error) {
	s := &Set{Select: firstNonEmpty}
	raw, err := propertyJSON(text)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		s.Templates = []*Template{{label: "1"}}
		return s, nil
	}
	if err := s.readValue(raw); err != nil {
		return nil, err
	}
	return s, nil
}

// propertyJSON returns the JSON value of a property, which may be inside of JSON texts; nil if it is
// empty.
func propertyJSON(text string) (json.RawMessage, error) {
	for depth := 0; ; depth++ {
		text = strings.TrimSpace(text)
		if text == "" || text == "null" || text == "{}" || text == "[]" {
			return nil, nil
		}
		if len(text) > MaxText {
			return nil, fmt.Errorf("has %d bytes; the limit is %d", len(text), MaxText)
		}
		if text[0] != '"' || depth == 3 {
			var raw json.RawMessage
			err := prop.Decode(text, &raw)
			return raw, err
		}
		var inner string
		if err := prop.Decode(text, &inner); err != nil {
			return nil, err
		}
		text = inner
	}
}

// readValue reads a value that is not empty.
func (s *Set) readValue(raw json.RawMessage) error {
	if raw[0] == '[' {
		return s.readList(raw)
	}
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	list, isList := findMember(members, "templates")
	switch {
	case isList && !isRules(list):
		return s.readNew(members)
	case hasMember(members, "tags", '{'):
		return s.readTemplate(raw)
	}
	return s.readOld(members)
}

func (s *Set) readNew(members prop.Members) error {
	for _, m := range members {
		switch m.Name {
		case "templates":
			if err := s.readList(m.Value); err != nil {
				return err
			}
		case "select":
			text, err := optionalText(m.Value)
			if err != nil {
				return fmt.Errorf("%q %w", m.Name, err)
			}
			if text != "" {
				s.Select = text
			}
		default:
			s.noteUnknown("", "", 0, m.Name)
		}
	}
	return nil
}

func (s *Set) readList(raw json.RawMessage) error {
	var list []json.RawMessage
	if err := prop.Decode(string(raw), &list); err != nil {
		return fmt.Errorf(`"templates" %w`, err)
	}
	for _, raw := range list {
		if err := s.readTemplate(raw); err != nil {
			return err
		}
	}
	return nil
}

// readOld reads {tag: [rules]}: one template with priority 100, mandatory. An output_format
// may be among the tags.
func (s *Set) readOld(members prop.Members) error {
	priority := int64(100)
	t := &Template{label: "1", priority: &priority, Mandatory: true}
	for _, m := range members {
		if m.Name == "output_format" && m.Value[0] == '{' && !hasMember(objectOf(m.Value), "target", 0) {
			t.OutputFormat = m.Value
			continue
		}
		if err := s.readTag(t, m.Name, m.Value); err != nil {
			return err
		}
	}
	s.Templates = append(s.Templates, t)
	return nil
}

// noteUnknown remembers an unknown key.
func (s *Set) noteUnknown(template, tag string, rule int, key string) {
	if len(s.Unknown) == maxNotes {
		return
	}
	text := fmt.Sprintf("key %.80q", key)
	if at := placeName(template, tag, rule); at != "" {
		text = at + ": " + text
	}
	s.Unknown = append(s.Unknown, text)
}

func findMember(members prop.Members, name string) (json.RawMessage, bool) {
	for _, m := range slices.Backward(members) {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// hasMember reports whether an object has a member whose value begins with first; 0: with anything.
func hasMember(members prop.Members, name string, first byte) bool {
	raw, ok := findMember(members, name)
	return ok && (first == 0 || raw[0] == first)
}

func objectOf(raw json.RawMessage) (members prop.Members) {
	if prop.Decode(string(raw), &members) != nil {
		return nil
	}
	return members
}

// isRules reports whether raw is the list of rules of a tag: a tag may be named "templates", too.
func isRules(raw json.RawMessage) bool {
	var list []json.RawMessage
	return raw[0] != '[' || json.Unmarshal(raw, &list) != nil || len(list) > 0 && (list[0][0] == '"' || hasMember(objectOf(list[0]), "target", 0))
}

// WhyNot says why For leaves the template out, if it does so.
func (t *Template) WhyNot() string {
	switch c := &t.condition; {
	case t.disabled:
		return "its state is 0"
	case c.fault != "":
		return "its condition " + c.fault
	default:
		return fmt.Sprintf("its condition does not hold: %s has to match %s from the start", c.field, c.pattern)
	}
}
