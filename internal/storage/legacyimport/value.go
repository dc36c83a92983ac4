package legacyimport

import (
	"strconv"
	"time"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// convertInt converts a number and limits it to the bounds of c; NULL becomes 0.
func (s *source) convertInt(column, raw string, c schema.Column) any {
	if raw == "" {
		return int64(0)
	}
	n, err := strconv.ParseInt(raw, 10, 64) // out of range: n is the nearest limit
	fit := c.Fit(n)
	if fit != n || err != nil {
		s.countChanges(column+": limited", 1)
	}
	return fit
}

// convertText cuts a long text. NUL and invalid UTF-8 become U+FFFD.
func (s *source) convertText(column, raw string, c schema.Column) any {
	fit := c.Fit(raw)
	if fit != raw {
		s.countChanges(column+": cut or cleaned", 1)
	}
	return fit
}

// convertDate converts a date to UTC. NULL, 0000-00-00 and dates outside the range of our
// columns become nil. The server sends a TIMESTAMP in UTC.
func (s *source) convertDate(column, raw, kind string, c schema.Column) any {
	if raw == "" {
		return nil
	}
	zone := s.zone
	if kind == "timestamp" {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(schema.DateLayout, raw[:min(len(raw), len(schema.DateLayout))], zone)
	if err == nil {
		if fit := c.Fit(string(schema.DateOf(at))); fit != nil {
			return fit
		}
	}
	s.countChanges(column+": no date", 1)
	return nil
}

// movedBits maps error bits of the original to their present places
// (docs/spec/DECISIONS.md 2).
var movedBits = [][2]errormask.Mask{
	{1 << 7, errormask.Macro}, {1 << 15, errormask.Synchronize}, {1 << 16, errormask.FiltersBreak},
	{1 << 32, errormask.Database}, {1 << 33, errormask.SiteMaxResourcesSize},
}

// convertErrorMask converts an error mask of the original.
func (s *source) convertErrorMask(column string, old int64) int64 {
	mask := errormask.Mask(old)
	for _, bit := range movedBits {
		if errormask.Mask(old)&bit[0] != 0 {
			mask = mask&^bit[0] | bit[1]
		}
	}
	if int64(mask) != old {
		s.countChanges(column+": bits moved", 1)
	}
	return int64(mask)
}
