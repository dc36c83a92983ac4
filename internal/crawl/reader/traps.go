package reader

import (
	"context"
	"maps"
	"slices"
	"sync"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/trap"
	"hce/dc/internal/wire"
)

const (
	mostVerdicts = 8192 // links whose verdict is remembered
	mostLearned  = 200  // waiting URLs of traps that a batch learns from
)

// trapWatch knows the traps of one site (package trap). What it knows comes from the pages of this batch and from
// the waiting rows that earlier batches have marked, so a kill loses nothing. Goroutines may share it.
type trapWatch struct {
	mu       sync.Mutex
	watch    *trap.Watch
	learned  bool
	verdicts map[string]bool
}

// trapsOf returns the watch of the item's site; nil if the site does not want one (TRAPS).
func (r *Reader) trapsOf(it *item.Item) *trapWatch {
	if !it.Settings.Traps || !r.Env.MayWrite() && !r.Env.Dry {
		return nil
	}
	found, _ := r.traps.LoadOrStore(it.SiteID, &trapWatch{watch: trap.New(), verdicts: map[string]bool{}})
	w, _ := found.(*trapWatch)
	return w
}

// watchTraps takes a fetched page into account.
func (r *Reader) watchTraps(ctx context.Context, p Page, text []byte, kind, md5 string) {
	w := r.trapsOf(p.Item)
	if w == nil || p.Before.Type == wire.TypeFetched {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.learned && (p.Before.Priority > 0 || p.Before.RetryCause == wire.CauseTrap) {
		w.learned = true
		r.learnTraps(ctx, w, p.SiteID)
	}
	one := trap.Page{URL: p.Row.URL, Content: md5, NoIndex: p.Item.Row.RobotsMask&wire.RobotsNoIndex != 0}
	if content.IsHTML(kind) {
		one.Text = text
		w.watch.Count(one.URL, one.NoIndex)
	}
	if w.watch.Wants(one.URL) && w.watch.Add(one) {
		clear(w.verdicts)
		f := w.watch.Newest()
		r.Env.Log.Info("found a trap: asks for its URLs last", "site", p.SiteID, "url", one.URL, "kind", f.Kind, "rule", f.Rule)
	}
}

// learnTraps reads the traps that earlier batches have found.
func (r *Reader) learnTraps(ctx context.Context, w *trapWatch, site string) {
	urls, err := r.Data.LateURLs(ctx, site, mostLearned)
	if err != nil && !item.IsSiteGone(err) {
		r.Env.Log.Warn("cannot read the traps of a site", "site", site, "error", err)
	}
	w.watch.Learn(slices.Collect(maps.Values(urls)))
	clear(w.verdicts)
}

// findTrapLinks reports for each link whether it belongs to a trap, nil if no trap is known.
func (w *trapWatch) findTrapLinks(links []wire.Link) []bool {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.watch.Found() {
		return nil
	}
	list := make([]bool, len(links))
	for i := range links {
		url := links[i].URL.URL
		verdict, known := w.verdicts[url]
		if !known {
			if len(w.verdicts) >= mostVerdicts {
				clear(w.verdicts)
			}
			verdict = w.watch.Holds(url)
			w.verdicts[url] = verdict
		}
		list[i] = verdict
	}
	return list
}

// postponeTraps lets links that belong to traps follow the others: behind them in the list, if a limit cuts it, and with
// the lowest priority. The others get at least 1.
func (r *Reader) postponeTraps(it *item.Item, links []wire.Link) {
	late := r.trapsOf(it).findTrapLinks(links)
	if late == nil {
		return
	}
	for i := range links {
		u := &links[i].URL
		if late[i] {
			u.Priority, u.RetryCause = 0, wire.CauseTrap
		} else {
			u.Priority = max(u.Priority, 1)
		}
	}
	slices.SortStableFunc(links, func(a, b wire.Link) int { return len(a.URL.RetryCause) - len(b.URL.RetryCause) })
}
