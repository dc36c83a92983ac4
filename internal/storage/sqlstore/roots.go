package sqlstore

import (
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// noCondition is a condition of our own that is not there.
var noCondition expr.SQL

// updateRoots changes the root URLs of a site (docs/spec/storage.md 4.2 steps 4, 4' and 5).
// Replace tells that their rows among the site's URLs are gone, and those of
// sites_urls take their place (step 7).
func (t *tx) updateRoots(object, id string, l wire.SiteLists) (replace bool, err error) {
	object += ".urls"
	if l.UpdateType == wire.UpdateRows {
		for i, row := range l.URLs {
			if err := t.changeRoot(fmt.Sprintf("%s[%d]", object, i), id, row); err != nil {
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
	_, err = t.Row("SELECT RequestDelay, HTTPTimeout, URLType, MaxURLsFromPage FROM "+t.DB.Table(sqldb.Sites, "sites")+" WHERE Id = ?", []any{id},
		&delay, &timeout, &kind, &fromPage)
	if err != nil {
		return false, err
	}
	defaults := rootDefaults(fromPage)
	defaults["RequestDelay"], defaults["HTTPTimeout"], defaults["Type"] = delay, timeout, kind
	return !keep, t.putRoots(object, id, l.URLs, defaults)
}

// deleteRoots takes the root URLs out of the site's URLs, with all that is
// stored of them.
func (t *tx) deleteRoots(id string) error {
	var keys []string
	err := t.Each("SELECT URLMd5 FROM "+t.table(sqldb.URLs, id)+" WHERE Site_Id = ? AND ParentMd5 = ''", []any{id}, func(scan func(...any) error) error {
		var md5 string
		err := scan(&md5)
		keys = append(keys, md5)
		return err
	})
	if err != nil {
		return err
	}
	return t.deleteURLs(id, keys, wire.URLDeleteRequest{SiteID: id, Criterion: wire.Criterion{Where: "ParentMd5=''"},
		DelayedType: wire.Immediate, Reason: wire.ReasonRootUpdate})
}

// changeRoot changes one root URL, in sites_urls and among the site's URLs. One
// that is given by its key gets the text of the item, and its key; what was
// stored of the old text goes. When there is a row of that text already, both
// stay as they are.
func (t *tx) changeRoot(object, id string, item wire.Patch) error {
	old := item.Text("URLMd5")
	key := old
	if text := item.Text("URL"); text != "" {
		key = wire.Md5(text)
	}
	stats, err := t.statistics(id)
	if err != nil {
		return err
	}
	set := clone(item)
	set["URLMd5"] = key
	g := t.listTarget(object, "sites_urls", wire.RootURLColumns)
	if _, err := t.changeKey(g, id, old, key, set); err != nil {
		return err
	}
	delete(set, "User_Id")
	return t.counted(id, []string{old, key}, func() error {
		found, err := t.changeKey(t.urlsTarget(object, id), id, old, key, set)
		if err != nil || !found {
			return err
		}
		if old != key {
			if err := t.dropContents(id, []string{old}); err != nil {
				return err
			}
			if err := t.deleteKeys(sqldb.Attributes, id, []string{old}); err != nil {
				return err
			}
		}
		return stats.reached(key, wire.StatusProcessed, item)
	})
}

// changeKey changes the row of a key, which may become another one's.
func (t *tx) changeKey(g target, id, old, key string, set wire.Patch) (found bool, err error) {
	if old != key {
		var one int
		taken, err := t.Row("SELECT 1 FROM "+g.table+" WHERE Site_Id = ? AND URLMd5 = ?", []any{id, key}, &one)
		if err != nil {
			return false, err
		}
		if taken {
			t.s.o.Log.Info("a root URL is left alone: its text is there under another key", "site", id, "item", g.object, "md5", old)
			return false, nil
		}
	}
	n, err := t.set(g, set, nil, "Site_Id = ? AND URLMd5 = ?", id, old)
	return n > 0, err
}
