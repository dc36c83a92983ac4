package extractor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/prop"
)

// Rules are expressions by host and tag, of ScrapyExtractor (docs/spec/processing.md 2.3).
// They are immutable.
type Rules struct {
	hosts []hostRules
}

// hostRules are the rules of one key of a rule set.
type hostRules struct {
	key      string
	patterns []*pyregexp.Regexp // searched in host names
	tags     tagRules
}

// tagRules are the rules of the tags of a host.
type tagRules map[string]*tagRule

// tagRule finds the value of a tag.
type tagRule struct {
	steps   []step
	replace []replacement
	exclude []exclusion
}

// step is one expression of a list, or a stop.
type step struct {
	text   string
	target xpath.Selector
	stop   stop
}

// stop ends a list of expressions without a value.
type stop uint8

const (
	goOn     stop = iota
	stopHere      // "none": this extractor has no value
	stopAll       // "": no later extractor may have one
)

type replacement struct {
	re *pyregexp.Regexp
	by pyregexp.Template
}

// exclusion drops elements of a name from texts; with attr only those whose attribute has the
// value or matches re.
type exclusion struct {
	name, attr, value string
	re                *pyregexp.Regexp
}

// Bounds of the rules of a site.
const (
	maxRuleBytes = 4 << 20
	maxSteps     = 200      // expressions of one tag
	maxValue     = 16 << 20 // bytes of a value after replace
)

// ParseRules reads one rule set: JSON {"<host patterns>":{"<tag>":["<expression>",…]}}.
func ParseRules(text string) (*Rules, error) {
	if len(text) > maxRuleBytes {
		return nil, fmt.Errorf("has rules of %d bytes; the limit is %d", len(text), maxRuleBytes)
	}
	var keys prop.Members
	if err := prop.Decode(text, &keys); err != nil {
		return nil, err
	}
	r := &Rules{}
	for _, key := range keys {
		h := hostRules{key: strings.TrimSpace(key.Name), tags: tagRules{}}
		for part := range strings.FieldsSeq(h.key) {
			if part == "*" {
				continue
			}
			re, err := pyregexp.CompileFold(part)
			if err != nil {
				return nil, fmt.Errorf("has a wrong host pattern %.80q: %w", part, err)
			}
			h.patterns = append(h.patterns, re)
		}
		var tags map[string]json.RawMessage
		if err := json.Unmarshal(key.Value, &tags); err != nil {
			return nil, fmt.Errorf("has no object of tags for the hosts %.80q", key.Name)
		}
		for tag, raw := range tags {
			rule, err := parseRule(raw)
			if err != nil {
				return nil, fmt.Errorf("tag %.60q of the hosts %.80q %w", tag, key.Name, err)
			}
			h.tags[tag] = rule
		}
		r.hosts = append(r.hosts, h)
	}
	return r, nil
}

// ParsePreconfigured reads SCRAPER_SCRAPY_PRECONFIGURED: {"sets":[{"<name>":<rules>},…]}. Rules are
// an object or its text; files are refused, because a site may not read files of the
// machine. Rules of earlier sets come first.
func ParsePreconfigured(text string) (*Rules, error) {
	var v struct {
		Sets []prop.Members `json:"sets"`
	}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	all := &Rules{}
	for _, sets := range v.Sets {
		for _, set := range sets {
			text := strings.TrimSpace(rawText(set.Value))
			if !strings.HasPrefix(text, "{") {
				return nil, fmt.Errorf("has the file %.80q for the rule set %.60q; write its rules into the property", text, set.Name)
			}
			r, err := ParseRules(text)
			if err != nil {
				return nil, fmt.Errorf("has a wrong rule set %.60q: %w", set.Name, err)
			}
			all.hosts = append(all.hosts, r.hosts...)
		}
	}
	if len(all.hosts) == 0 {
		return nil, errors.New(`has no rules; expected {"sets":[{"<name>":{"<hosts>":{"<tag>":["<expression>"]}}}]}`)
	}
	return all, nil
}

// parseRule reads a list of expressions, or an object with the list, replace and exclude.
func parseRule(raw json.RawMessage) (*tagRule, error) {
	var v struct {
		XPath   prop.Texts                   `json:"xpath"`
		Replace prop.Members                 `json:"replace"`
		Exclude []map[string]json.RawMessage `json:"exclude"`
	}
	text := string(raw)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		text = `{"xpath":` + text + `}`
	}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	if len(v.XPath) > maxSteps {
		return nil, fmt.Errorf("has %d expressions; the limit is %d", len(v.XPath), maxSteps)
	}
	rule := &tagRule{}
	for _, line := range v.XPath {
		if s, enabled, err := parseStep(line); err != nil {
			return nil, fmt.Errorf("has a wrong expression: %w", err)
		} else if enabled {
			rule.steps = append(rule.steps, s)
		}
	}
	for _, m := range v.Replace {
		re, err := pyregexp.Compile("(?is)" + m.Name)
		if err != nil {
			return nil, fmt.Errorf("has a wrong pattern in replace: %w", err)
		}
		text, err := prop.Text(m.Value)
		if err != nil {
			return nil, fmt.Errorf("in replace %w", err)
		}
		by, err := re.Template(text)
		if err != nil {
			return nil, fmt.Errorf("has a wrong %w", err)
		}
		rule.replace = append(rule.replace, replacement{re, by})
	}
	for _, tags := range v.Exclude {
		for name, raw := range tags {
			if err := rule.addExclusion(name, raw); err != nil {
				return nil, err
			}
		}
	}
	return rule, nil
}

// parseStep reads a line of a list. A line that begins with ; is disabled, also one with #
// unless that begins a CSS selector.
func parseStep(line string) (s step, enabled bool, err error) {
	s.text = strings.TrimSpace(line)
	switch {
	case s.text == "":
		s.stop = stopAll
	case strings.EqualFold(s.text, "none"):
		s.stop = stopHere
	case s.text[0] == ';' || s.text[0] == '#' && !startsID(s.text[1:]):
		return s, false, nil
	default:
		s.target, err = xpath.Target(s.text)
	}
	return s, true, err
}

// startsID reports whether text begins like the id of a CSS selector.
func startsID(text string) bool {
	if text == "" {
		return false
	}
	c := text[0] | 0x20
	return c >= 'a' && c <= 'z' || text[0] == '_' || text[0] == '-' || text[0] == '\\' || text[0] >= 0x80
}

// addExclusion adds the exclusion of elements: raw is null or {"attr":"value" or "/regexp"}.
func (r *tagRule) addExclusion(name string, raw json.RawMessage) error {
	name = strings.ToLower(strings.TrimSpace(name))
	var attrs map[string]string
	if err := json.Unmarshal(raw, &attrs); err != nil {
		return fmt.Errorf("in exclude of %.60q has %s; expected null or an object of attributes", name, prop.Clip(string(raw)))
	}
	if len(attrs) == 0 {
		r.exclude = append(r.exclude, exclusion{name: name})
	}
	for attr, value := range attrs {
		x := exclusion{name: name, attr: strings.ToLower(attr), value: value}
		if pattern, ok := strings.CutPrefix(value, "/"); ok {
			re, err := pyregexp.Compile(pattern)
			if err != nil {
				return fmt.Errorf("in exclude of %.60q has a wrong pattern: %w", name, err)
			}
			x.re = re
		}
		r.exclude = append(r.exclude, x)
	}
	return nil
}

// forHosts returns the rules of the first of the hosts that has some, completed by those of
// the key "*". A host is a host name or a URL.
func (r *Rules) forHosts(hosts []string) tagRules {
	tags := tagRules{}
	for _, host := range hosts {
		if h := r.lookUp(hostName(host)); h != nil {
			tags.addRules(h.tags)
			break
		}
	}
	for _, h := range r.hosts {
		if h.key == "*" {
			tags.addRules(h.tags)
		}
	}
	return tags
}

// addRules appends the steps of more to those of t.
func (t tagRules) addRules(more tagRules) {
	for tag, rule := range more {
		if old, ok := t[tag]; ok {
			t[tag] = &tagRule{
				steps:   append(old.steps[:len(old.steps):len(old.steps)], rule.steps...),
				replace: append(old.replace[:len(old.replace):len(old.replace)], rule.replace...),
				exclude: append(old.exclude[:len(old.exclude):len(old.exclude)], rule.exclude...),
			}
		} else {
			t[tag] = rule
		}
	}
}

// lookUp returns the rules of a host: the first key with a pattern in it, else the key that
// is the host or one of its parent domains, or nil.
func (r *Rules) lookUp(host string) *hostRules {
	if host == "" {
		return nil
	}
	for i := range r.hosts {
		for _, re := range r.hosts[i].patterns {
			if re.MatchString(host) {
				return &r.hosts[i]
			}
		}
	}
	for domain, more := host, true; more; _, domain, more = strings.Cut(domain, ".") {
		for i := range r.hosts {
			if r.hosts[i].key == domain {
				return &r.hosts[i]
			}
		}
	}
	return nil
}

// hostName returns the host of a URL or host name, in lower case, without www, user and port.
func hostName(text string) string {
	if !strings.Contains(text, "//") {
		text = "//" + text
	}
	u, err := canonical.Net(text)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}
