package linkrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// Normalize is URL_NORMALIZE: the mask of package canonical, and replacements on
// every candidate link before it is made absolute.
type Normalize struct {
	mask     int64
	hasMask  bool
	replaces []replacement
}

type replacement struct {
	re   *pyregexp.Regexp
	with pyregexp.Template
}

// ParseNormalize reads {"mask": int, "replace": [{regex: text}, ...]} or a mask
// alone. Expressions ignore case; texts refer to groups as in Python (\1).
func ParseNormalize(text string) (*Normalize, error) {
	var raw json.RawMessage
	if err := decode(text, &raw); err != nil {
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
	n := &Normalize{}
	if v.Mask != nil {
		n.mask, n.hasMask = int64(*v.Mask), true
	}
	list, err := elements(v.Replace)
	if err != nil {
		return nil, err
	}
	for _, raw := range list {
		var rules prop.Members
		if err := inside("replace", raw, &rules); err != nil {
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
	return n, few(len(n.replaces))
}

func newReplacement(m prop.Member) (replacement, error) {
	with, err := prop.Text(m.Value)
	if err != nil {
		return replacement{}, fmt.Errorf("%w at %.80q", err, m.Name)
	}
	re, err := pyregexp.CompileFold(m.Name)
	if err != nil {
		return replacement{}, fmt.Errorf("has the expression %.80q, which is broken: %w", m.Name, err)
	}
	t, err := re.Template(with)
	if err != nil {
		return replacement{}, fmt.Errorf("has a %w", err)
	}
	return replacement{re, t}, nil
}

// Mask is the mask that wins over URL_NORMALIZE_MASK, if one is given.
func (n *Normalize) Mask() (mask int64, given bool) {
	if n == nil {
		return 0, false
	}
	return n.mask, n.hasMask
}

// Replace applies the replacements one after the other. One that would make the
// URL longer than 8 KiB is left out.
func (n *Normalize) Replace(url string) string {
	if n == nil {
		return url
	}
	for _, r := range n.replaces {
		url, _ = r.re.Replace(url, r.with, maxURL)
	}
	return url
}

// Template puts url in the place of each %URL% of a template, percent-quoted when
// quote is set; ten places at most. It is URL_TEMPLATE_REGULAR, _REALTIME and,
// always quoted, EXTERNAL_URL. The empty template is the URL itself.
func Template(template, url string, quote bool) string {
	if template == "" {
		return url
	}
	if quote {
		url = quoted(url)
	}
	return strings.Replace(template, "%URL%", url, 10)
}

// quoted percent-encodes all but the unreserved characters (RFC 3986, 2.3).
func quoted(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for i := range len(text) {
		c := text[i]
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}
