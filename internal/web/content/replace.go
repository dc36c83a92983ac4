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
	// A text that REPLACE makes more than growthRatio times as large, and larger
	// than growthFree bytes, is a slip of the pen, such as a pattern that matches
	// between any two letters.
	growthRatio = 4
	growthFree  = 1 << 20
)

// ErrGrowth says that a rule of REPLACE would blow a page up.
var ErrGrowth = errors.New("result is too large")

// Replace is REPLACE: what is changed in a page after it was fetched.
type Replace struct{ rules []replaceRule }

type replaceRule struct {
	what      Regexp
	with      string
	condition string // SQL over the row of the URL, "" for always
}

// ParseReplace reads a list of {"WHERE": "RAW", "WHAT": pattern, "WITH": text,
// "CONDITION": SQL}. compile makes a pattern; the condition is not looked at.
// One rule does not need its list.
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
		return replaceRule{}, fmt.Errorf(`has %.80q at "WHERE", where "RAW" is wanted`, v.Where)
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

// Apply returns text with the rules applied one after the other, each to what
// the one before left. holds is asked for each rule that has a condition; a nil
// one knows none. A rule that fails changes nothing and stops no other; the
// errors name such rules by their number.
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
			errs = append(errs, fmt.Errorf("content.Replace: rule %d: %w", i+1, err))
		}
	}
	return text, errors.Join(errs...)
}

func (r replaceRule) applies(holds func(string) (bool, error)) (bool, error) {
	switch {
	case r.condition == "":
		return true, nil
	case holds == nil:
		return false, errors.New("its condition cannot be asked here")
	}
	return holds(r.condition)
}
