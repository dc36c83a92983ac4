package linkrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/wire/prop"
)

// ParseSchemes reads PROTOCOLS: the schemes of the list that can be crawled.
func ParseSchemes(text string) (canonical.Schemes, error) {
	var list prop.Texts
	if err := prop.Decode(text, &list); err != nil {
		return nil, err
	}
	var known canonical.Schemes
	for _, s := range list {
		if s = strings.ToLower(s); slices.Contains(canonical.Web, s) && !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		return nil, errors.New("names neither http nor https")
	}
	return known, nil
}

// ParseTemplate reads a template of URLs. A template without the URL would request one page for
// all of them, so it is an error.
func ParseTemplate(text string) (string, error) {
	if !strings.Contains(text, "%URL%") {
		return "", fmt.Errorf("is %q, without %%URL%%", prop.Clip(text))
	}
	scheme, _, _ := strings.Cut(strings.ToLower(text), "://")
	if !slices.Contains(canonical.Web, scheme) || canonical.Host(strings.ReplaceAll(text, "%URL%", "http://a.example/")) == "" {
		return "", fmt.Errorf("is %q, which is not an http or https URL", prop.Clip(text))
	}
	return text, nil
}

// ParseRel reads ROBOTS_REL: words separated by commas or spaces. "0" and "none" mean no word.
func ParseRel(text string) ([]string, error) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' })
	for _, word := range words {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_:.") != "" {
			return nil, fmt.Errorf("has %q, which is not a word of a rel attribute", prop.Clip(word))
		}
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "0" || word == "none" }), nil
}

// mostSitemaps bounds the sitemaps of a property.
const mostSitemaps = 100

// ParseSitemaps reads SITEMAPS: absolute URLs, as a JSON list or separated by spaces or commas.
func ParseSitemaps(text string) ([]string, error) {
	list := prop.Texts(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r <= ' ' }))
	if text[0] == '[' {
		if err := prop.Decode(text, &list); err != nil {
			return nil, err
		}
	}
	if len(list) > mostSitemaps {
		return nil, fmt.Errorf("names %d sitemaps; expected at most %d", len(list), mostSitemaps)
	}
	urls := make([]string, len(list))
	for i, raw := range list {
		u, err := canonical.Canonical(raw)
		if err != nil {
			return nil, fmt.Errorf("names %q, which is not a URL: %w", prop.Clip(raw), err)
		}
		urls[i] = u
	}
	return urls, nil
}
