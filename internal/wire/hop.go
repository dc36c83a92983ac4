package wire

import "encoding/json"

// Hop is one redirect on the way to the page of a URL.
type Hop struct {
	Code int64  `json:"code"` // of the answer, as 301; 0 for a redirect in HTML
	URL  string `json:"url"`  // where it leads, absolute
}

// maxRedirects is the bound of the column Redirects in bytes.
const maxRedirects = 65535

// Hops returns the redirects of the last fetch, in their order; nil if there were none.
func (u *URL) Hops() []Hop {
	var hops []Hop
	if u.Redirects != "" && json.Unmarshal([]byte(u.Redirects), &hops) != nil {
		return nil
	}
	return hops
}

// RedirectsOf is the column Redirects of hops: a JSON list of them, "" for none. The first hops
// are missing if the list is longer than the column.
func RedirectsOf(hops []Hop) string {
	for ; len(hops) > 0; hops = hops[1:] {
		if text, err := json.Marshal(hops); err == nil && len(text) <= maxRedirects {
			return string(text)
		}
	}
	return ""
}
