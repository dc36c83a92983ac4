package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Types of rules.
const (
	typeText      = "text"
	typeHTML      = "html"
	typeDatetime  = "datetime"
	typeImage     = "image"
	typeLink      = "link"
	typeAttribute = "attribute"
	typeRecords   = result.TypeRecords // of a rule with tags
)

// Joins of rules.
const (
	joinFirst  = "first"
	joinBest   = "best"
	joinConcat = "concat"
)

// rule says what to take from a page for a tag (docs/spec/processing.md 3.2).
type rule struct {
	path         string // its target
	kind, join   string
	format       format
	alternative  string // value if nothing is found
	mandatory    bool
	delimiter    string // between matches; "": the default
	inner        string // between texts of a match; "": the default
	post         *pyregexp.Regexp
	exclude      *exclusion
	canonicalize bool
	fields       []tag // of each match, for the type records

	target *target // nil: the target cannot be followed
	faults []fault
}

// fault is a part of a rule that cannot be followed on any page.
type fault struct {
	bits    errormask.Mask
	message string
}

func (r *rule) addFault(bits errormask.Mask, format string, args ...any) {
	r.faults = append(r.faults, fault{bits, fmt.Sprintf(format, args...)})
}

// readRule reads a rule: an object, or the text of its target.
func (s *Set) readRule(t *Template, tag string, number int, raw json.RawMessage) (*rule, error) {
	r := &rule{kind: typeText, join: joinFirst}
	var kind, join, options, post string
	if raw[0] == '"' {
		if err := textReader(&r.path)(raw); err != nil {
			return nil, err
		}
	} else {
		keys := readers{
			"target": textReader(&r.path), "join": textReader(&join), "format": textReader(&options), "default": textReader(&r.alternative),
			"mandatory": boolReader(&r.mandatory), "delimiter": textReader(&r.delimiter), "delimiter_sub_items": textReader(&r.inner),
			"postProcessing": textReader(&post), "canonicalizeURLs": boolReader(&r.canonicalize), "begin": ignoreKey, "end": ignoreKey,
			"type":              func(raw json.RawMessage) error { return readType(raw, &kind, &options) },
			"tags":              func(raw json.RawMessage) error { return s.readFields(t, r, raw) },
			"attributesExclude": func(raw json.RawMessage) error { return r.readExclusion(raw) },
		}
		if err := keys.readObject(raw, func(key string) { s.noteUnknown(t.label, tag, number, key) }); err != nil {
			return nil, err
		}
	}
	r.compileParts(kind, join, options, post)
	return r, nil
}

// maxDepth bounds lists of objects inside of each other.
const maxDepth = 4

// readFields reads the tags of the objects of a rule.
func (s *Set) readFields(t *Template, r *rule, raw json.RawMessage) error {
	inner := &Template{label: t.label, depth: t.depth + 1}
	if inner.depth > maxDepth {
		return fmt.Errorf("is inside of %d other lists of objects; the limit is %d", t.depth, maxDepth-1)
	}
	if err := s.readTags(inner, raw); err != nil {
		return err
	}
	if r.fields = inner.tags; len(r.fields) == 0 {
		return errors.New("is empty")
	}
	return nil
}

// readType reads the type of a rule, also in its old form {"name", "format"}.
func readType(raw json.RawMessage, kind, options *string) error {
	if raw[0] != '{' {
		return textReader(kind)(raw)
	}
	inner := ""
	keys := readers{"name": textReader(kind), "format": textReader(&inner)}
	if err := keys.readObject(raw, func(string) {}); err != nil {
		return err
	}
	if *options == "" {
		*options = inner
	}
	return nil
}

// compileParts sets the compiled parts of a rule. What cannot be followed is a fault.
func (r *rule) compileParts(kind, join, options, post string) {
	switch kind = strings.ToLower(strings.TrimSpace(kind)); {
	case r.fields != nil:
		if r.kind = typeRecords; kind != "" && kind != typeRecords || options != "" || post != "" {
			r.addFault(errormask.Scraper, `a rule with "tags" gives a list of objects; its "type", "format" and "postProcessing" have no effect`)
		}
		options, post = "", ""
		if r.alternative != "" && !isList(r.alternative) {
			r.addFault(errormask.Scraper, `"default" has %.80q; expected a JSON list; there is no default`, r.alternative)
			r.alternative = ""
		}
	case kind == "":
	case kind == typeText, kind == typeHTML, kind == typeDatetime, kind == typeImage, kind == typeLink, kind == typeAttribute:
		r.kind = kind
	case kind == typeRecords:
		r.addFault(errormask.Scraper, `"type" is records, but "tags" is missing, which names the fields of an object; text is used`)
	default:
		r.addFault(errormask.Scraper, `"type" has %.80q; expected text, html, datetime, image, link, attribute or records; text is used`, kind)
	}
	switch join = strings.ToLower(strings.TrimSpace(join)); join {
	case "":
	case joinFirst, joinBest, joinConcat:
		r.join = join
	default:
		r.addFault(errormask.Scraper, `"join" has %.80q; expected first, best or concat; first is used`, join)
	}
	r.setFormat(options)
	if post != "" {
		re, err := pyregexp.Compile(post)
		if err != nil {
			r.addFault(errormask.Regexp, `"postProcessing" has an invalid expression %.80q: %v; the value stays as it is`, post, err)
		}
		r.post = re
	}
	var err error
	if r.target, err = newTarget(r.path); err != nil {
		r.addFault(errormask.Scraper, `"target": %v`, err)
	}
}

// exclusion drops or keeps elements by their attributes.
type exclusion struct {
	include bool
	bare    bool // elements without attributes pass, if include is set
	any     *pyregexp.Regexp
	named   map[string]*pyregexp.Regexp
}

// readExclusion reads attributesExclude: an object, or its JSON text.
func (r *rule) readExclusion(raw json.RawMessage) error {
	if raw[0] == '"' {
		inner := ""
		if err := textReader(&inner)(raw); err != nil {
			return err
		}
		if inner = strings.TrimSpace(inner); inner == "" {
			return nil
		}
		raw = json.RawMessage(inner)
	}
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	e := &exclusion{named: map[string]*pyregexp.Regexp{}}
	for _, m := range members {
		if err := r.readExcluded(e, m); err != nil {
			return err
		}
	}
	if e.any != nil || len(e.named) > 0 || e.bare {
		r.exclude = e
	}
	return nil
}

func (r *rule) readExcluded(e *exclusion, m prop.Member) error {
	if m.Name == "NO_ATTRIBUTES" {
		text := string(m.Value)
		e.bare = text != "0" && text != `"0"` && text != "false" && text != "null"
		return nil
	}
	value, err := optionalText(m.Value)
	if err != nil {
		return fmt.Errorf("%w at %.80q", err, m.Name)
	}
	if m.Name == "TYPE" {
		switch kind := strings.ToLower(strings.TrimSpace(value)); kind {
		case "include", "exclude":
			e.include = kind == "include"
		default:
			r.addFault(errormask.Scraper, `"attributesExclude" has the TYPE %.80q; expected include or exclude; exclude is used`, value)
		}
		return nil
	}
	re, err := pyregexp.Compile(value)
	if err != nil {
		r.addFault(errormask.Regexp, `"attributesExclude" has an invalid expression %.80q at %.80q: %v; it is ignored`, value, m.Name, err)
		return nil
	}
	if m.Name == "*" {
		e.any = re
	} else {
		e.named[strings.ToLower(m.Name)] = re
	}
	return nil
}
