package template

import (
	"context"
	"errors"
	"regexp"

	"golang.org/x/net/html"

	"hce/dc/internal/web/xpath"
)

// target finds the matches of a rule.
type target struct {
	find     xpath.Selector
	fallback xpath.Selector // with tbody in tables; nil: the target has no table rows
}

var (
	// tableRow is a row directly below a table, which has no attribute in quotes with "]".
	tableRow = regexp.MustCompile(`(/table(?:\[[^\]]*\])*)(/tr\b)`)
	cssRow   = regexp.MustCompile(`(\btable[^\s>+~,]*\s*>\s*)(tr\b)`)
)

// newTarget compiles an XPath expression or a CSS selector. The parser of the original
// service adds no tbody to a table; targets that were written for it find rows in both
// forms. "." is the element around the rule, or the document.
func newTarget(text string) (*target, error) {
	if text == "" {
		return nil, errors.New("is missing")
	}
	if text == "." {
		text = "self::node()"
	}
	find, err := xpath.Target(text)
	if err != nil {
		return nil, err
	}
	t := &target{find: find}
	rows, with := tableRow, "$1/tbody$2"
	if xpath.IsCSS(find) {
		rows, with = cssRow, "${1}tbody > $2"
	}
	if rewritten := rows.ReplaceAllString(text, with); rewritten != text {
		if t.fallback, err = xpath.Target(rewritten); err != nil {
			t.fallback = nil
		}
	}
	return t, nil
}

// languageName names the language of the target.
func (t *target) languageName() string {
	if xpath.IsCSS(t.find) {
		return "CSS"
	}
	return "XPath"
}

// findIn returns the matches of a rule: those of a relative XPath in each of the elements, which say
// where they are; others, and all without elements, in the page.
func (t *target) findIn(ctx context.Context, doc *xpath.Document, within []*html.Node, l xpath.Limits) (found []part, implied bool, err error) {
	var lists [][]xpath.Match
	relative := false
	if within != nil {
		lists, relative, err = xpath.FindIn(ctx, t.find, doc, within, l)
	}
	if !relative && err == nil {
		lists = make([][]xpath.Match, 1)
		lists[0], implied, err = t.findMatches(ctx, doc, l)
	}
	for i, list := range lists {
		for _, m := range list {
			p := part{match: m, in: i}
			if !relative {
				p.in = -1
			}
			found = append(found, p)
		}
	}
	return found, implied, err
}

// findMatches returns the matches in a page, and whether they are in a tbody that the target does
// not name.
func (t *target) findMatches(ctx context.Context, doc *xpath.Document, l xpath.Limits) (list []xpath.Match, implied bool, err error) {
	list, err = t.find.Find(ctx, doc, l)
	if len(list) > 0 || err != nil || t.fallback == nil {
		return list, false, err
	}
	list, err = t.fallback.Find(ctx, doc, l)
	return list, len(list) > 0, err
}
