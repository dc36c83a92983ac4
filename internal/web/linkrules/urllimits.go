package linkrules

import (
	"encoding/json"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// URLLimits is URL_LIMITS: the last cut of a page's links.
type URLLimits struct{ cuts []cut }

// cut is one rule. Links that its masks do not match are removed, and of the
// others all but most behind the first offset.
type cut struct {
	urls, types  []*pyregexp.Regexp
	offset, most int64 // most 0: no limit
}

// ParseURLLimits reads {"root_url_mask": [regex], "content_type_mask": [regex],
// "offset": n, "max_items": n} or a list of these, each member optional. Masks
// ignore case. Source: docs/spec/crawling.md 3, 7.3 (F35).
func ParseURLLimits(text string) (*URLLimits, error) {
	var all json.RawMessage
	if err := decode(text, &all); err != nil {
		return nil, err
	}
	list, err := elements(all)
	if err != nil {
		return nil, err
	}
	l := &URLLimits{}
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
		l.cuts = append(l.cuts, c)
	}
	return l, nil
}

// NeedsContentTypes reports whether Keep asks for content types, so that they
// are worth a HEAD request for each link.
func (l *URLLimits) NeedsContentTypes() bool {
	if l == nil {
		return false
	}
	for _, c := range l.cuts {
		if len(c.types) > 0 {
			return true
		}
	}
	return false
}

// Candidate is a link that passed everything else.
type Candidate struct {
	URL         string // after redirects, where they are known
	ContentType string // with or without parameters; "" when it is not known
}

// Keep tells for each link of a page, in their order, whether it stays. The rules
// cut one after the other: each takes only what its masks match (a type that is
// not known matches no mask), leaves out the first offset of them, if there are
// more than that, and keeps max_items; 0 keeps all.
func (l *URLLimits) Keep(links []Candidate) []bool {
	keep := make([]bool, len(links))
	for i := range keep {
		keep[i] = true
	}
	if l == nil {
		return keep
	}
	for _, c := range l.cuts {
		var left []int
		for i, link := range links {
			if !keep[i] {
				continue
			}
			if keep[i] = c.match(link); keep[i] {
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

func (c cut) match(link Candidate) bool {
	if len(c.urls) > 0 && !matchesAny(c.urls, link.URL) {
		return false
	}
	kind, _, _ := strings.Cut(link.ContentType, ";")
	kind = strings.TrimSpace(kind)
	return len(c.types) == 0 || kind != "" && matchesAny(c.types, kind)
}
