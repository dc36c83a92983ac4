package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
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
	// Place names where the contents of a site are, for messages.
	Place(site string) string
	// Create prepares the place of a site. PutAll does so too.
	Create(ctx context.Context, site string) error
	// Get returns the entry of id, or false if it does not exist. The error about an entry whose bytes are
	// not those that were stored begins with wire.DamagedProcessed.
	Get(ctx context.Context, site, id string) (wire.Entry, bool, error)
	// GetAll returns the existing entries by id. A damaged one has Damage.
	GetAll(ctx context.Context, site string, ids ...string) (map[string]wire.Entry, error)
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
	// Sites lists the sites that have entries, ordered by id.
	Sites(ctx context.Context) ([]string, error)
	// Page returns the entries after an id, ordered by id: at most 500, and up to the
	// first one that exceeds the bytes of data. It is empty after the last entry. A damaged entry has Damage.
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

// Places of contents: the values of to in MoveContents.
const (
	PlaceFiles = "files" // a key-value file for each site: content_storage_type 0
	PlaceSQL   = "sql"   // the SQL database: content_storage_type 1
)

const movePage = 4 << 20 // bytes of data of one step

// progressPeriod is the time between two reports of progress. Only a test changes it.
var progressPeriod = 3 * time.Second

// Moved is the summary of a move.
type Moved struct {
	Sites int   `json:"sites"` // with entries to move
	Moved int64 `json:"moved"` // entries written to the new place
	Bytes int64 `json:"bytes"` // of the data of the moved entries
	Kept  int64 `json:"kept"`  // entries of the new place that are newer, and stay
	// Damaged are the entries, and the files that cannot be read further, that stay in the old place.
	Damaged int64 `json:"damaged,omitempty"`
}

// MoveContents moves the processed contents of all sites to the place to, PlaceFiles or
// PlaceSQL, from the other place. It reports progress in lines on progress, and at the
// end, also after an error, writes Moved to out as one line of JSON. Raw files stay.
//
// An entry is removed from the old place after the new place has committed it and it was
// read back unchanged. So a stop at any point loses nothing, and the next run continues.
// If both places have an entry, the newer one wins; in the same second the moved one
// wins. An entry with an unreadable date counts as the oldest and gets the current time. Damaged
// entries stay, are named on progress, and are an error at the end.
//
// It fails while another process has the stores open, and keeps others out while it runs.
// It does not notice a daemon without running tasks. The tasks of such a daemon fail
// during the move and use the place that the ini file names.
func MoveContents(ctx context.Context, c Config, to string, out, progress io.Writer, log *slog.Logger) (err error) {
	if to != PlaceFiles && to != PlaceSQL {
		return fmt.Errorf("contents can be moved to %q or %q, not to %q", PlaceFiles, PlaceSQL, to)
	}
	c.DB.Synchronous = "FULL" // the new place must be durable before the old one is removed
	s, closeAll, err := openedAlone(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	m := mover{from: s.files, to: s.table, pageBytes: movePage, damaged: func(site string, err error) {
		fmt.Fprintf(progress, "site %s: %v; it stays where it is\n", site, err)
	}}
	setting := "1"
	if to == PlaceFiles {
		m.from, m.to, setting = s.table, s.files, "0"
	}
	due := newProgressTimer()
	m.progress = func(site string) {
		if due() {
			fmt.Fprintf(progress, "site %s: %d sites, %d entries, %d bytes so far\n", site, m.done.Sites, m.done.Moved, m.done.Bytes)
		}
	}
	err = m.run(ctx)
	if e := writeSummary(out, m.done); err == nil {
		err = e
	}
	if err == nil && m.done.Damaged > 0 {
		err = fmt.Errorf("%d damaged contents stay in the old place; run db-task --repair, then move again", m.done.Damaged)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "all contents are now in %q: set content_storage_type = %s in [TasksManager]\n", to, setting)
	return nil
}

// newProgressTimer returns a function that returns true once in a progressPeriod.
func newProgressTimer() (due func() bool) {
	last := time.Now()
	return func() bool {
		if time.Since(last) < progressPeriod {
			return false
		}
		last = time.Now()
		return true
	}
}

func writeSummary(out io.Writer, done any) error {
	if err := json.NewEncoder(out).Encode(done); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// mover moves contents from one place to another.
type mover struct {
	from, to  movable
	pageBytes int
	progress  func(site string) // called after each step; may be nil
	damaged   func(site string, err error)
	done      Moved
}

func (m *mover) run(ctx context.Context) error {
	sites, err := m.from.Sites(ctx)
	if err != nil {
		return fmt.Errorf("list sites with contents: %w", err)
	}
	for _, site := range sites {
		if err := m.moveSite(ctx, site); err != nil {
			return fmt.Errorf("move contents of site %s: %w", site, err)
		}
	}
	return nil
}

// moveSite moves the contents of one site, page by page.
func (m *mover) moveSite(ctx context.Context, site string) error {
	m.done.Sites++
	for after := ""; ; {
		page, err := m.from.Page(ctx, site, after, m.pageBytes)
		if err != nil && wire.IsDamage(err.Error()) {
			m.recordDamaged(site, err)
			return nil
		}
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return m.from.DropEmpty(ctx, site)
		}
		after = page[len(page)-1].ID
		page = slices.DeleteFunc(page, func(e wire.Entry) bool {
			if e.Damage != nil {
				m.recordDamaged(site, e.Damage)
			}
			return e.Damage != nil
		})
		if err := m.movePage(ctx, site, page); err != nil {
			return err
		}
		if m.progress != nil {
			m.progress(site)
		}
	}
}

// recordDamaged counts and names a damaged entry or file.
func (m *mover) recordDamaged(site string, err error) {
	m.done.Damaged++
	if m.damaged != nil {
		m.damaged(site, err)
	}
}

// movePage moves entries: it writes those that are not newer in the new place, reads them
// back, and removes all from the old place.
func (m *mover) movePage(ctx context.Context, site string, page []wire.Entry) error {
	put, err := NotOlder(ctx, m.to, site, page)
	if err != nil {
		return err
	}
	if _, err := m.to.PutAll(ctx, site, put); err != nil {
		return err
	}
	if err := m.compareEntries(ctx, site, put); err != nil {
		return err
	}
	if err := m.from.Delete(ctx, site, idsOf(page)...); err != nil {
		return err
	}
	m.done.Moved += int64(len(put))
	m.done.Kept += int64(len(page) - len(put))
	for _, e := range put {
		m.done.Bytes += int64(len(e.Data))
	}
	return nil
}

// compareEntries reads entries back from the new place.
func (m *mover) compareEntries(ctx context.Context, site string, put []wire.Entry) error {
	stored, err := m.to.GetAll(ctx, site, idsOf(put)...)
	if err != nil {
		return err
	}
	if len(stored) != len(put) {
		return fmt.Errorf("%d entries were written but only %d can be read back; the old place keeps them", len(put), len(stored))
	}
	for _, e := range put {
		s, ok := stored[e.ID]
		if !ok || !bytes.Equal(s.Data, e.Data) || !e.CDate.IsZero() && !s.CDate.Equal(e.CDate) {
			return fmt.Errorf("entry %s reads back changed; the old place keeps it", e.ID)
		}
	}
	return nil
}
