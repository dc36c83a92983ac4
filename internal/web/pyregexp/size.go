package pyregexp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxProgram bounds the steps of a compiled program, each about 200 bytes. Package
	// regexp expands repetitions: a few hundred bytes of text can give millions of steps.
	maxProgram = 50_000
	// maxTables bounds the Unicode classes of an expression; each takes a table of some
	// kilobytes.
	maxTables = 1_000
)

// errProgram says that an expression would take too much memory.
var errProgram = errors.New("expression is too large after its repetitions are expanded")

// compileLinear compiles an expression of package regexp, in its own dialect. An expression
// above MaxText bytes, or one that takes too much memory, is an error.
func compileLinear(text string) (*regexp.Regexp, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("expression of %d bytes; the limit is %d", len(text), MaxText)
	}
	if strings.Count(text, `\p`)+strings.Count(text, `\P`) > maxTables {
		return nil, errProgram
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if estimateSteps(tree) > maxProgram {
		return nil, errProgram
	}
	return regexp.Compile(text)
}

// estimateSteps estimates the number of steps, at most maxProgram+1.
func estimateSteps(tree *syntax.Regexp) int {
	steps := 1 + len(tree.Rune)/64
	if tree.Op == syntax.OpLiteral {
		steps = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		if steps += estimateSteps(sub); steps > maxProgram {
			return maxProgram + 1
		}
	}
	if tree.Op == syntax.OpRepeat {
		steps *= max(tree.Max, tree.Min+1)
	}
	return min(steps, maxProgram+1)
}
