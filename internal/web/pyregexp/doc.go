// Package pyregexp compiles regular expressions of Python's dialect, with bounded cost.
//
// Clients write their expressions for Python: Unicode classes, (?P<name>...), look-around,
// back-references. Package regexp runs what it can express, in linear time. The rest runs
// in a backtracking engine, where a match that times out counts as no match.
//
//	re, err := pyregexp.Compile(`^https?://\w+\.example/(?!login)`)
//	ok := re.MatchString(url) // like re.search
//
// Sources: docs/spec/crawling.md 3, 5.5.
package pyregexp
