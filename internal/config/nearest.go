package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	longestName = 100 // letters; nothing longer is compared
	fewLetters  = 5   // below, a name that is part of another one says little
)

// Nearest is the known name that name most likely stands for: the same in other
// letters' case, else the one with the fewest slips (letters to insert, delete or
// replace, at most a third of the name), else the shortest that holds name or is
// held by it. It is "" when none is near. Of equals the first in the alphabet wins.
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
		if slips := levenshtein.ComputeDistance(folded, other); slips < fewest {
			best, fewest = k, slips
		}
		held := length >= fewLetters && strings.Contains(other, folded) ||
			len(other) >= fewLetters && strings.Contains(folded, other)
		if held && (part == "" || len(k) < len(part)) {
			part = k
		}
	}
	if best != "" {
		return best
	}
	return part
}
