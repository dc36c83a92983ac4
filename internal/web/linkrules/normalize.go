package linkrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// Normalize is the property URL_NORMALIZE: a mask of package canonical, and replacements in
// every link before it is resolved.
type Normalize struct {
	mask     *prop.Int
	replaces []replacement
}

type replacement struct {
	re   *pyregexp.Regexp
	with pyregexp.Template
}

// ParseNormalize parses {"mask": int, "replace": [{regex: text}, ...]} or a mask.
// Expressions ignore case; texts refer to groups as in Python (\1).
func ParseNormalize(text string) (*Normalize, error) {
	var raw json.RawMessage
	if err := decodeJSON(text, &raw); err != nil {
		return nil, err
	}
	var v struct {
		Mask    *prop.Int       `json:"mask"`
		Replace json.RawMessage `json:"replace"`
	}
	if raw[0] == '{' {
		if err := prop.Decode(text, &v); err != nil {
			return nil, err
		}
	} else if !bytes.Equal(raw, []byte("null")) {
		v.Mask = new(prop.Int)
		if err := v.Mask.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
	}
	n := &Normalize{mask: v.Mask}
	list, err := parseElements(v.Replace)
	if err != nil {
		return nil, err
	}
	for _, raw := range list {
		var rules prop.Members
		if err := parseMember("replace", raw, &rules); err != nil {
			return nil, err
		}
		for _, m := range rules {
			r, err := newReplacement(m)
			if err != nil {
				return nil, err
			}
			n.replaces = append(n.replaces, r)
		}
	}
	return n, checkCount(len(n.replaces))
}

func newReplacement(m prop.Member) (replacement, error) {
	with, err := prop.Text(m.Value)
	if err != nil {
		return replacement{}, fmt.Errorf("%w at %.80q", err, m.Name)
	}
	re, err := pyregexp.CompileFold(m.Name)
	if err != nil {
		return replacement{}, fmt.Errorf("has an invalid expression %.80q: %w", m.Name, err)
	}
	t, err := re.Template(with)
	if err != nil {
		return replacement{}, fmt.Errorf("has a %w", err)
	}
	return replacement{re, t}, nil
}

// Mask returns the mask, which overrides URL_NORMALIZE_MASK if given is true.
func (n *Normalize) Mask() (mask int64, given bool) {
	if n == nil || n.mask == nil {
		return 0, false
	}
	return int64(*n.mask), true
}

// Replace applies the replacements one after the other. It skips one whose result is longer
// than 8 KiB.
func (n *Normalize) Replace(url string) string {
	if n == nil {
		return url
	}
	for _, r := range n.replaces {
		url, _ = r.re.Replace(url, r.with, maxURL)
	}
	return url
}

// Template replaces up to ten %URL% in template by url, percent-encoded if quote is set. It
// returns url for an empty template. It serves URL_TEMPLATE_REGULAR, URL_TEMPLATE_REALTIME
// and (always quoted) EXTERNAL_URL.
func Template(template, url string, quote bool) string {
	if template == "" {
		return url
	}
	if quote {
		url = percentEncode(url)
	}
	return strings.Replace(template, "%URL%", url, 10)
}

// percentEncode percent-encodes everything except the unreserved characters (RFC 3986, 2.3).
func percentEncode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
