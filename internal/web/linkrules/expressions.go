package linkrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

const (
	// maxText bounds the text of a property, in bytes.
	maxText = 1 << 20

	// maxRules bounds the members of an object or list.
	maxRules = 1000

	// maxURL bounds a URL that a rule makes, in bytes.
	maxURL = 8 << 10
)

// decode reads the JSON of a property of reasonable size.
func decode(text string, v any) error {
	if len(text) > maxText {
		return fmt.Errorf("has %d bytes, where %d are the limit", len(text), maxText)
	}
	return prop.Decode(text, v)
}

// members reads an object whose members are rules, in their order.
func members(text string) (prop.Members, error) {
	var list prop.Members
	if err := decode(text, &list); err != nil {
		return nil, err
	}
	return list, few(len(list))
}

func few(n int) error {
	if n > maxRules {
		return fmt.Errorf("has %d rules, where %d are the limit", n, maxRules)
	}
	return nil
}

// expression compiles what URLs are searched for; nil matches everything.
func expression(text string) (*pyregexp.Regexp, error) { return named(pyregexp.Compile, text) }

// folded is expression without regard to case.
func folded(text string) (*pyregexp.Regexp, error) { return named(pyregexp.CompileFold, text) }

func named(compile func(string) (*pyregexp.Regexp, error), text string) (*pyregexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := compile(text)
	if err != nil {
		return nil, fmt.Errorf("has the expression %.80q, which is broken: %w", text, err)
	}
	return re, nil
}

func matches(re *pyregexp.Regexp, value string) bool { return re == nil || re.MatchString(value) }

// anyOf compiles several expressions, of which one must match.
func anyOf(texts []string) ([]*pyregexp.Regexp, error) {
	if err := few(len(texts)); err != nil {
		return nil, err
	}
	var list []*pyregexp.Regexp
	for _, text := range texts {
		re, err := folded(text)
		if err != nil {
			return nil, err
		}
		list = append(list, re)
	}
	return list, nil
}

func matchesAny(list []*pyregexp.Regexp, value string) bool {
	for _, re := range list {
		if matches(re, value) {
			return true
		}
	}
	return false
}

// inside reads one value of a property, found at the named member.
func inside(name string, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("has a %s at %.80q, which is of the wrong kind", kind.Value, name)
		}
		return fmt.Errorf("%w at %.80q", err, name)
	}
	return nil
}

// elements reads a list, or one value for a list of one.
func elements(raw json.RawMessage) ([]json.RawMessage, error) {
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
	return list, few(len(list))
}
