package wire

import (
	"encoding/json"
	"time"

	"hce/dc/internal/wire/errormask"
)

// Hop is one redirect on the way to the page of a URL.
type Hop struct {
	Code int64  `json:"code"` // of the answer, as 301; 200 for a redirect in HTML or by a script
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

// FirstCode returns the HTTP code of the first answer of the last fetch, that of a redirect if there was one;
// 0 without an answer.
func (u *URL) FirstCode() int64 {
	if hops := u.Hops(); len(hops) > 0 {
		return hops[0].Code
	}
	return u.AnsweredCode()
}

// FinalURL returns the URL of the last answer.
func (u *URL) FinalURL() string {
	if hops := u.Hops(); len(hops) > 0 {
		return hops[len(hops)-1].URL
	}
	return u.URL
}

// AnsweredCode returns the HTTP code that a server sent, 0 if none did: a time-out, a loop, a reset
// connection, a body that was cut, a filter. The specification's HTTPCode of such rows is 400, and bits of
// ErrorMask name the cause (docs/spec/crawling.md 2.4).
func (u *URL) AnsweredCode() int64 {
	if u.HTTPCode == 400 && u.ErrorMask != 0 && u.ErrorMask&errormask.HTTP == 0 {
		return 0
	}
	return u.HTTPCode
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

// HopAnswer is what was sent and received at a redirect. A content of type ContentHops is a JSON list
// of them, in their order.
type HopAnswer struct {
	URL     string    `json:"url"` // that was asked, absolute
	At      time.Time `json:"at"`
	Request string    `json:"request,omitempty"` // request line and fields
	Head    string    `json:"head"`              // status line and fields
	Body    []byte    `json:"body,omitempty"`    // as received, in its codings
	Cut     bool      `json:"cut,omitempty"`     // Body is not the whole body
}
