package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	longestName = 100 // letters; longer names have no nearest name
	fewLetters  = 5   // shorter names are not compared as parts of other names
)

// Nearest returns the known name that name probably means, or "". It takes, in this order:
// a name that differs in case only; the name with the smallest edit distance, at most a
// third of the letters; the shortest name that contains name or is contained in it. Among
// equals it takes the first in alphabetical order.
func Nearest(name string, known []string) string {
	length := utf8.RuneCountInString(name)
	if length == 0 || length > longestName {
		return ""
	}
	known = slices.Sorted(slices.Values(known))
	folded := strings.ToLower(name)
	best, fewest := "", 1+max(1, (length+1)/3)
	part := ""
	for _, k := range known {
		other := strings.ToLower(k)
		if other == folded {
			return k
		}
		if distance := levenshtein.ComputeDistance(folded, other); distance < fewest {
			best, fewest = k, distance
		}
		contained := length >= fewLetters && strings.Contains(other, folded) ||
			len(other) >= fewLetters && strings.Contains(folded, other)
		if contained && (part == "" || len(k) < len(part)) {
			part = k
		}
	}
	if best != "" {
		return best
	}
	return part
}

// Suggestion is the end of a message about an unknown name: "; did you mean near?", or "" without
// a near one.
func Suggestion(near string) string {
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}
