package author

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Rules are the object author of TAGS_TYPES, or of the ini key tagsTypes.
type Rules struct {
	minWords, maxWords int
	minBytes, maxBytes int
	maxChars           int    // of one word
	cleanNonAlpha      bool   // search again without other characters than letters
	mismatch           string // what becomes of a text outside the limits
	undetected         string // what becomes of a text without a name
	value              string
}

// Values of mismatch and undetected.
const (
	empty  = "empty"  // the text is removed
	ignore = "ignore" // it stays
	fixed  = "value"  // value replaces it
	parse  = "parse"  // of mismatch: the limits do not count
)

// Default are the rules of sites without the property.
var Default = Rules{minWords: 1, maxWords: 8, minBytes: 3, maxBytes: 32, maxChars: 32, cleanNonAlpha: true, mismatch: empty, undetected: empty}

// mostLimit bounds the numbers of the property.
const mostLimit = 10_000

// Parse parses TAGS_TYPES: {"author": {…}}. Absent keys have the values of Default, and so has
// an empty text. Errors name the key and its value.
func Parse(text string) (Rules, error) {
	r := Default
	if strings.TrimSpace(text) == "" {
		return r, nil
	}
	var types prop.Members
	if err := prop.Decode(text, &types); err != nil {
		return r, err
	}
	for _, m := range types {
		if m.Name != "author" {
			return r, fmt.Errorf(`has %q; expected "author"`, prop.Clip(m.Name))
		}
		if err := r.readRules(string(m.Value)); err != nil {
			return Default, fmt.Errorf(`at "author" %w`, err)
		}
	}
	return r, nil
}

func (r *Rules) readRules(text string) error {
	number := func(n int) prop.Int { return prop.Int(n) }
	v := struct {
		MinWords   prop.Int  `json:"min_words"`
		MaxWords   prop.Int  `json:"max_words"`
		MinBytes   prop.Int  `json:"min_bytes"`
		MaxBytes   prop.Int  `json:"max_bytes"`
		MaxChars   prop.Int  `json:"max_chars_word"`
		Clean      prop.Bool `json:"clean_none_alpha"`
		Mismatch   string    `json:"mismatch"`
		Undetected string    `json:"undetected"`
		Value      string    `json:"value"`
	}{number(r.minWords), number(r.maxWords), number(r.minBytes), number(r.maxBytes), number(r.maxChars), prop.Bool(r.cleanNonAlpha), r.mismatch, r.undetected, r.value}
	if err := prop.Decode(text, &v); err != nil {
		return err
	}
	for _, limit := range []struct {
		key   string
		value prop.Int
		to    *int
	}{
		{"min_words", v.MinWords, &r.minWords}, {"max_words", v.MaxWords, &r.maxWords}, {"min_bytes", v.MinBytes, &r.minBytes},
		{"max_bytes", v.MaxBytes, &r.maxBytes}, {"max_chars_word", v.MaxChars, &r.maxChars},
	} {
		if limit.value < 0 || limit.value > mostLimit {
			return fmt.Errorf("has %s %d; expected 0 to %d", limit.key, limit.value, mostLimit)
		}
		*limit.to = int(limit.value)
	}
	if !slices.Contains([]string{empty, ignore, fixed, parse}, v.Mismatch) {
		return fmt.Errorf("has mismatch %q; expected empty, ignore, value or parse", prop.Clip(v.Mismatch))
	}
	if !slices.Contains([]string{empty, ignore, fixed}, v.Undetected) {
		return fmt.Errorf("has undetected %q; expected empty, ignore or value", prop.Clip(v.Undetected))
	}
	r.cleanNonAlpha, r.mismatch, r.undetected, r.value = bool(v.Clean), v.Mismatch, v.Undetected, v.Value
	if (r.mismatch == fixed || r.undetected == fixed) && strings.TrimSpace(r.value) == "" {
		return errors.New("has no value for mismatch or undetected")
	}
	return nil
}

// Apply cleans the tag author. Without a name left the tag is removed.
func (r Rules) Apply(res *result.Result) {
	t := res.Tag("author")
	if t == nil {
		return
	}
	var names []string
	for _, text := range t.Data {
		if name := r.Clean(text); strings.TrimSpace(name) != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		res.Remove("author")
		return
	}
	t.Data = names
}

// maxText bounds the texts that Clean reads, in bytes.
const maxText = 1 << 10

// Clean returns the name in a text, or what mismatch and undetected say. The words that
// announce an author do not count.
func (r Rules) Clean(text string) string {
	plain := text
	if name := Name(text[:min(len(text), maxText)]); name != "" {
		plain = name
	}
	if (len(plain) > maxText || !r.withinLimits(plain)) && r.mismatch != parse {
		return r.replacementFor(r.mismatch, text)
	}
	if name := r.findName(plain[:min(len(plain), maxText)]); name != "" {
		return name
	}
	return r.replacementFor(r.undetected, text)
}

func (r Rules) replacementFor(rule, text string) string {
	switch rule {
	case ignore:
		return text
	case fixed:
		return r.value
	}
	return ""
}

// withinLimits reports whether a text is within the limits.
func (r Rules) withinLimits(text string) bool {
	words := strings.Fields(text)
	long := slices.ContainsFunc(words, func(w string) bool { return utf8.RuneCountInString(w) > r.maxChars })
	return !long && len(words) >= r.minWords && len(words) <= r.maxWords && len(text) >= r.minBytes && len(text) <= r.maxBytes
}
