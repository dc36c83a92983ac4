package segments

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/storage/sqldb"
)

// findRun returns the row of a run of a segment, none if it is dead. Rename may have changed
// the key that the segment says.
func findRun(tx *sqldb.Tx, segment int64, r record) ([]record, error) {
	for key := r.md5; ; {
		list, err := findRuns(tx, unlocked, r.site, key, r.name)
		list = slices.DeleteFunc(list, func(found record) bool { return found.segment != segment || found.start != r.start })
		if err != nil || len(list) > 0 || key != r.md5 {
			return list, err
		}
		if renamed, err := tx.Get("keys_new", []any{r.md5}, &key); err != nil || !renamed {
			return nil, err
		}
	}
}

// Rename gives the contents of URLs of a site new keys. Keys maps old ones to new ones; no
// new key is an old one. Contents that a new key already has stay with it. The records in
// the segments keep the old keys; Compact finds their rows by dc_sites.new_keys. It can be
// repeated after a kill.
func (s *Store) Rename(ctx context.Context, site string, keys map[string]string) error {
	if err := s.files.Rename(site, keys); err != nil || s.db == nil {
		return err
	}
	err := s.db.Update(ctx, func(tx *sqldb.Tx) error {
		olds, err := withRuns(tx, orGeneral(site), slices.Sorted(maps.Keys(keys)))
		if err != nil {
			return err
		}
		for _, old := range olds {
			// The parts of a version may have the name of parts of the new key.
			var next int64
			if _, err := tx.Get("raw_next_part", []any{orGeneral(site), keys[old]}, &next); err != nil {
				return err
			}
			if _, err := tx.Do("raw_rename", keys[old], next, orGeneral(site), old); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rename raw contents: %w", err)
	}
	return nil
}

// withRuns returns the keys that have runs.
func withRuns(tx *sqldb.Tx, site string, md5s []string) (found []string, err error) {
	for page := range slices.Chunk(md5s, dropMost) {
		args := []any{site}
		for _, md5 := range page {
			args = append(args, md5)
		}
		text := "SELECT DISTINCT URLMd5 FROM " + recordsTable(tx) + " WHERE Site_Id = ? AND URLMd5 IN (?" + strings.Repeat(", ?", len(page)-1) + ")"
		err := tx.Each(text, args, func(scan func(...any) error) error {
			var md5 string
			err := scan(&md5)
			found = append(found, md5)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
