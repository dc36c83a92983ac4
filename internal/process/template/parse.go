package template

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
)

// readers are the readers of the keys of an object.
type readers map[string]func(json.RawMessage) error

// ignoreKey does nothing: the key has no effect.
func ignoreKey(json.RawMessage) error { return nil }

// readObject reads an object. null counts as an absent key.
func (keys readers) readObject(raw json.RawMessage, unknown func(key string)) error {
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	for _, m := range members {
		read := keys[m.Name]
		if read == nil {
			unknown(m.Name)
			continue
		}
		if string(m.Value) == "null" {
			continue
		}
		if err := read(m.Value); err != nil {
			return fmt.Errorf("%q %w", m.Name, err)
		}
	}
	return nil
}

// textReader reads a text, number or bool as text.
func textReader(to *string) func(json.RawMessage) error {
	return func(raw json.RawMessage) (err error) {
		*to, err = prop.Text(raw)
		return err
	}
}

func optionalText(raw json.RawMessage) (string, error) {
	if string(raw) == "null" {
		return "", nil
	}
	return prop.Text(raw)
}

// boolReader reads 0 or 1.
func boolReader(to *bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error { return (*prop.Bool)(to).UnmarshalJSON(raw) }
}

// readTemplate reads one T and adds it.
func (s *Set) readTemplate(raw json.RawMessage) error {
	t := &Template{label: strconv.Itoa(len(s.Templates) + 1)}
	if raw[0] != '{' {
		return fmt.Errorf("template %s is %s; expected an object", t.label, prop.Clip(string(raw)))
	}
	if name, ok := findMember(objectOf(raw), "name"); ok {
		if text, err := optionalText(name); err == nil && text != "" {
			t.Name, t.label = text, fmt.Sprintf("%.80q", text)
		}
	}
	enabled := true
	keys := readers{
		"name": textReader(&t.Name), "state": boolReader(&enabled), "mandatory": boolReader(&t.Mandatory), "is_filled": ignoreKey,
		"tags":          func(raw json.RawMessage) error { return s.readTags(t, raw) },
		"priority":      func(raw json.RawMessage) error { return readPriority(&t.priority, raw) },
		"condition":     func(raw json.RawMessage) error { return s.readCondition(t, raw) },
		"container":     func(raw json.RawMessage) error { return readContainer(t, raw) },
		"output_format": func(raw json.RawMessage) error { t.OutputFormat = raw; return nil },
	}
	if err := keys.readObject(raw, func(key string) { s.noteUnknown(t.label, "", 0, key) }); err != nil {
		return fmt.Errorf("template %s: %w", t.label, err)
	}
	t.disabled = !enabled
	s.Templates = append(s.Templates, t)
	return nil
}

func readPriority(to **int64, raw json.RawMessage) error {
	if string(raw) == `""` {
		return nil
	}
	var n prop.Int
	if err := n.UnmarshalJSON(raw); err != nil {
		return err
	}
	*to = (*int64)(&n)
	return nil
}

func (s *Set) readCondition(t *Template, raw json.RawMessage) error {
	var kind prop.Int
	if string(raw) == `""` {
		return nil
	}
	keys := readers{"type": func(raw json.RawMessage) error { return kind.UnmarshalJSON(raw) }, "field": textReader(&t.condition.field), "pattern": textReader(&t.condition.pattern)}
	if err := keys.readObject(raw, func(key string) { s.noteUnknown(t.label+", condition", "", 0, key) }); err != nil {
		return err
	}
	if kind != 0 {
		t.condition.fault = fmt.Sprintf("has the type %d; expected 0", kind)
		return nil
	}
	pattern := t.condition.pattern
	if pattern == "" {
		return nil
	}
	re, err := pyregexp.Compile(pattern)
	if err != nil {
		t.condition.fault = fmt.Sprintf("has an invalid pattern %.80q: %v", pattern, err)
	}
	t.condition.match = re
	return nil
}

func readContainer(t *Template, raw json.RawMessage) error {
	path := ""
	if err := textReader(&path)(raw); err != nil || path == "" {
		return err
	}
	c, err := newTarget(path)
	if err != nil {
		t.problems = append(t.problems, Problem{errormask.Scraper, t.label, "", 0, fmt.Sprintf(`"container": %v; it is guessed`, err)})
		return nil
	}
	t.container = c
	return nil
}

func (s *Set) readTags(t *Template, raw json.RawMessage) error {
	var members prop.Members
	if raw[0] == '[' && string(raw) != "[]" || raw[0] != '[' && raw[0] != '{' {
		return fmt.Errorf("is %s; expected an object", prop.Clip(string(raw)))
	}
	if raw[0] == '{' {
		if err := prop.Decode(string(raw), &members); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := s.readTag(t, m.Name, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// readTag reads the rules of a tag: a list, one rule, or the target of one rule. Of several
// tags of one name the last one counts.
func (s *Set) readTag(t *Template, name string, raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := prop.Decode(string(raw), &list); err != nil {
			return fmt.Errorf("tag %.80q %w", name, err)
		}
	}
	g := tag{name: name}
	for i, raw := range list {
		if s.rules++; s.rules > maxRules {
			return fmt.Errorf("has more than %d rules", maxRules)
		}
		r, err := s.readRule(t, name, i+1, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", placeName("", name, i+1), err)
		}
		g.rules = append(g.rules, r)
	}
	if len(g.rules) == 0 {
		return nil
	}
	for i := range t.tags {
		if t.tags[i].name == name {
			t.tags[i] = g
			return nil
		}
	}
	t.tags = append(t.tags, g)
	return nil
}
