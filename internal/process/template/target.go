package template

import (
	"context"
	"errors"
	"regexp"

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
// forms.
func newTarget(text string) (*target, error) {
	if text == "" {
		return nil, errors.New("is missing")
	}
	find, err := xpath.Target(text)
	if err != nil {
		return nil, err
	}
	t := &target{find: find}
	rows, with := tableRow, "$1/tbody$2"
	if _, isCSS := find.(*xpath.CSS); isCSS {
		rows, with = cssRow, "${1}tbody > $2"
	}
	if rewritten := rows.ReplaceAllString(text, with); rewritten != text {
		if t.fallback, err = xpath.Target(rewritten); err != nil {
			t.fallback = nil
		}
	}
	return t, nil
}

// matches returns the matches in a page, and whether they are in a tbody that the target does
// not name.
func (t *target) matches(ctx context.Context, doc *xpath.Document, l xpath.Limits) (list []xpath.Match, implied bool, err error) {
	list, err = t.find.Find(ctx, doc, l)
	if len(list) > 0 || err != nil || t.fallback == nil {
		return list, false, err
	}
	list, err = t.fallback.Find(ctx, doc, l)
	return list, len(list) > 0, err
}
