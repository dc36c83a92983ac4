package legacyimport

import (
	"strconv"
	"time"

	"hce/dc/internal/wire"
)

// whole reads a number; NULL is 0.
func (s *Source) whole(what, raw string, c wire.Column) any {
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
func (s *Source) text(what, raw string, c wire.Column) any {
	fit := c.Fit(raw)
	if fit != raw {
		s.changed(what+": cut or cleaned", 1)
	}
	return fit
}

// date gives a date in UTC, or nil: for NULL, for 0000-00-00, and for what our
// columns do not hold. A TIMESTAMP comes in UTC from the server already.
func (s *Source) date(what, raw, kind string, c wire.Column) any {
	if raw == "" {
		return nil
	}
	zone := s.o.Zone
	if kind == "timestamp" {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(wire.DateLayout, raw[:min(len(raw), len(wire.DateLayout))], zone)
	if err == nil {
		if fit := c.Fit(string(wire.DateOf(at))); fit != nil {
			return fit
		}
	}
	s.changed(what+": no date", 1)
	return nil
}

// moved are the error bits that mean something else here (docs/spec/DECISIONS.md 2): bit there,
// bit here.
var moved = [][2]wire.ErrorMask{
	{1 << 7, wire.ErrMacro}, {1 << 15, wire.ErrSynchronize}, {1 << 16, wire.ErrFiltersBreak},
	{1 << 32, wire.ErrDatabase}, {1 << 33, wire.ErrSiteMaxResourcesSize},
}

func (s *Source) mask(what string, there int64) int64 {
	here := wire.ErrorMask(there)
	for _, m := range moved {
		if wire.ErrorMask(there)&m[0] != 0 {
			here = here&^m[0] | m[1]
		}
	}
	if int64(here) != there {
		s.changed(what+": bits moved", 1)
	}
	return int64(here)
}
