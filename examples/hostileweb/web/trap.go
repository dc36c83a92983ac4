package web

import (
	"net/http"
	"slices"

	"hce/dc/internal/wire/errormask"
)

// Trap is one URL of the hostile web and the expected result of its crawl.
type Trap struct {
	// Host is "" for the main host. Any other host has its own port, because its robots.txt
	// or its TLS is wrong.
	Host string
	Path string
	What string // what the server does
	// Ends are the expected error masks of the row; empty means no error.
	Ends []errormask.Mask
	// Stalls says that only the client's timeout ends the answer.
	Stalls bool
	// Kept says that the page is stored although Ends has FETCH_HTTP_ERROR: the answer violates HTTP,
	// but browsers show it.
	Kept bool
	// PutOff says that the row stays New: its host is not available now.
	PutOff bool

	serve http.HandlerFunc
}

// Fits reports whether mask is an expected result of this trap.
func (t Trap) Fits(mask errormask.Mask) bool {
	if len(t.Ends) == 0 {
		return mask == 0
	}
	return slices.Contains(t.Ends, mask)
}

// marks are the bits of a page that is stored and processed all the same.
const marks = errormask.BadEncoding | errormask.MaxURLsFromPage | errormask.HTMLParse | errormask.RawNotStored | errormask.RSSEmpty

// Keeps reports whether a page that ends with mask is stored.
func (t Trap) Keeps(mask errormask.Mask) bool {
	mask &^= marks
	return mask == 0 || t.Kept && mask == errormask.FetchHTTP
}

// Stored says what is stored of the answer.
func (t Trap) Stored() string {
	kept, lost := len(t.Ends) == 0, false
	for _, mask := range t.Ends {
		kept, lost = kept || t.Keeps(mask), lost || !t.Keeps(mask)
	}
	switch {
	case t.PutOff:
		return "nothing yet; the URL stays new"
	case kept && lost:
		return "the page, or nothing but its row"
	case kept:
		return "the page"
	}
	return "nothing but its row"
}

// Traps lists all traps: those of the main host by group, then the other hosts.
func Traps() []Trap {
	var all []Trap
	for _, group := range [][]Trap{
		floodTraps(), codingTraps(), bodyTraps(), lengthTraps(), answerTraps(), redirectTraps(),
		nestedTraps(), giantTraps(), unfinishedTraps(), scriptTraps(), referralTraps(),
		linkTraps(), charsetTraps(), feedTraps(), robotsHosts(), tlsHosts(),
	} {
		all = append(all, group...)
	}
	return all
}

// listMasks returns its arguments as a list.
func listMasks(masks ...errormask.Mask) []errormask.Mask { return masks }
