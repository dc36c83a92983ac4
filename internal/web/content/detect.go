package content

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Regexp is a compiled pattern. ReplaceAll reads with in the syntax of the
// pattern's own dialect, and has to bound the time it takes and the text it
// makes: both come from outside.
type Regexp interface {
	MatchString(text string) bool
	ReplaceAll(text, with string) (string, error)
}

// AutoDetect is MIME_TYPE_AUTO_DETECT: whose type is found from the content.
type AutoDetect struct {
	always bool
	heads  bool
	rules  []detectRule
}

// What the type must be for a rule to hold.
const (
	detectAlways  = 0
	detectUnknown = 1 // unknown to the server
	detectListed  = 2 // one of content_types
	detectOthers  = 3 // none of them
)

// detectRule holds when all of its conditions do; those not given always do.
type detectRule struct {
	url      Regexp
	mode     prop.Int
	urlTypes []int64
	parent   *prop.Int // 0 for roots, 1 for others
	types    Types
}

// ParseAutoDetect reads "1" (content), "2" (content, and a HEAD request for each
// link), "0" (off), or a list of rules, of which one is enough. compile makes the
// url_expression of a rule.
func ParseAutoDetect(text string, compile func(string) (Regexp, error)) (AutoDetect, error) {
	if strings.TrimSpace(text) == "" {
		return AutoDetect{}, nil
	}
	var raw json.RawMessage
	if err := prop.Decode(text, &raw); err != nil {
		return AutoDetect{}, err
	}
	list := []json.RawMessage{raw}
	switch raw[0] {
	case '{':
	case '[':
		if err := prop.Decode(text, &list); err != nil {
			return AutoDetect{}, err
		}
	default:
		var number prop.Int
		if err := number.UnmarshalJSON(raw); err != nil {
			return AutoDetect{}, err
		}
		if number < 0 || number > 2 {
			return AutoDetect{}, fmt.Errorf("has %d, where 0, 1, 2 or a list of rules is wanted", number)
		}
		return AutoDetect{always: number > 0, heads: number == 2}, nil
	}
	if len(list) > maxEntries {
		return AutoDetect{}, fmt.Errorf("has more than %d rules", maxEntries)
	}
	var detect AutoDetect
	for i, element := range list {
		rule, err := parseDetectRule(element, compile)
		if err != nil {
			return AutoDetect{}, fmt.Errorf("has a rule %d that %w", i+1, err)
		}
		detect.rules = append(detect.rules, rule)
	}
	return detect, nil
}

func parseDetectRule(raw json.RawMessage, compile func(string) (Regexp, error)) (detectRule, error) {
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
		return detectRule{}, fmt.Errorf(`has %d at "mode", where 0 to 3 is wanted`, rule.mode)
	}
	if p := rule.parent; p != nil && *p != 0 && *p != 1 {
		return detectRule{}, fmt.Errorf(`has %d at "url_parent", where 0 or 1 is wanted`, *p)
	}
	for _, text := range v.URLTypes {
		var n prop.Int
		if err := n.UnmarshalJSON([]byte(quoted(text))); err != nil {
			return detectRule{}, fmt.Errorf(`has %.80q at "url_types", where a number is wanted`, text)
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
		if rule.url, err = compile(v.URL); err != nil {
			return detectRule{}, fmt.Errorf(`has a bad pattern at "url_expression": %w`, err)
		}
	}
	return rule, nil
}

// Detects reports whether the type of a page is found from its content: url and
// urlType are those of its row, root tells that it has no parent, and kind is
// the type so far, "" when the server did not say.
func (a AutoDetect) Detects(url string, urlType int64, root bool, kind string) bool {
	if a.always {
		return true
	}
	return slices.ContainsFunc(a.rules, func(r detectRule) bool { return r.holds(url, urlType, root, kind) })
}

// HeadsLinks reports whether the type of each link is asked for by a HEAD
// request.
func (a AutoDetect) HeadsLinks() bool { return a.heads }

func (r detectRule) holds(url string, urlType int64, root bool, kind string) bool {
	switch {
	case len(r.urlTypes) > 0 && !slices.Contains(r.urlTypes, urlType):
		return false
	case r.parent != nil && (*r.parent == 0) != root:
		return false
	case r.mode == detectUnknown && kind != "" && !saysNothing[kind] && kind != typeBinary:
		return false
	case r.mode == detectListed && !r.types.names(kind):
		return false
	case r.mode == detectOthers && r.types.names(kind):
		return false
	}
	return r.url == nil || r.url.MatchString(url) // last, as it costs most
}

// quoted is text as a JSON text.
func quoted(text string) string {
	b, _ := json.Marshal(text) // texts always can be
	return string(b)
}
