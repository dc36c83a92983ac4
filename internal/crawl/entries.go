package crawl

import "hce/dc/internal/wire"

// answered selects the entries of feeds for the answer: each URL once. Entries in excess of
// one per item are limited by maxItems.
type answered struct {
	brought map[chainKey]bool // pages that items of later passes come from
	met     map[chainKey]bool
	room    int64 // for entries in excess of items; -1: no limit
	cut     bool
}

func (r *batchRun) newEntries(work []*item) *answered {
	a := &answered{brought: map[chainKey]bool{}, met: map[chainKey]bool{}, room: -1}
	for _, it := range work {
		a.met[chainKey{it.SiteID, it.URLID}] = true
		if it.single && !(it.handedBack && r.batch.RemoveUnprocessed) {
			a.brought[chainKey{it.SiteID, it.url.ParentMd5}] = true
		}
	}
	if most := r.batch.MaxItems; most > 0 {
		a.room = max(most-int64(len(work)), 0)
	}
	return a
}

// entriesFor returns the entries that replace an item in the answer, or nil.
func (a *answered) entriesFor(it *item) []wire.BatchItem {
	var list []wire.BatchItem
	for _, e := range it.extra {
		key := chainKey{e.SiteID, e.URLID}
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
