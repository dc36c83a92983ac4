package trap

import (
	"slices"
)

// Groups returns the URLs of each group with enough of them, the largest group first, in a fixed order.
func Groups(urls []string) (groups [][]string) {
	byKey := map[string][]string{}
	for _, url := range urls {
		if key := splitURL(url).groupKey(); key != "" {
			byKey[key] = append(byKey[key], url)
		}
	}
	for _, key := range sortedKeys(byKey) {
		if len(byKey[key]) >= leastPages {
			groups = append(groups, byKey[key])
		}
	}
	slices.SortStableFunc(groups, func(a, b []string) int { return len(b) - len(a) })
	return groups[:min(len(groups), mostGroups)]
}

// Choose returns the URLs of a group whose pages tell most: some that differ in one parameter only, and others
// from everywhere; at most 48.
func Choose(group []string) (chosen []string) {
	if len(group) <= mostPages {
		return group
	}
	taken := map[string]bool{}
	take := func(url string) {
		if !taken[url] && len(chosen) < mostPages {
			taken[url] = true
			chosen = append(chosen, url)
		}
	}
	names := map[string]bool{}
	for _, p := range splitURL(group[0]).params {
		names[p.name] = true
	}
	for _, name := range sortedKeys(names) {
		byRest := map[string][]string{}
		for _, url := range group {
			rest := splitURL(url).withoutParams([]string{name})
			byRest[rest] = append(byRest[rest], url)
		}
		rests := slices.DeleteFunc(sortedKeys(byRest), func(rest string) bool { return len(byRest[rest]) == 1 })
		most := min(8, len(rests)) // from everywhere: the parameter may change some pages, and others not
		for i := range most {
			list := byRest[rests[i*len(rests)/most]]
			for _, url := range list[:min(3, len(list))] {
				take(url)
			}
		}
	}
	for i := 0; i < mostPages; i++ {
		take(group[i*len(group)/mostPages])
	}
	return chosen
}
