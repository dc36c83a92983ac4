package trap

import (
	"regexp"
	"slices"
	"strings"
)

// Finding is a trap.
type Finding struct {
	Kind    string   // in plain words, plural
	Rule    string   // regular expression of its URLs, also one of Python
	Names   []string // parameters; nil if an action or a path makes the trap
	Neutral bool     // Names change nothing: URLs without them have the same pages
	Pages   int      // of the sample
	Texts   int      // different ones

	re    *regexp.Regexp
	scope scope // of Names
}

// Holds reports whether a URL belongs to the trap.
func (f Finding) Holds(url string) bool { return f.re.MatchString(url) }

// Without is a URL without the parameters of the trap.
func (f Finding) Without(url string) string {
	a, b := splitURL(url), strings.Builder{}
	b.WriteString(a.path)
	sep := "?"
	for _, p := range a.params {
		if !slices.Contains(f.Names, p.name) {
			b.WriteString(sep + p.name + "=" + p.value)
			sep = "&"
		}
	}
	return b.String()
}

// findInGroup looks at pages of one group.
func (w *Watch) findInGroup(list []page) (Finding, bool) {
	f, ok := w.noIndex(list)
	if !ok {
		f, ok = findNeutral(list)
	}
	if !ok {
		f, ok = findStale(list)
	}
	if !ok {
		return f, false
	}
	sums := map[uint64]bool{}
	for _, p := range list {
		sums[p.sum] = true
	}
	f.Pages, f.Texts = len(list), len(sums)
	re, err := regexp.Compile(f.Rule)
	f.re = re
	return f, err == nil
}

// noIndex finds pages that ask robots not to index them, on a site where others do not.
func (w *Watch) noIndex(list []page) (Finding, bool) {
	var here share
	for _, p := range list {
		here.addPage(p.noIndex)
	}
	indexed := w.pages.all - w.pages.noIndex
	if !here.isMostlyNoIndex() || indexed < 3 || indexed*50 < w.pages.all {
		return Finding{}, false
	}
	best, most := "", 0
	for _, name := range list[0].sortedFeatures() {
		if s := w.features[name]; s == nil || !s.isMostlyNoIndex() {
			continue
		}
		rank := 1
		if noIndexKind(name) != anyNoIndex {
			rank = 2
		}
		if !strings.HasSuffix(name, "=") { // an action says most
			rank += 2
		}
		if rank > most {
			best, most = name, rank
		}
	}
	if best == "" {
		return Finding{}, false
	}
	rule := "[?&;]" + regexp.QuoteMeta(best)
	if !strings.HasSuffix(best, "=") {
		rule += "(?:[&;#]|$)"
	}
	return Finding{Kind: noIndexKind(best), Rule: rule}, true
}

// anyNoIndex is the kind of pages whose URLs do not say more.
const anyNoIndex = "pages with noindex"

// noIndexKind names pages with noindex by the feature of their URLs.
func noIndexKind(feature string) string {
	for _, kind := range []struct{ parts, name string }{
		{"edit submit", "edit pages"}, {"diff", "differences of versions"}, {"oldid rev history", "old versions"},
		{"login register recover password", "login pages"}, {"search", "search results"}, {"feed", "feeds"},
	} {
		if containsAny(feature, strings.Fields(kind.parts)) {
			return kind.name
		}
	}
	return anyNoIndex
}

func containsAny(text string, parts []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// findNeutral finds parameters that change nothing: URLs that differ in them alone have the same texts. It tries them one by
// one, then by twos, then all.
func findNeutral(list []page) (Finding, bool) {
	var names []string
	for _, p := range list[0].params {
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 || len(names) > 8 {
		return Finding{}, false
	}
	var found []string
	for _, name := range names {
		if changesNothing(list, []string{name}) {
			found = append(found, name)
		}
	}
	for i := 0; i < len(names) && found == nil; i++ {
		for j := i + 1; j < len(names) && found == nil; j++ {
			if pair := []string{names[i], names[j]}; changesNothing(list, pair) {
				found = pair
			}
		}
	}
	if found == nil && changesNothing(list, names) {
		found = names
	}
	if found == nil || len(list) < 2*leastPages && !onePath(list) { // of many paths some may not be compared yet
		return Finding{}, false
	}
	for _, name := range varyingParams(list) {
		if more := append(slices.Clone(found), name); !slices.Contains(found, name) && changesNothing(list, more) {
			found = more
		}
	}
	s := scopeOf(list, found)
	return Finding{Kind: neutralKind(list, found), Rule: s.urlExpression(), Names: found, Neutral: true, scope: s}, true
}

// changesNothing compares the pages whose URLs differ in the parameters only.
func changesNothing(list []page, names []string) bool {
	type same struct {
		all  int
		sums map[uint64]bool
	}
	rest := map[string]*same{}
	for _, p := range list {
		key := p.withoutParams(names)
		if rest[key] == nil {
			rest[key] = &same{sums: map[uint64]bool{}}
		}
		rest[key].all++
		rest[key].sums[p.sum] = true
	}
	several, constant, repeated := 0, 0, 0
	for _, s := range rest {
		repeated += s.all - len(s.sums)
		if s.all > 1 {
			several++
		}
		if s.all > 1 && len(s.sums) == 1 {
			constant++
		}
	}
	return repeated >= leastPages/2 && constant*10 >= several*9
}

// neutralKind names parameters that change nothing.
func neutralKind(list []page, names []string) string {
	sorts := []string{"c", "o", "n", "d", "s", "by", "dir", "direction", "desc", "asc", "col", "column"}
	clock := slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(list, func(p page) bool {
			return slices.ContainsFunc(p.params, func(v param) bool {
				return v.name == name && (len(v.value) < 9 || strings.Trim(v.value, "0123456789.") != "")
			})
		})
	})
	text := strings.Join(names, " ")
	switch {
	case containsAny(text, []string{"sort", "order"}) || !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(sorts, strings.ToLower(n)) }):
		return "sort links"
	case containsAny(text, []string{"sess", "sid", "token", "zenid", "cfid"}):
		return "session ids"
	case clock || containsAny(text, []string{"rand", "rnd", "nocache", "time", "stamp"}) || slices.Contains(names, "_"):
		return "time stamps"
	}
	return "parameters that change nothing"
}

// findStale finds calendars and filters: each page has only text that other pages have, apart from the values of its URL.
func findStale(list []page) (Finding, bool) {
	dated, names := list[0].namesDate(), varyingParams(list)
	if len(list) < leastPages+4 || !dated && (len(names) < 2 || len(list) < 2*leastPages && !onePath(list)) {
		return Finding{}, false
	}
	seen := map[unit]int{}
	for _, p := range list {
		for _, u := range p.units {
			seen[u]++
		}
	}
	old := 0
	for _, p := range list {
		words, fresh := 0, 0
		for _, u := range p.units {
			if seen[u]*10 >= len(list)*8 { // on nearly all pages: navigation
				continue
			}
			words += u.wordCount()
			if seen[u] == 1 {
				fresh += u.wordCount()
			}
		}
		if fresh*20 <= words {
			old++
		}
	}
	if old*10 < len(list)*9 {
		return Finding{}, false
	}
	switch {
	case !dated:
		return Finding{Kind: "filters of lists", Rule: scopeOf(list, names).urlExpression() + ".*[&;]" + alternativesOf(names) + "=", Names: names}, true
	case len(names) == 0:
		return Finding{Kind: "calendars", Rule: dateRule(list[0].path)}, true
	}
	if dates := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !list[0].datedBy(name) }); len(dates) > 0 {
		names = dates
	}
	return Finding{Kind: "calendars", Rule: scopeOf(list, names).urlExpression(), Names: names}, true
}

// varyingParams are the parameters that have several values.
func varyingParams(list []page) (names []string) {
	values := map[string]string{}
	for _, p := range list {
		for _, v := range p.params {
			first, known := values[v.name]
			if !known {
				values[v.name] = v.value
			} else if first != v.value && !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// onePath reports whether all pages have the same path.
func onePath(list []page) bool {
	return !slices.ContainsFunc(list, func(p page) bool { return p.path != list[0].path })
}
