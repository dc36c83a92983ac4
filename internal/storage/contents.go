package storage

import (
	"context"
	"time"

	"hce/dc/internal/wire"
)

// Contents are the processed contents of the node's sites (docs/spec/storage.md 3), in one of
// two places: a key-value file for each site (package keyvalue), or a table of the SQL
// database (sqlstore.Contents). Its laws are those of both.
//
//   - A site is 1 to 32 letters, digits, - or _, or "" for the general site "0";
//     an id is 1 to 32 of them. Any other is an error before anything is touched.
//     Letters of different case are different.
//   - A site need not be known to anyone: contents may outlive its row. What is
//     asked of a site that has none is answered as of an empty one.
//   - A method that changes something does all of it or nothing, and when it
//     returns nil the change outlives a kill.
//   - Data are bytes, not text, and come back as they were, empty ones as empty;
//     dates come back to the second, in UTC.
//   - Goroutines and processes may share a place.
type Contents interface {
	// Create prepares the place of a site. PutAll does so too.
	Create(ctx context.Context, site string) error
	// Get returns the entry of id; false when there is none.
	Get(ctx context.Context, site, id string) (wire.Entry, bool, error)
	// Dates returns the CDates of those ids that have an entry, by id; the zero
	// time for one that cannot be read.
	Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error)
	// PutAll stores entries, each in the place of what had its id; of two of one
	// id the last stays. A zero CDate becomes the current time. Inserted tells for
	// each whether its id was new.
	PutAll(ctx context.Context, site string, entries []wire.Entry) (inserted []bool, err error)
	// Delete removes entries; those that are missing are no error.
	Delete(ctx context.Context, site string, ids ...string) error
	// DeleteSite removes all entries of a site, and its place where it has one.
	DeleteSite(ctx context.Context, site string) error
}

// movable are contents that can be moved elsewhere.
type movable interface {
	Contents
	// GetAll returns the entries of those ids that have one, by id.
	GetAll(ctx context.Context, site string, ids ...string) (map[string]wire.Entry, error)
	// Sites lists the sites that have entries, in the order of their ids.
	Sites(ctx context.Context) ([]string, error)
	// Page returns the entries whose ids come behind after, in the order of ids: at
	// most 500, and no more than the first beyond so many bytes of data. Behind the
	// last one it is empty.
	Page(ctx context.Context, site, after string, bytes int) ([]wire.Entry, error)
	// DropEmpty gives back the place of a site that has no entries, and leaves that
	// of one that has.
	DropEmpty(ctx context.Context, site string) error
}

// NotOlder returns the entries of a site that are missing in stored, or not older than
// the stored entry of the same id.
func NotOlder(ctx context.Context, stored Contents, site string, entries []wire.Entry) ([]wire.Entry, error) {
	dates, err := stored.Dates(ctx, site, idsOf(entries)...)
	if err != nil {
		return nil, err
	}
	kept := make([]wire.Entry, 0, len(entries))
	for _, e := range entries {
		if at, exists := dates[e.ID]; !exists || !at.After(e.CDate) {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

func idsOf(entries []wire.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}
