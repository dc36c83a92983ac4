package storage

import (
	"context"
	"time"

	"hce/dc/internal/wire"
)

// Contents are the processed contents of the node's sites (docs/spec/storage.md 3). One
// implementation has a key-value file per site (package keyvalue), the other one a table
// of the SQL database (sqlstore.Contents).
//
//   - A site is 1 to 32 letters, digits, - or _, or "" for the general site "0". An id is
//     1 to 32 of them. Case matters. Other names are an error before any change.
//   - A site needs no row: contents may outlive it. A site without contents reads as empty.
//   - A change happens completely or not at all, and survives a kill after nil was returned.
//   - Data are bytes and read back unchanged. Dates have a resolution of one second, in UTC.
//   - Goroutines and processes may share an implementation.
type Contents interface {
	// Create prepares the place of a site. PutAll does so too.
	Create(ctx context.Context, site string) error
	// Get returns the entry of id, or false if it does not exist.
	Get(ctx context.Context, site, id string) (wire.Entry, bool, error)
	// Dates returns the CDate of each existing entry by id. It is zero if the stored
	// date is unreadable.
	Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error)
	// PutAll stores entries and replaces those with the same ids. Of two entries with
	// one id the last wins. A zero CDate becomes the current time. inserted reports for
	// each entry whether its id was new.
	PutAll(ctx context.Context, site string, entries []wire.Entry) (inserted []bool, err error)
	// Delete removes entries. Missing ones are not an error.
	Delete(ctx context.Context, site string, ids ...string) error
	// DeleteSite removes all entries of a site and its place.
	DeleteSite(ctx context.Context, site string) error
}

// movable are contents that MoveContents can read completely.
type movable interface {
	Contents
	// GetAll returns the existing entries by id.
	GetAll(ctx context.Context, site string, ids ...string) (map[string]wire.Entry, error)
	// Sites lists the sites that have entries, ordered by id.
	Sites(ctx context.Context) ([]string, error)
	// Page returns the entries after an id, ordered by id: at most 500, and up to the
	// first one that exceeds the bytes of data. It is empty after the last entry.
	Page(ctx context.Context, site, after string, bytes int) ([]wire.Entry, error)
	// DropEmpty removes the place of a site without entries. It keeps other places.
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
