package sqlstore

import (
	"context"

	"hce/dc/internal/storage/sqldb"
)

// TrashItem names files to remove: those of one URL, or of a site if URLMd5 is "".
type TrashItem struct {
	ID             int64
	SiteID, URLMd5 string
}

// TrashPage is the maximum number of items of Trash.
const TrashPage = 5000

// Trash lists files to remove, oldest first, at most TrashPage. Call it after each change,
// and at the start before the first write: it recovers from a kill between a commit and
// the removal.
func (s *Store) Trash(ctx context.Context) ([]TrashItem, error) {
	return result(ctx, s.view, "Trash", func(t *tx) (list []TrashItem, err error) {
		err = t.All("trash_oldest", []any{TrashPage}, appendTo(&list, func(i *TrashItem) []any { return []any{&i.ID, &i.SiteID, &i.URLMd5} }))
		return list, err
	})
}

// TrashDone deletes items whose files are removed.
func (s *Store) TrashDone(ctx context.Context, list []TrashItem) error {
	if len(list) == 0 {
		return nil
	}
	return s.update(ctx, "TrashDone", func(t *tx) error {
		ids := mapped(list, func(i TrashItem) int64 { return i.ID })
		_, err := execIn(t, ids, "DELETE FROM "+t.DB.Table(sqldb.Sites, "trash")+" WHERE Id IN ")
		return err
	})
}
