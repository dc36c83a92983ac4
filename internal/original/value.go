package original

import (
	"strconv"
	"time"

	"hce/dc/internal/dc"
)

// whole reads a number; NULL is 0.
func (s *Source) whole(what, raw string, c dc.Column) any {
	if raw == "" {
		return int64(0)
	}
	n, err := strconv.ParseInt(raw, 10, 64) // beyond its range it gives the end of it
	fit := c.Fit(n)
	if fit != n || err != nil {
		s.changed(what+": limited", 1)
	}
	return fit
}

// text cuts what is too long; NUL and bytes that are no characters become
// U+FFFD.
func (s *Source) text(what, raw string, c dc.Column) any {
	fit := c.Fit(raw)
	if fit != raw {
		s.changed(what+": cut or cleaned", 1)
	}
	return fit
}

// date gives a date in UTC, or nil: for NULL, for 0000-00-00, and for what our
// columns do not hold. A TIMESTAMP comes in UTC from the server already.
func (s *Source) date(what, raw, kind string, c dc.Column) any {
	if raw == "" {
		return nil
	}
	zone := s.o.Zone
	if kind == "timestamp" {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(dc.DateLayout, raw[:min(len(raw), len(dc.DateLayout))], zone)
	if err == nil {
		if fit := c.Fit(string(dc.DateOf(at))); fit != nil {
			return fit
		}
	}
	s.changed(what+": no date", 1)
	return nil
}

// moved are the error bits that mean something else here (DECISIONS 2): bit there,
// bit here.
var moved = [][2]dc.ErrorMask{
	{1 << 7, dc.ErrMacro}, {1 << 15, dc.ErrSynchronize}, {1 << 16, dc.ErrFiltersBreak},
	{1 << 32, dc.ErrDatabase}, {1 << 33, dc.ErrSiteMaxResourcesSize},
}

func (s *Source) mask(what string, there int64) int64 {
	here := dc.ErrorMask(there)
	for _, m := range moved {
		if dc.ErrorMask(there)&m[0] != 0 {
			here = here&^m[0] | m[1]
		}
	}
	if int64(here) != there {
		s.changed(what+": bits moved", 1)
	}
	return int64(here)
}
