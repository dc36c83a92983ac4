package trap

import (
	"regexp"
	"slices"
	"strings"
)

// address is a URL in parts.
type address struct {
	path   string // with scheme and host, without query and path parameters
	params []param
}

type param struct{ name, value string }

// splitURL splits a canonical URL. Parameters of the path, such as ;jsessionid=1, count as parameters.
func splitURL(url string) address {
	url, _, _ = strings.Cut(url, "#")
	path, query, _ := strings.Cut(url, "?")
	a := address{path: path}
	if name, rest, found := strings.Cut(path, ";"); found && !strings.Contains(rest, "/") {
		a.path, query = name, rest+"&"+query
	}
	for _, part := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		a.params = append(a.params, param{name, value})
	}
	return a
}

// actions are parameters whose value, a word, says what a page does, not which page it is.
var actions = []string{"do", "action", "a", "act", "mode", "op", "cmd", "view", "task", "format", "feed", "printable", "veaction", "redirect"}

// featureName is the name of a parameter, with its value if that is an action.
func (p param) featureName() string {
	word := p.value != "" && len(p.value) <= 24 && strings.Trim(strings.ToLower(p.value), "abcdefghijklmnopqrstuvwxyz_-") == ""
	if word && slices.Contains(actions, strings.ToLower(p.name)) {
		return p.name + "=" + p.value
	}
	return p.name + "="
}

// sortedFeatures are those of all parameters, sorted, each once.
func (a address) sortedFeatures() (list []string) {
	for _, p := range a.params {
		list = append(list, p.featureName())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// groupKey is the key of the group of the URL, "" if it belongs to none: the features of the query, or the path with
// folded dates.
func (a address) groupKey() string {
	if len(a.params) > 0 {
		return "?" + strings.Join(a.sortedFeatures(), "&")
	}
	if folded := foldDates(a.path); folded != a.path {
		return folded
	}
	return ""
}

// datePath are folders of dates: /2024/05, /2024-05-17, /202405.
var datePath = regexp.MustCompile(`/(?:(?:19|2[0-9])[0-9]{2}(?:/[0-9]{1,2}){1,2}|(?:19|2[0-9])[0-9]{2}-?[01][0-9](?:-?[0-3][0-9])?)(?:/|$)`)

// foldDates returns a path with # in place of the digits of its dates.
func foldDates(path string) string {
	if !strings.Contains(path, "/1") && !strings.Contains(path, "/2") {
		return path
	}
	return datePath.ReplaceAllStringFunc(path, func(date string) string { return digits.ReplaceAllString(date, "#") })
}

var digits = regexp.MustCompile(`[0-9]+`)

// withoutParams is the URL without the parameters of the names.
func (a address) withoutParams(names []string) string {
	var b strings.Builder
	b.WriteString(a.path)
	for _, p := range a.params {
		if !slices.Contains(names, p.name) {
			b.WriteString("&" + p.name + "=" + p.value)
		}
	}
	return b.String()
}

// dateNames are parts of names of parameters with dates.
var dateNames = []string{"year", "month", "week", "date", "day", "cal"}

var dateValue = regexp.MustCompile(`^(?:19|2[0-9])[0-9]{2}-?[01][0-9](?:-?[0-3][0-9])?$`)

// namesDate reports whether the URL names a date.
func (a address) namesDate() bool {
	if len(a.params) == 0 {
		return foldDates(a.path) != a.path
	}
	return slices.ContainsFunc(a.params, func(p param) bool { return a.datedBy(p.name) })
}

// datedBy reports whether a parameter is a date, or a part of one.
func (a address) datedBy(name string) bool {
	for _, p := range a.params {
		if p.name == name && (dateValue.MatchString(p.value) || digits.MatchString(p.value) && containsAny(name, dateNames)) {
			return true
		}
	}
	return false
}
