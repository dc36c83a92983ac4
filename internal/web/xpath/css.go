package xpath

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/andybalholm/cascadia"
)

// maxParts bounds the parts of a CSS selector between its combinators: each is a bit.
const maxParts = 64

// CSS is a compiled group of CSS selectors. It is split at the combinators, and one pass over
// the page finds all matches; only the parts between the combinators are left to the library.
// ::text and ::attr(NAME) at the end of a selector give the texts and the attribute of its
// elements. Goroutines may share it.
type CSS struct {
	text    string
	choices []choice // separated by commas
}

// choice is one selector of a list: parts and the combinators before them.
type choice struct {
	parts []part
	texts bool   // ends with ::text
	attr  string // of ::attr(NAME); "": none
}

// part is a selector without combinators.
type part struct {
	combinator byte         // ' ', '>', '+' or '~'; 0 for the first part
	cheap      cascadia.Sel // looks at the element only; nil: none
	costly     cascadia.Sel // looks at siblings or descendants; nil: none
	siblings   bool         // costly looks at siblings
	below      bool         // costly looks at descendants
}

// CompileCSS compiles a group of selectors of at most MaxExpr bytes.
func CompileCSS(text string) (s *CSS, err error) {
	fail := func(err error) (*CSS, error) { return nil, fmt.Errorf("compile CSS %.80q: %w", text, err) }
	if len(text) > MaxExpr {
		return nil, fmt.Errorf("compile CSS: selector of %d bytes; the limit is %d", len(text), MaxExpr)
	}
	defer func() {
		if r := recover(); r != nil { // no known selector makes the library panic
			s, err = fail(fmt.Errorf("%v", r))
		}
	}()
	s = &CSS{text: text}
	pieces, err := splitSelectors(text)
	if err != nil {
		return fail(err)
	}
	for _, list := range pieces {
		c, err := compileChoice(list)
		if err != nil {
			return fail(err)
		}
		s.choices = append(s.choices, c)
	}
	return s, nil
}

// piece is the text of a part.
type piece struct {
	combinator byte
	text       string
}

// splitSelectors splits a list of selectors at its commas and combinators.
func splitSelectors(text string) (choices [][]piece, err error) {
	text = strings.Trim(text, blanks)
	var pieces []piece
	next := piece{}
	start := 0
	end := func(at int) error {
		if next.text = text[start:at]; next.text == "" {
			return errors.New("a part of the selector is empty")
		}
		pieces = append(pieces, next)
		next = piece{}
		return nil
	}
	for at := 0; at < len(text); {
		n := tokenLength(text[at:])
		if n == 0 {
			return nil, errors.New("a bracket or quote is not closed")
		}
		mark := leadingCombinator(text[at:])
		if mark == 0 {
			at += n
			continue
		}
		width := leadingBlanks(text[at:])
		if mark != ' ' {
			width++
			width += leadingBlanks(text[at+width:])
		}
		if err := end(at); err != nil {
			return nil, err
		}
		at += width
		start = at
		if mark == ',' {
			choices, pieces = append(choices, pieces), nil
		} else {
			next.combinator = mark
		}
	}
	if err := end(len(text)); err != nil {
		return nil, err
	}
	return append(choices, pieces), nil
}

const blanks = " \t\r\n\f"

func leadingBlanks(text string) int { return len(text) - len(strings.TrimLeft(text, blanks)) }

// leadingCombinator returns the comma or combinator at the start of text, with blanks around it, or
// 0.
func leadingCombinator(text string) byte {
	rest := strings.TrimLeft(text, blanks)
	if rest != "" && strings.IndexByte(">+~,", rest[0]) >= 0 {
		return rest[0]
	}
	if len(rest) < len(text) {
		return ' '
	}
	return 0
}

// tokenLength returns the length of the character, escape, string or bracket at the start of text,
// 0 if it is not closed.
func tokenLength(text string) int {
	switch c := text[0]; c {
	case '\\':
		return min(2, len(text))
	case '"', '\'':
		for i := 1; i < len(text); i++ {
			if text[i] == '\\' {
				i++
			} else if text[i] == c {
				return i + 1
			}
		}
		return 0
	case '(', '[':
		closing := byte(')')
		if c == '[' {
			closing = ']'
		}
		for i := 1; i < len(text); {
			if text[i] == closing {
				return i + 1
			}
			n := tokenLength(text[i:])
			if n == 0 {
				return 0
			}
			i += n
		}
		return 0
	}
	return 1
}

// pseudoElement is the end of a selector that asks for texts or an attribute.
var pseudoElement = regexp.MustCompile(`::(?:(text)|attr\(\s*["']?([\w:.-]+)["']?\s*\))$`)

func compileChoice(pieces []piece) (c choice, err error) {
	if len(pieces) > maxParts {
		return c, fmt.Errorf("%d parts; the limit is %d", len(pieces), maxParts)
	}
	for i, p := range pieces {
		text := p.text
		if m := pseudoElement.FindStringSubmatch(text); m != nil && i == len(pieces)-1 {
			c.texts, c.attr = m[1] != "", m[2]
			if text = text[:len(text)-len(m[0])]; text == "" {
				text = "*"
			}
		}
		part, err := compilePart(text)
		if err != nil {
			return c, err
		}
		part.combinator = p.combinator
		c.parts = append(c.parts, part)
	}
	return c, nil
}

var (
	// costly are the pseudo-classes that look at other elements.
	ofSiblings = regexp.MustCompile(`(?i)^:(?:nth-|last-|first-|only-)`)
	ofBelow    = regexp.MustCompile(`(?i)^:(?:has|haschild|contains|containsown|matches|matchesown|empty|not|is|where)\b`)
	nested     = regexp.MustCompile(`(?i):(?:has|haschild|not|is|where)\(`)
)

// compilePart compiles a selector without combinators. What looks at other elements is
// evaluated after the rest.
func compilePart(text string) (p part, err error) {
	var cheap, costly strings.Builder
	for at := 0; at < len(text); {
		n := tokenLength(text[at:])
		if n == 0 {
			return p, errors.New("a bracket or quote is not closed")
		}
		siblings, below := ofSiblings.MatchString(text[at:]), ofBelow.MatchString(text[at:])
		if !siblings && !below {
			cheap.WriteString(text[at : at+n])
			at += n
			continue
		}
		n = pseudoClass(text[at:])
		class := text[at : at+n]
		if err := checkInner(class); err != nil {
			return p, err
		}
		p.siblings, p.below = p.siblings || siblings, p.below || below
		costly.WriteString(class)
		at += n
	}
	if cheap.Len() > 0 {
		if p.cheap, err = cascadia.Parse(cheap.String()); err != nil {
			return p, err
		}
	}
	if costly.Len() > 0 {
		p.costly, err = cascadia.Parse(costly.String())
	}
	return p, err
}

// pseudoClass returns the length of the pseudo-class at the start of text.
func pseudoClass(text string) int {
	n := 1
	for n < len(text) && (text[n] == '-' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
		n++
	}
	if n < len(text) && text[n] == '(' {
		n += tokenLength(text[n:])
	}
	return n
}

// checkInner refuses a selector inside of a pseudo-class whose cost would multiply.
func checkInner(class string) error {
	name := nested.FindString(class)
	if name == "" || !strings.HasPrefix(class, name) {
		return nil
	}
	inner := class[len(name) : len(class)-1]
	pieces, err := splitSelectors(inner)
	if err != nil {
		return err
	}
	for _, list := range pieces {
		if len(list) > 1 || nested.MatchString(list[0].text) || ofSiblings.MatchString(list[0].text) {
			return fmt.Errorf("a combinator or another pseudo-class inside of %s) is not supported", name)
		}
	}
	return nil
}
