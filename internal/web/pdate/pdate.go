// Package pdate chooses the source of a publication date, as PDATE_SOURCES_MASK and
// PDATE_SOURCES_MASK_OVERWRITE say. The crawler and the processor have different sources and
// the same rule.
//
//	from := pdate.Default.Choose(func(bit int64) bool { date, ok = known[bit]; return ok })
//
// Source: docs/spec/processing.md 2.4, docs/spec/crawling.md 3.
package pdate

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Bits of the masks: the sources of a publication date.
const (
	URL        = 1   // a date in the path of the URL
	Feed       = 2   // the date of the feed entry
	HTTPDate   = 4   // the header Date
	Modified   = 8   // the date of the last change
	DublinCore = 16  // the tag dc_date
	Page       = 32  // the tag pubdate, and other dates that a template extracts
	Now        = 64  // the current time
	Expression = 128 // PDATE_SOURCES_EXPRESSION
)

// order is the order in which sources are asked.
var order = [...]int64{URL, Feed, HTTPDate, Modified, DublinCore, Page, Now, Expression}

// Masks are the two properties. A source whose bit is in Overwrite counts only if no
// earlier source has a date; any other source replaces the date of an earlier one.
type Masks struct{ Sources, Overwrite int64 }

// Default are the masks of sites without these properties.
var Default = Masks{255, 192}

// Choose asks the sources of the mask in their order. take reports whether a source has a date, and
// keeps it. from is the bit of the last source that had one; 0: none.
func (m Masks) Choose(take func(bit int64) bool) (from int64) {
	for _, bit := range order {
		if m.Sources&bit == 0 || m.Overwrite&bit != 0 && from != 0 {
			continue
		}
		if take(bit) {
			from = bit
		}
	}
	return from
}

// ParseMask parses one of the properties: a whole number of at least 0.
func ParseMask(text string) (int64, error) {
	mask := prop.Int(-1)
	if err := prop.Decode(text, &mask); err != nil {
		return 0, err
	}
	if mask < 0 {
		return 0, fmt.Errorf("has %.80q; expected a number of at least 0", strings.TrimSpace(text))
	}
	return int64(mask), nil
}
