package limits

import (
	"math"

	"hce/dc/internal/wire/errormask"
)

// Capacity has the limits of a site and its current size. A limit of 0 means no limit.
type Capacity struct {
	MaxURLs, URLs           int64 // rows of this node
	MaxResources, resources int64
	Period                  int64 // RecrawlPeriod, minutes
	Rows                    int64 // RowsEpoch: the epoch of the rows

	// On a node of a cluster; see lease.go.
	leased                       bool
	leaseURLs, final, until, now int64
}

// ReadCapacity reads the capacity of a site.
func (t *Tx) ReadCapacity(site string) (c Capacity, err error) {
	c.leased, c.now = t.Place.Active(), t.Time.Unix()
	_, err = t.Get("site_room", []any{site}, &c.MaxURLs, &c.URLs, &c.MaxResources, &c.resources, &c.Period, &c.leaseURLs, &c.final, &c.until, &c.Rows)
	return c, err
}

// RoomLeft is the number of rows that the site can take.
func (c Capacity) RoomLeft() int {
	left := int64(math.MaxInt32)
	if c.MaxURLs > 0 {
		left = min(left, c.mayHave()-c.URLs)
	}
	if c.MaxResources > 0 {
		left = min(left, c.MaxResources-c.resources)
	}
	return int(max(left, 0))
}

// ExhaustedBit is the bit of the limit that leaves the least room (docs/spec/processing.md 1.7,
// docs/spec/DECISIONS.md 2).
func (c Capacity) ExhaustedBit() errormask.Mask {
	if c.MaxURLs > 0 && (c.MaxResources <= 0 || c.mayHave()-c.URLs <= c.MaxResources-c.resources) {
		return errormask.MaxItems
	}
	return errormask.SiteMaxResources
}
