package revalidate

import (
	"fmt"
	"net/http"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// Algorithm is how a server is asked.
type Algorithm int

// The algorithms of DETECT_MODIFIED.
const (
	Both  Algorithm = 0 // If-None-Match and If-Modified-Since
	ETags Algorithm = 1 // If-None-Match
	Dates Algorithm = 2 // If-Modified-Since
	Head  Algorithm = 3 // a HEAD request; its answer is compared here
)

// Mode is how many requests there may be.
type Mode int

// The modes of DETECT_MODIFIED.
const (
	Off   Mode = 0
	Once  Mode = 1
	Twice Mode = 2 // a plain GET when the first answer says "modified"
)

// Compare is what tells a page that has not changed, beside code 304.
type Compare int

// The comparisons of DETECT_MODIFIED.
const (
	ByCode   Compare = 0 // nothing
	ByDate   Compare = 1 // Last-Modified is not after the date of the row
	ByMD5    Compare = 2 // the content has the row's RawContentMd5
	ByLength Compare = 3 // the content has the row's Size
)

// Behavior is what becomes of a row that has not changed.
type Behavior int

// The behaviors of DETECT_MODIFIED.
const (
	Keep        Behavior = 0
	Crawled     Behavior = 1
	Processed   Behavior = 2 // Processed if it has processed contents
	KeepAndDate Behavior = 3 // as Keep, and UDate is now
)

// Rule is DETECT_MODIFIED. The zero Rule is off.
type Rule struct {
	Algorithm Algorithm
	Mode      Mode
	Compare   Compare
	Behavior  Behavior
}

// Parse reads {"algorithm": 0-3, "mode": 0-2, "compare": 0-3, "behavior": 0-3}.
// Members that are missing are 0, but for mode: who gives the object without it
// wants one request. An empty object is a Rule that is off.
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
		{"algorithm", v.Algorithm, 3}, {"mode", v.Mode, 2}, {"compare", v.Compare, 3}, {"behavior", v.Behavior, 3},
	} {
		if m.n < 0 || m.n > m.most {
			return Rule{}, fmt.Errorf("has %d at %q, where 0 to %d is wanted", m.n, m.name, m.most)
		}
	}
	r := Rule{Algorithm(v.Algorithm), Mode(v.Mode), Compare(v.Compare), Behavior(v.Behavior)}
	if r.Algorithm == Head && r.Mode == Once {
		r.Mode = Twice // HEAD alone never brings the page that has changed
	}
	return r, nil
}

// Applies reports whether the Rule has a say in the crawl of the row: it is on,
// and the row has been crawled before.
func (r Rule) Applies(row *wire.URL) bool { return r.Mode != Off && row.Crawled > 0 }

// Method returns the method of the first request.
func (r Rule) Method(row *wire.URL) string {
	if r.Algorithm == Head && r.Applies(row) {
		return http.MethodHead
	}
	return http.MethodGet
}

// Headers returns the conditions to send with the first request; nil when there
// are none, as the row has nothing to compare with or the Rule does not apply.
func (r Rule) Headers(row *wire.URL) http.Header {
	if !r.Applies(row) || r.Algorithm == Head {
		return nil
	}
	header := make(http.Header)
	if tag := entityTag(row.ETag); tag != "" && r.Algorithm != Dates {
		header["If-None-Match"] = []string{tag}
	}
	if t, ok := row.LastModified.Time(); ok && t.Year() > 1970 && r.Algorithm != ETags {
		header["If-Modified-Since"] = []string{t.UTC().Format(http.TimeFormat)}
	}
	if len(header) == 0 {
		return nil
	}
	return header
}

// Second reports whether a plain GET follows when the first answer says
// "modified". Verdict is then asked again, with its answer. Where a first plain
// GET has brought the page already, there is nothing a second could bring.
func (r Rule) Second(row *wire.URL) bool {
	return r.Applies(row) && r.Mode == Twice && (r.Algorithm == Head || r.Headers(row) != nil)
}

// Outcome returns what becomes of a row that has not changed: its Status, and
// whether UDate stays as it is, else it is now. hasProcessed tells whether there
// is a processed content. The original's Status 0, which no selection finds, is
// Crawled here (fault F26).
func (r Rule) Outcome(hasProcessed bool) (status int64, keepUDate bool) {
	if r.Behavior == Processed && hasProcessed {
		return wire.StatusProcessed, true
	}
	return wire.StatusCrawled, r.Behavior != KeepAndDate
}
