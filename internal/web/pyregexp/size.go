package pyregexp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxProgram bounds what package regexp makes of an expression, in steps of its
	// program; each takes some 200 bytes. Repetitions are written out there: a few
	// hundred bytes of text can stand for millions of steps.
	maxProgram = 50_000
	// maxTables bounds the Unicode classes of an expression, each of which becomes a
	// table of some kilobytes.
	maxTables = 1_000
)

// errProgram says that an expression would take too much memory.
var errProgram = errors.New("expression is too large when its repetitions are written out")

// Linear compiles an expression of package regexp, in its own dialect, unless it
// has more than MaxText bytes or needs much more memory than it is long.
func Linear(text string) (*regexp.Regexp, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("expression of %d bytes, where %d are the limit", len(text), MaxText)
	}
	if strings.Count(text, `\p`)+strings.Count(text, `\P`) > maxTables {
		return nil, errProgram
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if program(tree) > maxProgram {
		return nil, errProgram
	}
	return regexp.Compile(text)
}

// program is about how many steps a tree becomes, and no more than one beyond
// maxProgram.
func program(tree *syntax.Regexp) int {
	steps := 1 + len(tree.Rune)/64
	if tree.Op == syntax.OpLiteral {
		steps = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		if steps += program(sub); steps > maxProgram {
			return maxProgram + 1
		}
	}
	if tree.Op == syntax.OpRepeat {
		steps *= max(tree.Max, tree.Min+1)
	}
	return min(steps, maxProgram+1)
}
