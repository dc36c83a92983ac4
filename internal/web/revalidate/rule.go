package revalidate

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
)

// Algorithms of DETECT_MODIFIED: the kind of conditional request.
const (
	Both  = 0 // If-None-Match and If-Modified-Since
	ETags = 1 // If-None-Match
	Dates = 2 // If-Modified-Since
	Head  = 3 // a HEAD request, compared here
)

// Modes of DETECT_MODIFIED: the maximum number of requests.
const (
	Off   = 0
	Once  = 1
	Twice = 2 // a plain GET if the first response says "modified"
)

// Comparisons of DETECT_MODIFIED: what identifies an unchanged page, in addition to code 304.
const (
	ByCode   = 0 // no comparison
	ByDate   = 1 // Last-Modified is not after the date of the row
	ByMD5    = 2 // the content has the row's RawContentMd5
	ByLength = 3 // the content has the row's Size
)

// Behaviors of DETECT_MODIFIED: the change of a row whose page has not changed.
const (
	Keep        = 0
	Crawled     = 1
	Processed   = 2 // Processed if it has processed contents
	KeepAndDate = 3 // as Keep, but UDate is now
	// Restore gives the row back what it was before it was due: status, code, errors of its content. UDate
	// is now. The content is compared as with ByMD5, whatever Compare says.
	Restore = 4
)

// ContentErrors are the errors of a content, not of its fetch or of its processing: an unchanged page
// still has them.
const ContentErrors = errormask.BadEncoding | errormask.HTMLParse | errormask.DTD | errormask.MaxURLsFromPage | errormask.RawNotStored | errormask.UnsupportedType

// Rule is the property DETECT_MODIFIED. The zero Rule is disabled.
type Rule struct {
	Algorithm, Mode, Compare, Behavior int
}

// Parse parses {"algorithm": 0-3, "mode": 0-2, "compare": 0-3, "behavior": 0-4}. Missing
// members are 0, except mode, which is 1. An empty object gives a disabled Rule.
func Parse(text string) (Rule, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return Rule{}, err
	}
	if len(members) == 0 {
		return Rule{}, nil
	}
	v := struct{ Algorithm, Mode, Compare, Behavior prop.Int }{Mode: prop.Int(Once)}
	if err := prop.Decode(text, &v); err != nil {
		return Rule{}, err
	}
	for _, m := range []struct {
		name string
		n    prop.Int
		most prop.Int
	}{
		{"algorithm", v.Algorithm, 3}, {"mode", v.Mode, 2}, {"compare", v.Compare, 3}, {"behavior", v.Behavior, 4},
	} {
		if m.n < 0 || m.n > m.most {
			return Rule{}, fmt.Errorf("has %d at %q; expected 0 to %d", m.n, m.name, m.most)
		}
	}
	r := Rule{int(v.Algorithm), int(v.Mode), int(v.Compare), int(v.Behavior)}
	if r.Algorithm == Head && r.Mode == Once {
		r.Mode = Twice // HEAD alone never fetches a changed page
	}
	return r, nil
}

// Applies reports whether the Rule is enabled and the row has been crawled before.
func (r Rule) Applies(row *wire.URL) bool { return r.Mode != Off && row.Crawled > 0 }

// Method returns the method of the first request.
func (r Rule) Method(row *wire.URL) string {
	if r.Algorithm == Head && r.Applies(row) {
		return http.MethodHead
	}
	return http.MethodGet
}

// Headers returns the conditions of the first request, or nil if the Rule does not apply or
// the row has nothing to compare.
func (r Rule) Headers(row *wire.URL) http.Header {
	if !r.Applies(row) || r.Algorithm == Head {
		return nil
	}
	header := make(http.Header)
	if tag := entityTag(row.ETag); tag != "" && r.Algorithm != Dates {
		header["If-None-Match"] = []string{withPlain(tag)}
	}
	if t, ok := row.LastModified.Time(); ok && t.Year() > 1970 && r.Algorithm != ETags {
		header["If-Modified-Since"] = []string{t.UTC().Format(http.TimeFormat)}
	}
	if len(header) == 0 {
		return nil
	}
	return header
}

// Second reports whether a plain GET follows if the first response says "modified"; Verdict
// then judges its response. It is false if the first request was a plain GET itself.
func (r Rule) Second(row *wire.URL) bool {
	return r.Applies(row) && r.Mode == Twice && (r.Algorithm == Head || r.Headers(row) != nil)
}

// Outcome returns the Status of an unchanged row, and whether UDate keeps its value (else
// it is now). hasProcessed says that there is processed content. Status 0, which no
// selection finds, becomes Crawled (fault F26).
func (r Rule) Outcome(hasProcessed bool) (status int64, keepUDate bool) {
	if r.Behavior == Processed && hasProcessed {
		return wire.StatusProcessed, true
	}
	return wire.StatusCrawled, r.Behavior != KeepAndDate
}

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
// compared; of other codes only those of pages can. If a value to compare is missing, the page counts
// as changed.
func (r Rule) Verdict(row *wire.URL, a Answer) (changed bool) {
	switch {
	case !r.Applies(row):
		return true
	case a.Code == http.StatusNotModified:
		return false
	case !wire.IsPageCode(int64(a.Code)):
		return true
	}
	if r.Behavior == Restore {
		r.Compare = ByMD5
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

// maxCounter bounds the number of crawls; beyond it a rate no longer changes visibly.
const maxCounter = 1 << 52

// Rate returns MRate and MRateCounter after one more crawl: the share of crawls that found
// a change (docs/spec/crawling.md 4.12). An invalid rate restarts at 0.
func Rate(rate float64, counter int64, changed bool) (float64, int64) {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 || counter < 0 {
		rate, counter = 0, 0
	}
	counter = min(counter, maxCounter)
	m := 0.0
	if changed {
		m = 1
	}
	n := float64(counter)
	return min(rate, 1)*(n/(n+1)) + m/(n+1), counter + 1
}
