package crawl

import (
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire"
)

// answered selects the entries of feeds for the answer: each URL once. Entries in excess of
// one per item are limited by maxItems.
type answered struct {
	brought map[item.Key]bool // pages that items of later passes come from
	met     map[item.Key]bool
	room    int64 // for entries in excess of items; -1: no limit
	cut     bool
}

func (r *batchRun) newEntries(work []*item.Item) *answered {
	a := &answered{brought: map[item.Key]bool{}, met: map[item.Key]bool{}, room: -1}
	for _, it := range work {
		a.met[it.Key()] = true
		if it.Single && !(it.HandedBack && r.Batch.RemoveUnprocessed) {
			a.brought[item.Key{Site: it.SiteID, URL: it.Row.ParentMd5}] = true
		}
	}
	if most := r.Batch.MaxItems; most > 0 {
		a.room = max(most-int64(len(work)), 0)
	}
	return a
}

// entriesFor returns the entries that replace an item in the answer, or nil.
func (a *answered) entriesFor(it *item.Item) []wire.BatchItem {
	var list []wire.BatchItem
	for _, e := range it.Extra {
		key := item.Key{Site: e.SiteID, URL: e.URLID}
		if a.met[key] {
			continue
		}
		if len(list) > 0 {
			if a.room == 0 {
				a.cut = true
				break
			}
			if a.room > 0 {
				a.room--
			}
		}
		a.met[key] = true
		list = append(list, e)
	}
	return list
}
