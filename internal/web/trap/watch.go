package trap

import (
	"cmp"
	"hash/maphash"
	"slices"
)

const (
	mostGroups   = 64
	mostPages    = 48  // of a group's sample
	leastPages   = 12  // of a finding
	mostFeatures = 512 // that are counted
	mostFindings = 32
)

// Page is a fetched page.
type Page struct {
	URL     string // canonical
	Content string // equal for equal contents, such as an md5
	Text    []byte // HTML in UTF-8; nil if it is no HTML
	NoIndex bool   // it asks robots not to index it
}

// Watch collects what is known of the URLs of a site.
type Watch struct {
	CollectOnly bool // Add only collects, Findings looks

	groups   map[string]*group
	features map[string]*share // by feature of parameters
	pages    share
	findings []Finding
	learned  map[string]bool // keys of groups, or paths with them
}

// share counts pages, and those of them that ask not to be indexed.
type share struct{ all, noIndex int }

func (s *share) addPage(noIndex bool) {
	s.all++
	if noIndex {
		s.noIndex++
	}
}

// isMostlyNoIndex reports whether nearly all ask not to be indexed.
func (s share) isMostlyNoIndex() bool { return s.all >= leastPages/2 && s.noIndex*10 >= s.all*9 }

// group is a sample of the URLs with one key.
type group struct {
	key    string
	all    share
	sample []page
	judged int // pages when it was last judged
}

type page struct {
	address
	noIndex bool
	texts
}

// New returns a Watch of one site.
func New() *Watch {
	return &Watch{groups: map[string]*group{}, features: map[string]*share{}, learned: map[string]bool{}}
}

// Count counts a fetched HTML page.
func (w *Watch) Count(url string, noIndex bool) {
	w.pages.addPage(noIndex)
	a := splitURL(url)
	for _, name := range a.sortedFeatures() {
		s := w.features[name]
		if s == nil {
			if len(w.features) >= mostFeatures {
				continue
			}
			s = new(share)
			w.features[name] = s
		}
		s.addPage(noIndex)
	}
}

// Wants reports whether Add needs the page of a URL. Of a group that is full it takes one page in 32.
func (w *Watch) Wants(url string) bool {
	key := splitURL(url).groupKey()
	if key == "" || w.Holds(url) {
		return false
	}
	g := w.groups[key]
	if g == nil {
		g = w.openGroup(key)
	}
	g.all.all++
	return len(g.sample) < mostPages || g.all.all%32 == 0
}

// openGroup starts a group, in place of the smallest one if there are too many.
func (w *Watch) openGroup(key string) *group {
	if len(w.groups) >= mostGroups {
		var least *group
		for _, g := range w.groups {
			if least == nil || len(g.sample) < len(least.sample) || len(g.sample) == len(least.sample) && g.key < least.key {
				least = g
			}
		}
		delete(w.groups, least.key)
	}
	g := &group{key: key}
	w.groups[key] = g
	return g
}

// Add adds a page to the sample of its group, and looks at the group from time to time. It reports whether there is
// a new finding.
func (w *Watch) Add(p Page) bool {
	one := page{address: splitURL(p.URL), noIndex: p.NoIndex}
	key := one.groupKey()
	if key == "" {
		return false
	}
	if p.Text != nil {
		one.texts = textsOf(p.Text, one.address)
	} else {
		one.sum = maphash.String(seed, p.Content)
	}
	g := w.groups[key]
	if g == nil {
		g = w.openGroup(key)
	}
	if len(g.sample) >= mostPages { // newer pages may show what the first ones did not
		g.sample = slices.Delete(g.sample, 0, mostPages/2)
		g.judged = len(g.sample)
	}
	if g.sample = append(g.sample, one); w.CollectOnly || len(g.sample) < leastPages || len(g.sample)-g.judged < 6 {
		return false
	}
	return w.judgeGroup(g)
}

// judgeGroup looks at a group, whole and by the paths of its pages.
func (w *Watch) judgeGroup(g *group) bool {
	g.judged = len(g.sample)
	found, ok := w.findInGroup(g.sample)
	if !ok {
		byPath := map[string][]page{}
		for _, p := range g.sample {
			byPath[p.path] = append(byPath[p.path], p)
		}
		for _, path := range sortedKeys(byPath) {
			if len(byPath) > 1 && len(byPath[path]) >= leastPages && !ok {
				found, ok = w.findInGroup(byPath[path])
			}
		}
	}
	known := slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Rule == found.Rule })
	if !ok || known || len(w.findings) >= mostFindings {
		return false
	}
	w.findings = append(w.findings, found)
	delete(w.groups, g.key)
	return true
}

// Findings are the traps that were found. Groups that were not yet looked at are.
func (w *Watch) Findings() []Finding {
	for _, key := range sortedKeys(w.groups) {
		if g := w.groups[key]; len(g.sample) >= leastPages && g.judged < len(g.sample) {
			w.judgeGroup(g)
		}
	}
	return slices.Clone(w.findings)
}

// Newest is the finding of the last Add that reported one.
func (w *Watch) Newest() Finding { return w.findings[len(w.findings)-1] }

// Learn takes URLs of traps that another Watch of the site has found. All URLs of their groups count: with any path
// if they have several paths, else with theirs.
func (w *Watch) Learn(urls []string) {
	paths := map[string]string{}
	for _, url := range urls {
		a := splitURL(url)
		key := a.groupKey()
		if first, known := paths[key]; !known {
			paths[key] = a.path
		} else if first != a.path {
			w.learned[key] = true
		}
		w.learned[a.path+" "+key] = true
	}
}

// Found reports whether a trap is known.
func (w *Watch) Found() bool { return len(w.findings)+len(w.learned) > 0 }

// Holds reports whether a URL belongs to a known trap.
func (w *Watch) Holds(url string) bool {
	a := splitURL(url)
	key := a.groupKey()
	if key == "" {
		return false
	}
	return w.learned[key] || w.learned[a.path+" "+key] || slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Holds(url) })
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
