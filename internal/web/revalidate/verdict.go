package revalidate

import (
	"net/http"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// Answer is the part of a response that Verdict needs.
type Answer struct {
	Code int
	// Date is the header Last-Modified, zero if missing or invalid.
	Date time.Time
	// Length is the size of the content, computed like Size of the row; -1 if unknown, as
	// after HEAD without a length.
	Length int64
	// MD5 is the hexadecimal sum of the content, computed like RawContentMd5 of the row; ""
	// without content.
	MD5 string
}

// Verdict reports whether the page has changed. Code 304 means unchanged whatever is
// compared; of other codes only 200 can. If a value to compare is missing, the page counts
// as changed.
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
