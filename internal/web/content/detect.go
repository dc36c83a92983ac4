package content

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// AutoDetect is the property MIME_TYPE_AUTO_DETECT: for which pages the type is detected
// from the content.
type AutoDetect struct {
	always bool
	heads  bool
	rules  []detectRule
}

// Values of a rule's mode: the declared type for which the rule holds.
const (
	detectAlways  = 0
	detectUnknown = 1 // missing or meaningless
	detectListed  = 2 // in content_types
	detectOthers  = 3 // not in content_types
)

// detectRule holds if all of its conditions hold; a missing condition holds.
type detectRule struct {
	url      *pyregexp.Regexp
	mode     prop.Int
	urlTypes []int64
	parent   *prop.Int // 0 for roots, 1 for others
	types    Types
}

// ParseAutoDetect parses "0" (off), "1" (detect from content), "2" (as 1, with a HEAD
// request for each link), or a list of rules, one of which must hold.
func ParseAutoDetect(text string) (AutoDetect, error) {
	if strings.TrimSpace(text) == "" {
		return AutoDetect{}, nil
	}
	if strings.IndexByte("{[", strings.TrimSpace(text)[0]) >= 0 {
		rules, err := parseRules(text, maxEntries, parseDetectRule)
		return AutoDetect{rules: rules}, err
	}
	var number prop.Int
	if err := prop.Decode(text, &number); err != nil {
		return AutoDetect{}, err
	}
	if number < 0 || number > 2 {
		return AutoDetect{}, fmt.Errorf("has %d; expected 0, 1, 2 or a list of rules", number)
	}
	return AutoDetect{always: number > 0, heads: number == 2}, nil
}

// parseRules parses a list of at most most rules, or a single rule. It returns nil on error.
func parseRules[T any](text string, most int, parse func(json.RawMessage) (T, error)) ([]T, error) {
	list := []json.RawMessage{[]byte(text)}
	if strings.TrimSpace(text) == "" || strings.TrimSpace(text)[0] != '{' {
		if err := prop.Decode(text, &list); err != nil {
			return nil, err
		}
	}
	if len(list) > most {
		return nil, fmt.Errorf("has more than %d rules", most)
	}
	var rules []T
	for i, element := range list {
		rule, err := parse(element)
		if err != nil {
			return nil, fmt.Errorf("has a rule %d that %w", i+1, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseDetectRule(raw json.RawMessage) (detectRule, error) {
	var v struct {
		URL      string     `json:"url_expression"`
		Mode     prop.Int   `json:"mode"`
		URLTypes prop.Texts `json:"url_types"`
		Parent   *prop.Int  `json:"url_parent"`
		Types    prop.Texts `json:"content_types"`
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return detectRule{}, err
	}
	rule := detectRule{mode: v.Mode, parent: v.Parent}
	if rule.mode < detectAlways || rule.mode > detectOthers {
		return detectRule{}, fmt.Errorf(`has %d at "mode"; expected 0 to 3`, rule.mode)
	}
	if p := rule.parent; p != nil && *p != 0 && *p != 1 {
		return detectRule{}, fmt.Errorf(`has %d at "url_parent"; expected 0 or 1`, *p)
	}
	for _, text := range v.URLTypes {
		var n prop.Int
		if err := n.UnmarshalJSON([]byte(strconv.Quote(text))); err != nil {
			return detectRule{}, fmt.Errorf(`has %.80q at "url_types"; expected a number`, text)
		}
		rule.urlTypes = append(rule.urlTypes, int64(n))
	}
	if len(v.Types) > 0 {
		var err error
		if rule.types, err = ParseTypes(strings.Join(v.Types, ",")); err != nil {
			return detectRule{}, err
		}
	}
	if v.URL != "" {
		var err error
		if rule.url, err = pyregexp.Compile(v.URL); err != nil {
			return detectRule{}, fmt.Errorf(`has a bad pattern at "url_expression": %w`, err)
		}
	}
	return rule, nil
}

// Detects reports whether the type of a page is detected from its content. url and urlType
// are columns of its row, root says that it has no parent, kind is the declared type ("" if
// unknown).
func (a AutoDetect) Detects(url string, urlType int64, root bool, kind string) bool {
	if a.always {
		return true
	}
	return slices.ContainsFunc(a.rules, func(r detectRule) bool { return r.appliesTo(url, urlType, root, kind) })
}

// HeadsLinks reports whether each link gets a HEAD request for its type.
func (a AutoDetect) HeadsLinks() bool { return a.heads }

func (r detectRule) appliesTo(url string, urlType int64, root bool, kind string) bool {
	switch {
	case len(r.urlTypes) > 0 && !slices.Contains(r.urlTypes, urlType):
		return false
	case r.parent != nil && (*r.parent == 0) != root:
		return false
	case r.mode == detectUnknown && kind != "" && !meaningless[kind] && kind != typeBinary:
		return false
	case r.mode == detectListed && !r.types.listsType(kind):
		return false
	case r.mode == detectOthers && r.types.listsType(kind):
		return false
	}
	return r.url == nil || r.url.MatchString(url) // last, because it is the slowest
}
