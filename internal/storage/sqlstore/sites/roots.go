package sites

import (
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// updateRoots changes the root URLs of a site (docs/spec/storage.md 4.2 steps 4, 4' and 5).
// Replace reports that it deleted their rows from the site's URLs, so that the rows of
// sites_urls must be copied (step 7).
func (t *Tx) updateRoots(object, id string, l wire.SiteLists) (replace bool, err error) {
	object += ".urls"
	if l.UpdateType == wire.UpdateRows {
		for i, row := range l.URLs {
			if err := t.changeRoot(tables.ElementName(object, i), id, row); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	keep, err := t.keepsRoots(id)
	if err != nil {
		return false, err
	}
	if !keep {
		if err := t.deleteRoots(id); err != nil {
			return false, err
		}
	}
	if l.UpdateType == wire.UpdateOverwrite {
		if _, err := t.Do("roots_delete", id); err != nil {
			return false, err
		}
	}
	var delay, kind, fromPage int64
	var timeout float64
	_, err = t.Row("SELECT RequestDelay, HTTPTimeout, URLType, MaxURLsFromPage FROM "+t.SitesTable()+" WHERE Id = ?", []any{id},
		&delay, &timeout, &kind, &fromPage)
	if err != nil {
		return false, err
	}
	defaults := rootDefaults(fromPage)
	defaults["RequestDelay"], defaults["HTTPTimeout"], defaults["Type"] = delay, timeout, kind
	return !keep, t.PutRoots(object, id, l.URLs, defaults)
}

// deleteRoots deletes the root URLs from the site's URLs, with their contents.
func (t *Tx) deleteRoots(id string) error {
	keys, err := tables.ReadColumn[string](t.tableTx, "SELECT URLMd5 FROM "+t.SiteTable(sqldb.URLs, id)+" WHERE Site_Id = ? AND ParentMd5 = ''", id)
	if err != nil {
		return err
	}
	return t.DeleteURLs(id, keys, wire.URLDeleteRequest{SiteID: id, Criterion: wire.Criterion{Where: "ParentMd5=''"},
		DelayedType: wire.Immediate, Reason: wire.ReasonRootUpdate})
}

// changeRoot changes one root URL in sites_urls and in the site's URLs. If the item has a
// key and another URL text, the row gets this text and its key, and the old contents and
// attributes are deleted. If a row of that text exists, both rows are unchanged.
func (t *Tx) changeRoot(object, id string, item schema.Patch) error {
	old := item.Text("URLMd5")
	key := old
	if text := item.Text("URL"); text != "" {
		key = urlkey.Of(text)
	}
	set := tables.ClonePatch(item)
	set["URLMd5"] = key
	if _, err := t.changeKey(t.ListTarget(object, tables.RootsInfo), id, old, key, set); err != nil {
		return err
	}
	delete(set, "User_Id")
	if text := item.Text("URL"); old != key && t.Place.Active() {
		return t.replaceRoot(id, old, text)
	}
	return t.RunCounted(id, []string{old, key}, func() error {
		found, err := t.changeKey(t.URLsTarget(object, id), id, old, key, set)
		if err != nil || !found {
			return err
		}
		if old != key {
			if err := t.PutInTrash(id, []string{old}); err != nil {
				return err
			}
			if err := t.NewEpoch(id); err != nil {
				return err
			}
			if err := t.DeleteKeys(sqldb.Attributes, id, []string{old}); err != nil {
				return err
			}
		}
		return t.StatisticsOf(id).RecordStatus(key, wire.StatusProcessed, item)
	})
}

// replaceRoot replaces the row of a root URL whose text has changed in sites_urls. Its old and its
// new host may belong to different nodes, so the new row begins as new.
func (t *Tx) replaceRoot(id, old, text string) error {
	err := t.DeleteURLs(id, []string{old}, wire.URLDeleteRequest{SiteID: id, DelayedType: wire.Immediate, Reason: wire.ReasonRootUpdate})
	if err != nil || !t.OwnsURL(text) {
		return err
	}
	return t.CopyRoots(id, true)
}

// changeKey changes the row of a key, which may get a new key.
func (t *Tx) changeKey(g tables.Target, id, old, key string, set schema.Patch) (found bool, err error) {
	if old != key {
		taken, err := t.Row("SELECT 1 FROM "+g.Table+" WHERE Site_Id = ? AND URLMd5 = ?", []any{id, key}, new(int))
		if err != nil {
			return false, err
		}
		if taken {
			t.Options.Log.Info("root URL not changed: another root URL has the new text", "site", id, "item", g.Object, "md5", old)
			return false, nil
		}
	}
	n, err := t.UpdateRows(g, set, nil, "Site_Id = ? AND URLMd5 = ?", id, old)
	return n > 0, err
}

// readRootURLs reads the root URLs of a site in the order of their insertion.
func (t *Tx) readRootURLs(site string) ([]wire.SiteURL, error) {
	roots := []wire.SiteURL{}
	err := t.Each("SELECT "+tables.URLColumnList+", User_Id FROM "+t.PlainTable(tables.RootsInfo)+" WHERE Site_Id = ? ORDER BY "+t.DB.RowID(), []any{site},
		tables.AppendTo(&roots, func(u *wire.SiteURL) []any {
			u.SiteSelect = wire.SelectNone
			return append(schema.Targets(&u.URL, wire.URLColumns), &u.UserID)
		}))
	return roots, err
}

// rootDefaults are the columns that a new root URL does not set (docs/spec/objects.md
// 2.2).
func rootDefaults(fromPage int64) schema.Patch {
	return schema.Patch{"HTTPMethod": "get", "ProcessingDelay": int64(500), "MaxURLsFromPage": fromPage}
}

// PutRoots inserts root URLs into sites_urls. Existing and repeated ones are skipped.
func (t *Tx) PutRoots(object, id string, rows []schema.Patch, defaults schema.Patch) error {
	for i, p := range rows {
		g := t.ListTarget(tables.ElementName(object, i), tables.RootsInfo)
		if len(p.Text("URL")) > tables.MaxURL {
			return g.NewFieldError("URL", p.Text("URL"), tables.ErrLongURL)
		}
		p = tables.ClonePatch(p)
		p["Site_Id"] = id
		for column, value := range defaults {
			if _, given := p[column]; !given {
				p[column] = value
			}
		}
		if _, err := t.InsertRow(g, p); err != nil {
			return err
		}
	}
	return nil
}

// moveRoots adds the missing root URLs of sites_urls to the site's URLs. Columns that the
// request sets on the site take precedence over those of the root URL
// (docs/spec/storage.md 4.1 step 8).
func (t *Tx) moveRoots(id string, given schema.Patch) error {
	return t.addRoots(id, func(u *wire.URL) {
		u.URLMd5 = urlkey.Of(u.URL)
		if n, ok := given["URLType"].(int64); ok {
			u.Type = n
		}
		if n, ok := given["RequestDelay"].(int64); ok {
			u.RequestDelay = n
		}
		if n, ok := given["ProcessingDelay"].(int64); ok {
			u.ProcessingDelay = n
		}
		if f, ok := given["HTTPTimeout"].(float64); ok {
			u.HTTPTimeout = f
		}
	})
}

// CopyRoots adds the missing root URLs of sites_urls to the site's URLs. With fresh they
// become new. SITE_UPDATE stores root URLs with Status 7 (docs/spec/objects.md 2.2), and
// a restarted site would wait for its re-crawl in this status.
func (t *Tx) CopyRoots(id string, fresh bool) error {
	return t.addRoots(id, func(u *wire.URL) {
		if fresh {
			u.Status, u.Crawled, u.Processed, u.BatchID = wire.StatusNew, 0, 0, 0
		}
	})
}

// addRoots inserts the root URLs of this node whose keys have no row, after change.
func (t *Tx) addRoots(id string, change func(*wire.URL)) error {
	roots, err := t.readRootURLs(id)
	if err != nil {
		return err
	}
	fresh, err := t.MissingURLs(id, t.OwnOnly(tables.MapSlice(roots, func(root wire.SiteURL) *wire.URL {
		change(&root.URL)
		return &root.URL
	})))
	if err != nil {
		return err
	}
	return t.AddURLs(id, fresh)
}
