package web

import (
	"net/http"
	"slices"

	"hce/dc/internal/wire"
)

// Trap is one address of the hostile web and what a crawler has to make of it.
type Trap struct {
	// Host is "" for the main host. Every other name is a host with a port of
	// its own, since its robots.txt or its TLS is what is wrong with it.
	Host string
	Path string
	What string // what the server does
	// Ends are the error masks that are right for the row; none: no error. Most
	// traps have one right end.
	Ends []wire.ErrorMask
	// Stalls tells that only the client's time-out ends the answer.
	Stalls bool

	serve http.HandlerFunc
}

// Fits reports whether mask is a right end of this trap.
func (t Trap) Fits(mask wire.ErrorMask) bool {
	if len(t.Ends) == 0 {
		return mask == 0
	}
	return slices.Contains(t.Ends, mask)
}

// Traps lists all traps: those of the main host by group, then the other hosts.
func Traps() []Trap {
	var all []Trap
	for _, group := range [][]Trap{bodies(), lengths(), answers(), redirects(), markup(), linkTraps(), charsets(), feeds(), robotsHosts(), tlsHosts()} {
		all = append(all, group...)
	}
	return all
}

// ends is short for the list of right ends.
func ends(masks ...wire.ErrorMask) []wire.ErrorMask { return masks }
