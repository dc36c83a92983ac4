package moves

import (
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// winsOver reports whether a row wins over the other row of its page: a processed one over a
// crawled one over a new one, then an enabled one, then the one that changed last.
func winsOver(row, other *wire.URL) bool {
	has := func(u *wire.URL) int {
		switch {
		case u.Processed > 0 && u.Crawled > 0:
			return 2
		case u.Crawled > 0:
			return 1
		}
		return 0
	}
	if a, b := has(row), has(other); a != b {
		return a > b
	}
	if a, b := row.State == wire.URLEnabled, other.State == wire.URLEnabled; a != b {
		return a
	}
	return row.UDate > other.UDate
}

// mergeRows returns the winner of two rows with what both know: links to both count, it is a
// root URL if one of them is, and it is as near to the root as the nearer one.
func mergeRows(winner, a, b wire.URL) wire.URL {
	winner.Freq, winner.Depth = a.Freq+b.Freq, min(a.Depth, b.Depth)
	for _, other := range []wire.URL{a, b} {
		own := winner.ParentMd5 == a.URLMd5 || winner.ParentMd5 == b.URLMd5 // one linked to the other
		if other.Root() || own {
			winner.ParentMd5 = other.ParentMd5
		}
	}
	return winner
}

// joinContents notes where the contents of the winner are, and puts those of the other row
// in the trash. Keeps means that the row of the new key wins. If not even the winner was
// crawled, a client gave the contents: those of both rows stay.
func (t *tx) joinContents(site string, c keyChange, joined, keeps, crawled bool) error {
	switch {
	case joined && crawled && keeps:
		return t.PutInTrash(site, []string{c.old})
	case joined && crawled:
		places, err := t.movesTo(site, c.new)
		if err != nil {
			return err
		}
		for _, place := range places {
			if _, err := t.Do("keys_move_done", site, place); err != nil {
				return err
			}
		}
		if err := t.PutInTrash(site, append(places, c.new)); err != nil {
			return err
		}
	}
	_, err := t.Do("keys_move", site, c.old, c.new)
	return err
}

// movesTo returns the old keys whose contents will move to a new key.
func (t *tx) movesTo(site, key string) ([]string, error) {
	return tables.NamedColumn[string](t.tableTx, "keys_move_from", site, key)
}
