// Package pyregexp is a regular expression of the Python dialect, bounded.
//
// The clients of the service write their expressions for Python: Unicode
// classes, (?P<name>...), look-around, back-references. Package regexp runs what
// it can say, in linear time; the rest goes to a backtracking engine whose
// matches are cut off after a time limit and then count as none.
//
//	re, err := pyregexp.Compile(`^https?://\w+\.example/(?!login)`)
//	ok := re.MatchString(url) // searched for, as by re.search
//
// Neighbours: filter and linkrules, whose patterns come from clients.
// Sources: docs/spec/crawling.md 3, 5.5.
package pyregexp
