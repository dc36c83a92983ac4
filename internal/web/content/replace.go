package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/wire/prop"
)

const (
	// maxRules bounds the rules of REPLACE: each costs a pass over each page.
	maxRules = 100
	// A result that is more than growthRatio times as long as the text and longer than
	// growthFree bytes is a mistake, such as a pattern that matches the empty string.
	growthRatio = 4
	growthFree  = 1 << 20
)

// ErrGrowth says that the result of a REPLACE rule is too large.
var ErrGrowth = errors.New("result is too large")

// Replace is the property REPLACE: substitutions in a page after it was fetched.
type Replace struct{ rules []replaceRule }

type replaceRule struct {
	what      Regexp
	with      string
	condition string // SQL over the row of the URL, "" for always
}

// ParseReplace parses a list of {"WHERE": "RAW", "WHAT": pattern, "WITH": text,
// "CONDITION": SQL}, or a single such object. compile compiles a pattern. The condition is
// not parsed.
func ParseReplace(text string, compile func(string) (Regexp, error)) (Replace, error) {
	var raw json.RawMessage
	if err := prop.Decode(text, &raw); err != nil {
		return Replace{}, err
	}
	list := []json.RawMessage{raw}
	if raw[0] != '{' {
		if err := prop.Decode(text, &list); err != nil {
			return Replace{}, err
		}
	}
	if len(list) > maxRules {
		return Replace{}, fmt.Errorf("has more than %d rules", maxRules)
	}
	var replace Replace
	for i, element := range list {
		rule, err := parseReplaceRule(element, compile)
		if err != nil {
			return Replace{}, fmt.Errorf("has a rule %d that %w", i+1, err)
		}
		replace.rules = append(replace.rules, rule)
	}
	return replace, nil
}

func parseReplaceRule(raw json.RawMessage, compile func(string) (Regexp, error)) (replaceRule, error) {
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
	what, err := compile(v.What)
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
		ok, err := rule.applies(holds)
		if err == nil && ok {
			var changed string
			changed, err = rule.what.ReplaceAll(text, rule.with)
			switch {
			case err == nil && len(changed) > limit:
				err = fmt.Errorf("%w: %d bytes", ErrGrowth, len(changed))
			case err == nil:
				text = changed
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("apply REPLACE rule %d: %w", i+1, err))
		}
	}
	return text, errors.Join(errs...)
}

func (r replaceRule) applies(holds func(string) (bool, error)) (bool, error) {
	switch {
	case r.condition == "":
		return true, nil
	case holds == nil:
		return false, errors.New("its condition cannot be evaluated here")
	}
	return holds(r.condition)
}
