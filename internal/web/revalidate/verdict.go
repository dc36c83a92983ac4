package revalidate

import (
	"net/http"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// Answer is what Verdict has to know of a response.
type Answer struct {
	Code int
	// Date is the header Last-Modified, the zero time when it is missing or
	// cannot be read.
	Date time.Time
	// Length is the size of the content, made as Size of the row is made; -1 when
	// there is none, as after HEAD without a length.
	Length int64
	// MD5 is the sum of the content, made as RawContentMd5 of the row is made, in
	// hexadecimal; "" when there is no content.
	MD5 string
}

// Verdict reports whether the page has changed. Code 304 says that it has not,
// whatever is compared; of other codes only 200 can. What is missing on either
// side proves nothing, and a page is taken as changed.
func (r Rule) Verdict(row *wire.URL, a Answer) (changed bool) {
	switch {
	case !r.Applies(row):
		return true
	case a.Code == http.StatusNotModified:
		return false
	case a.Code != http.StatusOK:
		return true
	}
	switch r.Compare {
	case ByDate:
		before, ok := row.LastModified.Time()
		return !ok || a.Date.IsZero() || a.Date.Truncate(time.Second).After(before)
	case ByMD5:
		return a.MD5 == "" || !strings.EqualFold(a.MD5, row.RawContentMd5)
	case ByLength:
		return row.Size <= 0 || a.Length != row.Size
	}
	return true
}
