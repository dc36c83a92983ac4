package extractor

import (
	"fmt"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Validator drops values of tags: tagsValidator of PROCESSOR_PROPERTIES. The zero value keeps
// all.
type Validator struct {
	checks map[string]map[string]check // by extractor and tag
}

// check keeps the values that begin with a match, or drops them.
type check struct {
	re      *pyregexp.Regexp
	exclude bool
}

// ParseValidator reads JSON {"<extractor>":{"<tag>":{"type":"include" or "exclude","RE":re}}}.
func ParseValidator(text string) (Validator, error) {
	v := Validator{checks: map[string]map[string]check{}}
	if strings.TrimSpace(text) == "" {
		return v, nil
	}
	var rules map[string]map[string]struct{ Type, RE string }
	if err := prop.Decode(text, &rules); err != nil {
		return Validator{}, err
	}
	for name, tags := range rules {
		name = fullName(name)
		if !isKnownEngine(name) {
			return Validator{}, unknownEngines([]string{name})
		}
		v.checks[name] = map[string]check{}
		for tag, rule := range tags {
			re, err := pyregexp.Compile(rule.RE)
			if err != nil {
				return Validator{}, fmt.Errorf("has a wrong RE for tag %.60q of %s: %w", tag, name, err)
			}
			switch rule.Type {
			case "include", "exclude":
			default:
				return Validator{}, fmt.Errorf("has type %.60q for tag %.60q of %s; expected include or exclude", rule.Type, tag, name)
			}
			v.checks[name][tag] = check{re, rule.Type == "exclude"}
		}
	}
	return v, nil
}

// validateTag drops the values of a tag that may not stay.
func (v Validator) validateTag(tag *result.Tag) {
	c, ok := v.checks[tag.Extractor][tag.Name]
	if !ok {
		return
	}
	var kept []string
	for _, value := range tag.Data {
		if c.re.MatchStart(value) != c.exclude {
			kept = append(kept, value)
		}
	}
	tag.Data = kept
}
