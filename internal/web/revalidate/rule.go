package revalidate

import (
	"fmt"
	"net/http"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// Algorithm is the kind of conditional request.
type Algorithm int

// Algorithms of DETECT_MODIFIED.
const (
	Both  Algorithm = 0 // If-None-Match and If-Modified-Since
	ETags Algorithm = 1 // If-None-Match
	Dates Algorithm = 2 // If-Modified-Since
	Head  Algorithm = 3 // a HEAD request, compared here
)

// Mode is the maximum number of requests.
type Mode int

// Modes of DETECT_MODIFIED.
const (
	Off   Mode = 0
	Once  Mode = 1
	Twice Mode = 2 // a plain GET if the first response says "modified"
)

// Compare identifies an unchanged page, in addition to code 304.
type Compare int

// Comparisons of DETECT_MODIFIED.
const (
	ByCode   Compare = 0 // no comparison
	ByDate   Compare = 1 // Last-Modified is not after the date of the row
	ByMD5    Compare = 2 // the content has the row's RawContentMd5
	ByLength Compare = 3 // the content has the row's Size
)

// Behavior is the change of a row whose page has not changed.
type Behavior int

// Behaviors of DETECT_MODIFIED.
const (
	Keep        Behavior = 0
	Crawled     Behavior = 1
	Processed   Behavior = 2 // Processed if it has processed contents
	KeepAndDate Behavior = 3 // as Keep, but UDate is now
)

// Rule is the property DETECT_MODIFIED. The zero Rule is disabled.
type Rule struct {
	Algorithm Algorithm
	Mode      Mode
	Compare   Compare
	Behavior  Behavior
}

// Parse parses {"algorithm": 0-3, "mode": 0-2, "compare": 0-3, "behavior": 0-3}. Missing
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
		{"algorithm", v.Algorithm, 3}, {"mode", v.Mode, 2}, {"compare", v.Compare, 3}, {"behavior", v.Behavior, 3},
	} {
		if m.n < 0 || m.n > m.most {
			return Rule{}, fmt.Errorf("has %d at %q; expected 0 to %d", m.n, m.name, m.most)
		}
	}
	r := Rule{Algorithm(v.Algorithm), Mode(v.Mode), Compare(v.Compare), Behavior(v.Behavior)}
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
