package xpath

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Target compiles the target of a rule, which is XPath or CSS (docs/templates.md, Targets):
//
//   - With a dot or a # at its start it is CSS. "./a" and "../a" are XPath.
//   - A text that only one of the two languages can read is of that language: "article > p" is CSS,
//     which XPath would read as a comparison; "//h1" and "count(//p)" are XPath.
//   - A text that both can read, such as "h1", is XPath if it finds something, else CSS. As XPath
//     it is a child of the document, which has no child but "html".
//
// The error of a text that is neither has the reasons of both languages.
func Target(text string) (Selector, error) {
	text = strings.TrimSpace(text)
	if beginsCSS(text) {
		return CompileCSS(text)
	}
	path, pathErr := Compile(text)
	css, cssErr := compileNames(text)
	if pathErr == nil && prefixed.MatchString(text) {
		pathErr = fmt.Errorf("compile XPath %.80q: no element of a page has a prefix", text)
	}
	switch {
	case cssErr == nil && pathErr == nil:
		return either{path, css}, nil
	case pathErr == nil:
		return path, nil
	case cssErr == nil:
		return css, nil
	case text != "" && strings.IndexByte("/(", text[0]) >= 0:
		return nil, pathErr
	}
	return nil, fmt.Errorf("%.80q is neither XPath nor CSS: %w; %w", text, pathErr, cssErr)
}

// beginsCSS reports whether a text begins as CSS does and XPath does not.
func beginsCSS(text string) bool {
	isPath := strings.HasPrefix(text, "./") || strings.HasPrefix(text, "..")
	return text != "" && (text[0] == '.' || text[0] == '#') && !isPath
}

// operators of XPath would be elements in CSS. No element of HTML has these names.
var operators = []string{"and", "or", "mod"}

// prefixed is a name with a prefix, which is a pseudo-class in CSS.
var prefixed = regexp.MustCompile(`^[A-Za-z][\w-]*:[A-Za-z]`)

// compileNames compiles CSS that may also be XPath.
func compileNames(text string) (*CSS, error) {
	s, err := CompileCSS(text)
	if err != nil {
		return nil, err
	}
	choices, _ := splitSelectors(text)
	for _, pieces := range choices {
		for _, p := range pieces {
			if slices.Contains(operators, p.text) {
				return nil, fmt.Errorf("compile CSS %.80q: %q is an operator of XPath", text, p.text)
			}
		}
	}
	return s, nil
}

// either is a text that both languages can read.
type either struct {
	path *Expr
	css  *CSS
}

// Find is like Expr.Find.
func (s either) Find(ctx context.Context, doc *Document, l Limits) ([]Match, error) {
	if list, err := s.path.Find(ctx, doc, l); len(list) > 0 || err != nil {
		return list, err
	}
	return s.css.Find(ctx, doc, l)
}

// Matches is like Expr.Matches.
func (s either) Matches(ctx context.Context, doc *Document, max int) ([]Match, error) {
	return withTexts(s, ctx, doc, max)
}

// IsCSS reports whether a target is CSS, or both.
func IsCSS(s Selector) bool {
	_, isPath := s.(*Expr)
	return !isPath
}

// FindIn returns what a target finds in each of the nodes. ok is false if the target begins at the document: CSS, and paths that begin with a slash. Find gives
// its matches then.
func FindIn(ctx context.Context, s Selector, doc *Document, nodes []*html.Node, l Limits) (lists [][]Match, ok bool, err error) {
	e, isPath := s.(*Expr)
	if !isPath || e.nodes && e.isAbsolute() {
		return nil, false, nil
	}
	lists, err = e.FindIn(ctx, doc, nodes, l)
	return lists, true, err
}

// isAbsolute reports whether all paths of a union begin with a slash or a parenthesis.
func (e *Expr) isAbsolute() bool {
	for rest := e.text; ; {
		rest = strings.TrimLeft(rest, blanks)
		if rest == "" || strings.IndexByte("/(", rest[0]) < 0 {
			return false
		}
		bar := unionBar(rest)
		if bar < 0 {
			return true
		}
		rest = rest[bar+1:]
	}
}

// unionBar returns the place of the first bar outside of brackets and quotes, or -1.
func unionBar(text string) int {
	for at := 0; at < len(text); {
		if text[at] == '|' {
			return at
		}
		n := tokenLength(text[at:])
		if n == 0 {
			return -1
		}
		at += n
	}
	return -1
}
