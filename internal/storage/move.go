package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hce/dc/internal/wire"
)

// Places of contents, as MoveContents is told them.
const (
	PlaceFiles = "files" // a key-value file for each site: content_storage_type 0
	PlaceSQL   = "sql"   // the SQL database: content_storage_type 1
)

const (
	movePage  = 4 << 20 // bytes of data of one step
	moveNotes = 3 * time.Second
)

// Moved is what a move has done so far.
type Moved struct {
	Sites int   `json:"sites"` // that had entries to move
	Moved int64 `json:"moved"` // entries that were written to the new place
	Bytes int64 `json:"bytes"` // of their data
	Kept  int64 `json:"kept"`  // entries of the new place that were newer, and stayed
}

// MoveContents moves the processed contents of all sites to a place, PlaceFiles
// or PlaceSQL, from the other one. Notes tell on progress how far it is; when it
// ends, also with an error, out gets the sums as one line of JSON. Raw files are
// not contents.
//
// An entry is removed where it was when it stands where it goes, was committed
// there, and was read back the same. So an end at any point loses nothing, and
// the next run goes on. Of an entry that is in both places the newer one stays,
// of two of the same second the one that is moved. An entry without a readable
// date is older than all others, and is dated anew.
//
// While it runs, no other process opens the stores; while others have them open,
// it is refused. A daemon that has no task under way is not noticed: its tasks
// fail until the move has ended, and use the place that the ini file says.
func MoveContents(ctx context.Context, c Config, to string, out, progress io.Writer, log *slog.Logger) (err error) {
	if to != PlaceFiles && to != PlaceSQL {
		return fmt.Errorf("contents can be moved to %q or %q, not to %q", PlaceFiles, PlaceSQL, to)
	}
	c.DB.Synchronous = "FULL" // what is removed here must be safe there
	s, closeAll, err := open(ctx, c, log, exclude)
	if err != nil {
		return err
	}
	defer closeAll()
	m := mover{from: s.files, to: s.table, pageBytes: movePage}
	setting := "1"
	if to == PlaceFiles {
		m.from, m.to, setting = s.table, s.files, "0"
	}
	said := time.Now()
	m.note = func(site string) {
		if time.Since(said) >= moveNotes {
			said = time.Now()
			fmt.Fprintf(progress, "site %s: %d sites, %d entries, %d bytes so far\n", site, m.done.Sites, m.done.Moved, m.done.Bytes)
		}
	}
	err = m.run(ctx)
	if e := json.NewEncoder(out).Encode(m.done); err == nil && e != nil {
		err = fmt.Errorf("write the summary: %w", e)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "all contents are in the place %q: set content_storage_type = %s in [TasksManager]\n", to, setting)
	return nil
}

// mover moves contents from one place to another.
type mover struct {
	from, to  movable
	pageBytes int
	note      func(site string) // told after each step; may be nil
	done      Moved
}

func (m *mover) run(ctx context.Context) error {
	sites, err := m.from.Sites(ctx)
	if err != nil {
		return fmt.Errorf("list sites with contents: %w", err)
	}
	for _, site := range sites {
		if err := m.site(ctx, site); err != nil {
			return fmt.Errorf("move contents of site %s: %w", site, err)
		}
	}
	return nil
}

// site moves the contents of one site, page by page.
func (m *mover) site(ctx context.Context, site string) error {
	m.done.Sites++
	for after := ""; ; {
		page, err := m.from.Page(ctx, site, after, m.pageBytes)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return m.from.DropEmpty(ctx, site)
		}
		if err := m.page(ctx, site, page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
		if m.note != nil {
			m.note(site)
		}
	}
}

// page moves entries: what is newer there stays, all others are written, read
// back, and then removed here.
func (m *mover) page(ctx context.Context, site string, page []wire.Entry) error {
	put, err := NotOlder(ctx, m.to, site, page)
	if err != nil {
		return err
	}
	if _, err := m.to.PutAll(ctx, site, put); err != nil {
		return err
	}
	if err := m.compare(ctx, site, put); err != nil {
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

// compare reads entries back where they were put.
func (m *mover) compare(ctx context.Context, site string, put []wire.Entry) error {
	stored, err := m.to.GetAll(ctx, site, idsOf(put)...)
	if err != nil {
		return err
	}
	if len(stored) != len(put) {
		return fmt.Errorf("%d entries were written and %d can be read; they stay where they were", len(put), len(stored))
	}
	for _, e := range put {
		s, ok := stored[e.ID]
		if !ok || !bytes.Equal(s.Data, e.Data) || !e.CDate.IsZero() && !s.CDate.Equal(e.CDate) {
			return fmt.Errorf("entry %s reads otherwise than it was written; it stays where it was", e.ID)
		}
	}
	return nil
}
