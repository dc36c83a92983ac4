package manager

import (
	"cmp"
	"slices"
)

// maxRanked is how many names a ranking counts. When there are more, the rarer half is forgotten.
const maxRanked = 10_000

// maxName limits a name, in bytes. Longer ones are not counted.
const maxName = 4 << 10

// ranking counts names.
type ranking map[string]*Ranked

func (r ranking) countName(name, title string) {
	if len(name) > maxName || name == "" {
		return
	}
	one := r[name]
	if one == nil {
		if len(r) >= maxRanked {
			r.forgetRarerHalf()
		}
		one = &Ranked{Name: name}
		r[name] = one
	}
	one.Title = title[:min(len(title), 200)]
	one.Count++
}

// forgetRarerHalf removes the rarer half.
func (r ranking) forgetRarerHalf() {
	for _, one := range r.topNames(len(r))[maxRanked/2:] {
		delete(r, one.Name)
	}
}

// topNames returns the n most frequent names.
func (r ranking) topNames(n int) []Ranked {
	list := make([]Ranked, 0, len(r))
	for _, one := range r {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return list[:min(n, len(list))]
}
