package trap

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// scope says to which URLs a finding applies: those of the path of its pages, if all have the same one, with their
// actions, and with one of the parameters of a finding.
type scope struct {
	path  string   // expression; "" for any path
	parts []string // actions, such as a=log, in the order of the URLs; "" is the place of the first of names
	names []string
}

func scopeOf(list []page, names []string) scope {
	s := scope{names: names}
	if path := pathOf(list[0].path); path != "/" && onePath(list) {
		s.path = regexp.QuoteMeta(path)
	}
	for _, p := range list[0].params {
		switch action := p.featureName(); {
		case slices.Contains(names, p.name):
			if !slices.Contains(s.parts, "") {
				s.parts = append(s.parts, "")
			}
		case !strings.HasSuffix(action, "="):
			s.parts = append(s.parts, regexp.QuoteMeta(action))
		}
	}
	return s
}

// paramStart is the expression of what stands before a parameter, where char may be between the path and it.
func (s scope) paramStart(char string) string {
	if s.path == "" {
		return "[?&;]"
	}
	return s.path + "[?;](?:" + char + "*[&;])?"
}

// urlExpression is the expression of the URLs.
func (s scope) urlExpression() string {
	rule := s.paramStart(".")
	for i, part := range s.parts {
		last := i == len(s.parts)-1
		switch {
		case part == "" && last:
			rule += alternativesOf(s.names) + "="
		case part == "":
			rule += alternativesOf(s.names) + "=.*[&;]"
		case last:
			rule += part + "(?:[&;#]|$)"
		default:
			rule += part + "[&;](?:.*[&;])?"
		}
	}
	return rule
}

// removalMembers are members of an object of URL_NORMALIZE that remove the parameters from URLs of the scope, and from no others.
func (s scope) removalMembers() (list [][2]string) {
	at := slices.Index(s.parts, "")
	before, after := s.paramStart("[^#]"), ""
	for _, action := range s.parts[:at] {
		before += action + "[&;](?:[^#]*[&;])?"
	}
	for i, action := range s.parts[at+1:] {
		if after += "(?:[^#]*[&;])?" + action; i == len(s.parts)-at-2 {
			after += "(?:[&;#]|$)"
		} else {
			after += "[&;]"
		}
	}
	for _, name := range s.names { // one at a time: an expression takes the separator of the next one
		one := "(" + before + ")" + regexp.QuoteMeta(name) + "=[^?&;#]*"
		if after == "" {
			list = append(list, [2]string{one + "[&;]?", `\1`})
		} else {
			list = append(list, [2]string{one + "[&;](" + after + ")", `\1\2`})
		}
	}
	return list
}

// Normalize is the property URL_NORMALIZE=… that removes the parameters of findings from links.
func Normalize(findings []Finding) string {
	var replace []map[string]string
	for _, f := range findings {
		for _, r := range f.scope.removalMembers() {
			replace = append(replace, map[string]string{r[0]: r[1]})
		}
	}
	replace = append(replace, map[string]string{"[?&;]+(?=[?#]|$)": ""})
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // the text is for people, too
	_ = e.Encode(map[string]any{"replace": replace})
	return "URL_NORMALIZE=" + strings.TrimSpace(text.String())
}

// alternativesOf is the expression of one of the names.
func alternativesOf(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	slices.Sort(quoted)
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "(?:" + strings.Join(quoted, "|") + ")"
}

// pathOf is a path without scheme and host.
func pathOf(path string) string {
	_, path, _ = strings.Cut(path, "://")
	return path[max(strings.IndexByte(path, '/'), 0):]
}

// dateRule is the expression of a path with any dates.
func dateRule(path string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(foldDates(pathOf(path))), "#", "[0-9]+") + "(?:[?]|$)"
}
