package linkrules

import (
	"encoding/json"
	"slices"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// URLLimits is the property URL_LIMITS: the final selection of a page's links.
type URLLimits []cut

// cut is one rule. It keeps the links that its masks match, without the first offset, at
// most most of them.
type cut struct {
	urls, types  []*pyregexp.Regexp
	offset, most int64 // most 0: no limit
}

// ParseURLLimits parses {"root_url_mask": [regex], "content_type_mask": [regex], "offset":
// n, "max_items": n} or a list of these. All members are optional. Masks ignore case.
// Source: docs/spec/crawling.md 3, 7.3 (F35).
func ParseURLLimits(text string) (URLLimits, error) {
	var all json.RawMessage
	if err := decodeJSON(text, &all); err != nil {
		return nil, err
	}
	list, err := parseElements(all)
	if err != nil {
		return nil, err
	}
	var l URLLimits
	for _, raw := range list {
		var v struct {
			URLs   prop.Texts `json:"root_url_mask"`
			Types  prop.Texts `json:"content_type_mask"`
			Offset prop.Int   `json:"offset"`
			Most   prop.Int   `json:"max_items"`
		}
		if err := prop.Decode(string(raw), &v); err != nil {
			return nil, err
		}
		c := cut{offset: int64(v.Offset), most: int64(v.Most)}
		if c.urls, err = anyOf(v.URLs); err != nil {
			return nil, err
		}
		if c.types, err = anyOf(v.Types); err != nil {
			return nil, err
		}
		l = append(l, c)
	}
	return l, nil
}

// NeedsContentTypes reports whether Keep uses content types, which cost a HEAD request for
// each link.
func (l URLLimits) NeedsContentTypes() bool {
	return slices.ContainsFunc(l, func(c cut) bool { return len(c.types) > 0 })
}

// Candidate is a link that passed all other checks.
type Candidate struct {
	URL         string // after redirects, if known
	ContentType string // parameters allowed; "" if unknown
}

// Keep returns, for each link of a page, whether it stays. Each rule keeps the links that
// its masks match (an unknown type matches no mask), skips the first offset of them if
// there are more, and keeps max_items of the rest (0 keeps all).
func (l URLLimits) Keep(links []Candidate) []bool {
	keep := make([]bool, len(links))
	for i := range keep {
		keep[i] = true
	}
	for _, c := range l {
		var left []int
		for i, link := range links {
			if !keep[i] {
				continue
			}
			if keep[i] = c.matchesLink(link); keep[i] {
				left = append(left, i)
			}
		}
		offset := int64(0)
		if 0 < c.offset && c.offset < int64(len(left)) {
			offset = c.offset
		}
		for n, i := range left {
			n := int64(n)
			keep[i] = n >= offset && (c.most <= 0 || n-offset < c.most)
		}
	}
	return keep
}

func (c cut) matchesLink(link Candidate) bool {
	if len(c.urls) > 0 && !matchesAny(c.urls, link.URL) {
		return false
	}
	kind, _, _ := strings.Cut(link.ContentType, ";")
	kind = strings.TrimSpace(kind)
	return len(c.types) == 0 || kind != "" && matchesAny(c.types, kind)
}
