package linkrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

const (
	// maxText bounds the text of a property, in bytes.
	maxText = 1 << 20

	// maxRules bounds the members of an object or list.
	maxRules = 1000

	// maxURL bounds a rewritten URL, in bytes.
	maxURL = 8 << 10
)

// decodeJSON parses the JSON of a property of at most maxText bytes.
func decodeJSON(text string, v any) error {
	if len(text) > maxText {
		return fmt.Errorf("has %d bytes; the limit is %d", len(text), maxText)
	}
	return prop.Decode(text, v)
}

// parseMembers parses an object of at most maxRules members, in document order.
func parseMembers(text string) (prop.Members, error) {
	var list prop.Members
	if err := decodeJSON(text, &list); err != nil {
		return nil, err
	}
	return list, checkCount(len(list))
}

func checkCount(n int) error {
	if n > maxRules {
		return fmt.Errorf("has %d rules; the limit is %d", n, maxRules)
	}
	return nil
}

// compileExpression compiles an expression for URLs. The result for "" is nil, which matches
// everything.
func compileExpression(text string) (*pyregexp.Regexp, error) {
	return compileNamed(pyregexp.Compile, text)
}

// compileIgnoreCase is expression, ignoring case.
func compileIgnoreCase(text string) (*pyregexp.Regexp, error) {
	return compileNamed(pyregexp.CompileFold, text)
}

func compileNamed(compile func(string) (*pyregexp.Regexp, error), text string) (*pyregexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := compile(text)
	if err != nil {
		return nil, fmt.Errorf("has an invalid expression %.80q: %w", text, err)
	}
	return re, nil
}

func matchesURL(re *pyregexp.Regexp, value string) bool { return re == nil || re.MatchString(value) }

// anyOf compiles expressions, ignoring case, of which one must match.
func anyOf(texts []string) ([]*pyregexp.Regexp, error) {
	if err := checkCount(len(texts)); err != nil {
		return nil, err
	}
	var list []*pyregexp.Regexp
	for _, text := range texts {
		re, err := compileIgnoreCase(text)
		if err != nil {
			return nil, err
		}
		list = append(list, re)
	}
	return list, nil
}

func matchesAny(list []*pyregexp.Regexp, value string) bool {
	return slices.ContainsFunc(list, func(re *pyregexp.Regexp) bool { return matchesURL(re, value) })
}

// ByURL holds values for URLs, each with the expression that finds its URLs. A nil ByURL has
// no value.
type ByURL[T any] []urlRule[T]

type urlRule[T any] struct {
	url   *pyregexp.Regexp
	value T
}

// For returns the value for a URL, by the first expression found in it, or nil. Callers must
// not change it.
func (r ByURL[T]) For(url string) *T {
	for i := range r {
		if matchesURL(r[i].url, url) {
			return &r[i].value
		}
	}
	return nil
}

// addRule appends the value for the URLs in which the expression is found.
func (r *ByURL[T]) addRule(text string, value T) error {
	re, err := compileExpression(text)
	if err != nil {
		return err
	}
	*r = append(*r, urlRule[T]{re, value})
	return checkCount(len(*r))
}

// parseMember parses one value of a property, at the named member.
func parseMember(name string, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("has a %s at %.80q, which is the wrong type", kind.Value, name)
		}
		return fmt.Errorf("%w at %.80q", err, name)
	}
	return nil
}

// parseElements parses a list, or a single value as a list of one.
func parseElements(raw json.RawMessage) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] != '[' {
		return []json.RawMessage{raw}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	return list, checkCount(len(list))
}
