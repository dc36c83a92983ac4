package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

const (
	// maxRules bounds the rules of REPLACE: each costs a pass over each page.
	maxRules = 100
	// A rule may double the text, and all rules together may multiply it by growthRatio, in
	// addition to growthFree bytes. More is a mistake, such as a pattern that matches the
	// empty string.
	growthRatio = 4
	growthFree  = 1 << 20
)

// Replace is the property REPLACE: substitutions in a page after it was fetched.
type Replace struct{ rules []replaceRule }

type replaceRule struct {
	what      *pyregexp.Regexp
	with      string
	condition string // SQL over the row of the URL, "" for always
}

// ParseReplace parses a list of {"WHERE": "RAW", "WHAT": pattern, "WITH": text,
// "CONDITION": SQL}, or a single such object. The condition is not parsed.
func ParseReplace(text string) (Replace, error) {
	rules, err := parseRules(text, maxRules, parseReplaceRule)
	return Replace{rules}, err
}

func parseReplaceRule(raw json.RawMessage) (replaceRule, error) {
	var v struct {
		Where, What, With, Condition string
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return replaceRule{}, err
	}
	switch {
	case v.Where != "" && !strings.EqualFold(strings.TrimSpace(v.Where), "RAW"):
		return replaceRule{}, fmt.Errorf(`has %.80q at "WHERE"; expected "RAW"`, v.Where)
	case v.What == "":
		return replaceRule{}, errors.New(`has no pattern at "WHAT"`)
	}
	what, err := pyregexp.Compile(v.What)
	if err != nil {
		return replaceRule{}, fmt.Errorf(`has a bad pattern at "WHAT": %w`, err)
	}
	return replaceRule{what: what, with: v.With, condition: strings.TrimSpace(v.Condition)}, nil
}

// Any reports whether there is a rule.
func (r Replace) Any() bool { return len(r.rules) > 0 }

// Apply applies the rules to text one after the other. holds evaluates the condition of a
// rule; if holds is nil, a rule with a condition fails. A failed rule changes nothing and
// does not stop the others; the errors name failed rules by number.
func (r Replace) Apply(text string, holds func(condition string) (bool, error)) (string, error) {
	limit := len(text)*growthRatio + growthFree
	var errs []error
	for i, rule := range r.rules {
		ok, err := rule.conditionHolds(holds)
		if err == nil && ok {
			text, err = rule.replaceMatches(text, min(limit, 2*len(text)+growthFree))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("apply REPLACE rule %d: %w", i+1, err))
		}
	}
	return text, errors.Join(errs...)
}

func (r replaceRule) conditionHolds(holds func(string) (bool, error)) (bool, error) {
	switch {
	case r.condition == "":
		return true, nil
	case holds == nil:
		return false, errors.New("its condition cannot be evaluated here")
	}
	return holds(r.condition)
}

// replaceMatches returns text with each match replaced, or text and an error.
func (r replaceRule) replaceMatches(text string, limit int) (string, error) {
	template, err := r.what.Template(r.with)
	if err != nil {
		return text, err
	}
	replaced, ok := r.what.Replace(text, template, limit)
	if !ok {
		err = errors.New("takes too long, or makes the page too long")
	}
	return replaced, err
}
