package store

import (
	"context"
	"strings"

	"hce/dc/internal/dc"
)

// Rows reads rows of a site by key. The map lacks keys that are not there; it is
// empty for an unknown site.
func (s *Store) Rows(ctx context.Context, site string, md5s []string) (map[string]dc.URL, error) {
	rows := map[string]dc.URL{}
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

// Columns reads named columns of one row, for dbFields of URL_CONTENT (storage
// 4.13). Keys are the names as asked, which match columns without regard to
// case; values are int64, float64, string, or nil for a name that is no column
// and for a NULL date. Without a row the map is empty.
func (s *Store) Columns(ctx context.Context, site, md5 string, names []string) (map[string]any, error) {
	fields := map[string]any{}
	err := s.view(ctx, "Columns", func(t *tx) error {
		stored, err := t.known(site)
		if err != nil || stored == "" {
			return err
		}
		rows, err := t.urls(stored, []string{md5})
		if err != nil {
			return err
		}
		row, found := rows[md5]
		if !found {
			return nil
		}
		values := dc.PatchOf(&row, dc.URLColumns)
		for _, name := range names {
			fields[name] = nil
			for _, c := range dc.URLColumns {
				if strings.EqualFold(c.Name, name) {
					fields[name] = values[c.Name]
				}
			}
		}
		return nil
	})
	return fields, err
}

// TrashItem names files to remove: those of one URL, or of a whole site when
// URLMd5 is "".
type TrashItem struct {
	ID             int64
	SiteID, URLMd5 string
}

// Trash lists what is left to be removed, oldest first. What removes files runs
// it after each change and when it starts, before it writes: a kill between a
// commit and the removal is mended so.
func (s *Store) Trash(ctx context.Context) ([]TrashItem, error) {
	var list []TrashItem
	err := s.view(ctx, "Trash", func(t *tx) error {
		return t.All("trash_all", nil, func(scan func(...any) error) error {
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
		for _, item := range list {
			if _, err := t.Do("trash_done", item.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Attributes reads the attributes of one URL; names that hold "*" mean all. The
// list is empty, never nil.
func (s *Store) Attributes(ctx context.Context, site, md5 string, names []string) ([]dc.Attribute, error) {
	u := dc.URL{URLMd5: md5, Attributes: []dc.Attribute{}}
	err := s.view(ctx, "Attributes", func(t *tx) error {
		return t.fillAttributes(site, []*dc.URL{&u}, names)
	})
	return u.Attributes, err
}
