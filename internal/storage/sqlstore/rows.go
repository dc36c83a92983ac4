package sqlstore

import (
	"context"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Rows reads rows of a site by key. The map lacks keys that are not there; it is
// empty for an unknown site.
func (s *Store) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	rows := map[string]wire.URL{}
	err := s.view(ctx, "Rows", func(t *tx) error {
		stored, err := t.known(site)
		if err != nil || stored == "" {
			return err
		}
		rows, err = t.urls(stored, md5s)
		return err
	})
	return rows, err
}

// Fields are named columns of a row, for dbFields of URL_CONTENT (docs/spec/storage.md 4.13).
// Keys are the names as asked, which match columns without regard to case; values
// are int64, float64, string, or nil for a name that is no column and for a NULL
// date.
func Fields(row *wire.URL, names []string) map[string]any {
	fields := make(map[string]any, len(names))
	values := wire.PatchOf(row, wire.URLColumns)
	for _, name := range names {
		fields[name] = nil
		for _, c := range wire.URLColumns {
			if strings.EqualFold(c.Name, name) {
				fields[name] = values[c.Name]
			}
		}
	}
	return fields
}

// StoredID is the id of a site as it is stored, which names its contents; that of
// an unknown site is as asked.
func (s *Store) StoredID(ctx context.Context, id string) (string, error) {
	stored := ""
	err := s.view(ctx, "StoredID", func(t *tx) (err error) {
		stored, err = t.known(id)
		return err
	})
	if stored == "" {
		stored = id
	}
	return stored, err
}

// TrashItem names files to remove: those of one URL, or of a whole site when
// URLMd5 is "".
type TrashItem struct {
	ID             int64
	SiteID, URLMd5 string
}

// TrashPage is how many items Trash lists at once.
const TrashPage = 5000

// Trash lists what is left to be removed, oldest first, at most TrashPage. What
// removes files runs it after each change and when it starts, before it writes: a
// kill between a commit and the removal is mended so.
func (s *Store) Trash(ctx context.Context) ([]TrashItem, error) {
	var list []TrashItem
	err := s.view(ctx, "Trash", func(t *tx) error {
		list = nil
		return t.All("trash_oldest", []any{TrashPage}, func(scan func(...any) error) error {
			var item TrashItem
			err := scan(&item.ID, &item.SiteID, &item.URLMd5)
			list = append(list, item)
			return err
		})
	})
	return list, err
}

// TrashDone forgets what was removed.
func (s *Store) TrashDone(ctx context.Context, list []TrashItem) error {
	if len(list) == 0 {
		return nil
	}
	return s.update(ctx, "TrashDone", func(t *tx) error {
		ids := make([]int64, len(list))
		for i, item := range list {
			ids[i] = item.ID
		}
		return chunks(ids, func(in string, args []any) error {
			_, err := t.Exec("DELETE FROM "+t.DB.Table(sqldb.Sites, "trash")+" WHERE Id IN ("+in+")", args...)
			return err
		})
	})
}

// Attributes reads the attributes of one URL; names that hold "*" mean all. The
// list is empty, never nil.
func (s *Store) Attributes(ctx context.Context, site, md5 string, names []string) ([]wire.Attribute, error) {
	u := wire.URL{URLMd5: md5, Attributes: []wire.Attribute{}}
	err := s.view(ctx, "Attributes", func(t *tx) error {
		return t.fillAttributes(site, []*wire.URL{&u}, names)
	})
	return u.Attributes, err
}

// ContentNote tells the journal that contents of URLs of a site were read, and
// what asked.
type ContentNote struct {
	SiteID  string
	URLMd5s []string
	Object  any
}

// NoteContents writes notes to the journals that are kept; others, and unknown
// sites, cost no writing.
func (s *Store) NoteContents(ctx context.Context, notes []ContentNote) error {
	var wanted []ContentNote
	err := s.view(ctx, "NoteContents", func(t *tx) error {
		wanted = nil
		on := map[string]bool{}
		for _, n := range notes {
			log, asked := on[n.SiteID]
			if !asked {
				stats, err := t.journalOf(n.SiteID)
				if err != nil {
					return err
				}
				log = stats.log
				on[n.SiteID] = log
			}
			if log {
				wanted = append(wanted, n)
			}
		}
		return nil
	})
	if err != nil || len(wanted) == 0 {
		return err
	}
	return s.update(ctx, "NoteContents", func(t *tx) error {
		for _, n := range wanted {
			stats, err := t.journalOf(n.SiteID)
			if err != nil {
				return err
			}
			if err := stats.events(n.URLMd5s, nil, logContent, n.Object); err != nil {
				return err
			}
		}
		return nil
	})
}

// journalOf gives the statistics of a site; those of an unknown one are off.
func (t *tx) journalOf(id string) (*statistics, error) {
	site, err := t.known(id)
	if err != nil || site == "" {
		return &statistics{}, err
	}
	return t.statistics(site)
}
