package moves

import (
	"context"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// Until schema step "keys" the key of a URL was the md5 of its text. Now it is that of its
// canonical escapes (urlkey.Of). NewKeys gives rows of the old rule their new keys,
// once; docs/decisions/0015-keys-of-canonical-escapes.md has the rules. A site passes these
// steps. Each can be repeated after a kill, because it only looks for what is left to do:
//
//	0  rows get their new keys, with their attributes and statistics; two rows of one new
//	   key become one. The contents of a row that lost go to the trash, those of the
//	   other wait in new_key_moves.
//	1  ParentMd5 of their children, in all sites
//	2  contents move to the new keys (package storage), then the site is done

// Steps of a site in new_key_sites.
const (
	oldRows    = 0
	oldParents = 1
	newRows    = 2
	allSites   = "*"
)

// keyPage bounds the rows of one transaction of NewKeys.
const keyPage = 500

// KeyMove names contents that are stored under the old key of their row.
type KeyMove struct{ SiteID, Old, New string }

// NewKeysDone is the summary of NewKeys.
type NewKeysDone struct {
	Sites  int // that were looked at
	Rows   int // that got a new key
	Joined int // of these, rows that became one with another row
}

// OldKeys reports whether rows may have keys of the old rule.
func (s *Store) OldKeys(ctx context.Context) (bool, error) {
	return tables.RunForResult(ctx, s.run.Read, "OldKeys", func(t *tx) (bool, error) { return t.Get("keys_any", nil, new(int)) })
}

// NewKeys gives the rows of all sites of the old rule their new keys. It must be the only
// user of the database, and the trash must be empty. Afterwards the caller empties the
// trash, moves the contents (KeyMoves), and calls NewKeysEnd. After an error or a kill,
// all of it can be repeated.
func (s *Store) NewKeys(ctx context.Context) (done NewKeysDone, err error) {
	if err := s.run.Update(ctx, "NewKeys", (*tx).listOldSites); err != nil {
		return done, err
	}
	sites, err := s.sitesAt(ctx, oldRows)
	for _, site := range sites {
		if err = s.renewSite(ctx, site, &done); err != nil {
			return done, err
		}
	}
	if err == nil {
		sites, err = s.sitesAt(ctx, oldParents)
	}
	for _, site := range sites {
		if err = s.renewParents(ctx, site); err != nil {
			return done, err
		}
	}
	return done, err
}

// NewKeysEnd records that no site has keys of the old rule.
func (s *Store) NewKeysEnd(ctx context.Context) error {
	return s.run.Update(ctx, "NewKeysEnd", func(t *tx) error {
		_, err := t.Do("keys_done")
		return err
	})
}

// KeyMoves returns the next contents to move, of one site; none at the end.
func (s *Store) KeyMoves(ctx context.Context, limit int) ([]KeyMove, error) {
	return tables.RunForResult(ctx, s.run.Read, "KeyMoves", func(t *tx) (list []KeyMove, err error) {
		err = t.All("keys_moves", []any{limit}, tables.AppendTo(&list, func(m *KeyMove) []any { return []any{&m.SiteID, &m.Old, &m.New} }))
		return list, err
	})
}

// KeysMoved records that contents of a site are stored under their new keys.
func (s *Store) KeysMoved(ctx context.Context, site string, olds []string) error {
	return s.run.Update(ctx, "KeysMoved", func(t *tx) error {
		_, err := tables.ExecIn(t.tableTx, olds, "DELETE FROM "+t.DB.Table(sqldb.Sites, "new_key_moves")+" WHERE Site_Id = ? AND Old_Md5 IN ", site)
		return err
	})
}

// CurrentKeys returns the new keys of those keys of the old rule that changed.
func (s *Store) CurrentKeys(ctx context.Context, md5s []string) (map[string]string, error) {
	return tables.RunForResult(ctx, s.run.Read, "CurrentKeys", func(t *tx) (map[string]string, error) { return t.currentKeys(md5s) })
}

func (t *tx) currentKeys(md5s []string) (map[string]string, error) {
	current := map[string]string{}
	err := tables.EachIn(t.tableTx, md5s, "SELECT Old_Md5, New_Md5 FROM "+t.DB.Table(sqldb.Sites, "new_keys")+" WHERE Old_Md5 IN ", nil,
		tables.ScanPair(func(old, new string) { current[old] = new }))
	return current, err
}

// listOldSites lists all sites in place of allSites: those in use, and deleted ones whose
// rows wait for URL_PURGE.
func (t *tx) listOldSites() error {
	listed, err := tables.NamedColumn[string](t.tableTx, "keys_sites", oldRows)
	if err != nil || !slices.Contains(listed, allSites) {
		return err
	}
	sites, err := tables.NamedColumn[string](t.tableTx, "sites_all")
	if err != nil {
		return err
	}
	purged, err := t.SitesWith(sqldb.Deleted)
	if err != nil {
		return err
	}
	for _, site := range append(sites, purged...) {
		if _, err := t.Do("keys_site", site, oldRows); err != nil {
			return err
		}
	}
	_, err = t.Do("keys_site_done", allSites)
	return err
}

func (s *Store) sitesAt(ctx context.Context, step int) ([]string, error) {
	return tables.RunForResult(ctx, s.run.Read, "NewKeys", func(t *tx) ([]string, error) { return tables.NamedColumn[string](t.tableTx, "keys_sites", step) })
}

// keyChange is a row with a key of the old rule.
type keyChange struct{ old, new string }

// renewSite gives the rows of a site their new keys.
func (s *Store) renewSite(ctx context.Context, site string, done *NewKeysDone) error {
	done.Sites++
	kinds, err := tables.RunForResult(ctx, s.run.Read, "NewKeys", func(t *tx) ([]keyedRows, error) { return t.keyedRowsOf(site) })
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		for after, end := "", false; !end; {
			var list []keyChange
			list, after, end, err = s.oldKeysAfter(ctx, site, kind, after)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				continue
			}
			joined, err := tables.RunForResult(ctx, s.run.Update, "NewKeys", func(t *tx) (int, error) { return t.renewKeys(site, kind, list) })
			if err != nil {
				return err
			}
			if kind.database == sqldb.URLs {
				done.Rows, done.Joined = done.Rows+len(list), done.Joined+joined
			}
		}
	}
	return s.run.Update(ctx, "NewKeys", func(t *tx) error {
		_, err := t.Do("keys_site", site, oldParents)
		return err
	})
}

// keyedRows are rows of a site with a URL: those in use, root URLs, deleted ones.
type keyedRows struct {
	database, page string
	renew          func(t *tx, site string, list []keyChange) (joined int, err error)
}

// keyedRowsOf returns what the site has.
func (t *tx) keyedRowsOf(site string) (list []keyedRows, err error) {
	stored, err := t.StoredID(site)
	if err != nil {
		return nil, err
	}
	if stored != "" {
		list = append(list, keyedRows{sqldb.URLs, "keys_page", (*tx).renewURLs}, keyedRows{sqldb.Sites, "keys_page_roots", (*tx).renewRoots})
	}
	waits, err := t.HasSite(sqldb.Deleted, site)
	if waits {
		list = append(list, keyedRows{sqldb.Deleted, "keys_page_deleted", (*tx).renewDeleted})
	}
	return list, err
}

// oldKeysAfter returns the rows of the next page whose key is that of the old rule. A key
// that a client chose stays.
func (s *Store) oldKeysAfter(ctx context.Context, site string, kind keyedRows, after string) (list []keyChange, last string, end bool, err error) {
	err = s.run.Read(ctx, "NewKeys", func(t *tx) error {
		list, last, end = nil, after, true
		n := 0
		err := t.Of(site).All(kind.page, []any{site, after, keyPage}, tables.ScanPair(func(md5, text string) {
			n, last = n+1, md5
			if key := urlkey.Of(text); key != md5 && md5 == wire.Md5(text) {
				list = append(list, keyChange{md5, key})
			}
		}))
		end = n < keyPage
		return err
	})
	return list, last, end, err
}

// renewKeys changes the keys of a page of rows.
func (t *tx) renewKeys(site string, kind keyedRows, list []keyChange) (joined int, err error) {
	// Locks the site. A deleted one has no row to lock.
	if _, err := t.StoredID(site); err != nil {
		return 0, err
	}
	rows := tables.MapSlice(list, func(c keyChange) []any { return []any{c.old, c.new} })
	if err := t.InsertRows("REPLACE INTO "+t.DB.Table(sqldb.Sites, "new_keys")+" (Old_Md5, New_Md5)", rows); err != nil {
		return 0, err
	}
	return kind.renew(t, site, list)
}

// renewURLs changes the keys of rows in use.
func (t *tx) renewURLs(site string, list []keyChange) (joined int, err error) {
	olds, news := tables.MapSlice(list, func(c keyChange) string { return c.old }), tables.MapSlice(list, func(c keyChange) string { return c.new })
	keys := slices.Concat(olds, news)
	rows, err := t.ReadURLs(site, tables.SortUnique(keys))
	if err != nil {
		return 0, err
	}
	b, err := t.loadBelongings(site, olds, news)
	if err != nil {
		return 0, err
	}
	err = t.RunCounted(site, keys, func() error {
		for _, c := range list {
			both, err := t.renewURL(site, rows, b, c)
			if err != nil {
				return err
			}
			if both {
				joined++
			}
		}
		return nil
	})
	if err == nil && joined > 0 {
		err = t.NewEpoch(site)
	}
	return joined, err
}

// renewURL changes the key of a row in use. Rows has the rows of a page by key. Joined means
// that it became one with the row of the new key.
func (t *tx) renewURL(site string, rows map[string]wire.URL, b *belongings, c keyChange) (joined bool, err error) {
	row := rows[c.old]
	held, joined := rows[c.new]
	if joined && urlkey.Of(held.URL) != c.new {
		t.Options.Log.Warn("row keeps its old key: a client gave its new key to another URL", "site", site, "url", row.URL)
		return false, nil
	}
	keeps := joined && !winsOver(&row, &held)
	if err := b.renewKey(c, keeps); err != nil {
		return joined, err
	}
	winner, from, loser := row, c.old, c.new
	if keeps {
		winner, from, loser = held, c.new, c.old
	}
	if err := t.joinContents(site, c, joined, keeps, winner.Crawled > 0); err != nil {
		return joined, err
	}
	if joined { // the loser goes first, because the key is unique
		winner = mergeRows(winner, row, held)
		if err := t.DeleteKeys(sqldb.URLs, site, []string{loser}); err != nil {
			return joined, err
		}
	}
	_, err = t.Of(site).Do("keys_url", c.new, winner.Freq, winner.ParentMd5, winner.Depth, site, from)
	winner.URLMd5 = c.new
	delete(rows, c.old)
	rows[c.new] = winner
	return joined, err
}

// renewRoots changes the keys of root URLs. Of two with one new key the one that has it
// stays.
func (t *tx) renewRoots(site string, list []keyChange) (joined int, err error) {
	for _, c := range list {
		there, err := t.Get("keys_root_there", []any{site, c.new}, new(int))
		if err != nil {
			return joined, err
		}
		if there {
			joined++
			_, err = t.Do("keys_root_drop", site, c.old)
		} else {
			_, err = t.Do("keys_root", c.new, site, c.old)
		}
		if err != nil {
			return joined, err
		}
	}
	return joined, nil
}

// renewDeleted changes the keys of rows that wait for URL_PURGE. Their contents wait with
// them, unless a row in use has the new key: that one has contents of its own.
func (t *tx) renewDeleted(site string, list []keyChange) (joined int, err error) {
	used := map[string]bool{}
	if stored, err := t.StoredID(site); err != nil {
		return 0, err
	} else if stored != "" {
		if used, err = t.KeysWithRow(sqldb.URLs, site, tables.MapSlice(list, func(c keyChange) string { return c.new })); err != nil {
			return 0, err
		}
	}
	for _, c := range list {
		if _, err := t.Of(site).Do("keys_url_deleted", c.new, site, c.old); err != nil {
			return 0, err
		}
		if !used[c.new] {
			_, err = t.Do("keys_move", site, c.old, c.new)
		} else {
			err = t.dropUnlessMoving(site, c)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// dropUnlessMoving puts the contents of an old key in the trash, unless they are those of the
// row in use.
func (t *tx) dropUnlessMoving(site string, c keyChange) error {
	places, err := t.movesTo(site, c.new)
	if err != nil || slices.Contains(places, c.old) {
		return err
	}
	return t.PutInTrash(site, []string{c.old})
}

// renewParents changes ParentMd5 of the children of rows with new keys.
func (s *Store) renewParents(ctx context.Context, site string) error {
	for _, kind := range []struct{ database, last, parents string }{
		{sqldb.URLs, "keys_last_of", "keys_parents"}, {sqldb.Deleted, "keys_last_of_deleted", "keys_parents_deleted"},
	} {
		for after, end := "", false; !end; {
			last, err := tables.RunForResult(ctx, s.run.Update, "NewKeys", func(t *tx) (string, error) {
				last, err := t.lastOldParent(site, kind.database, kind.last, after)
				if err == nil && last != "" {
					_, err = t.Of(site).Do(kind.parents, site, after, last)
				}
				return last, err
			})
			if err != nil {
				return err
			}
			after, end = last, last == ""
		}
	}
	return s.run.Update(ctx, "NewKeys", func(t *tx) error {
		_, err := t.Do("keys_site", site, newRows)
		return err
	})
}

// lastOldParent returns the last key of the next page of rows; "" at the end, and if no key
// changed.
func (t *tx) lastOldParent(site, database, query, after string) (string, error) {
	if changed, err := t.Get("keys_changed", nil, new(int)); err != nil || !changed {
		return "", err
	}
	if has, err := t.HasSite(database, site); err != nil || !has {
		return "", err
	}
	var last *string
	if _, err := t.Of(site).Get(query, []any{site, after}, &last); err != nil || last == nil {
		return "", err
	}
	return *last, nil
}
