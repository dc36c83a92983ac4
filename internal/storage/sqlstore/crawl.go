package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// MarkCrawling takes rows of a site for a batch: those in Status 1 and 4 to 7,
// and those in 2, 3, 8 that no other batch holds, become Status 3 with the
// batch's id and without errors; rows that are missing are inserted. Batch 0 is
// a run without a batch. The marks are by URLMd5. With batchID not 0, a row that
// this batch brought to Status 4 to 7 is Done and stays, so that a second run of
// a batch does no harm.
func (s *Store) MarkCrawling(ctx context.Context, site string, batchID int64, items []wire.URL) (map[string]wire.Mark, error) {
	var marks map[string]wire.Mark
	err := s.update(ctx, "MarkCrawling", func(t *tx) (err error) {
		marks, err = t.markCrawling(site, batchID, items)
		return err
	})
	return marks, err
}

func (t *tx) markCrawling(site string, batchID int64, items []wire.URL) (map[string]wire.Mark, error) {
	site, err := t.mustKnow(site)
	if err != nil {
		return nil, err
	}
	rows, err := t.urls(site, keysOf(items))
	if err != nil {
		return nil, err
	}
	stats, err := t.statistics(site)
	if err != nil {
		return nil, err
	}
	marks := make(map[string]wire.Mark, len(items))
	var take []string
	var fresh []*wire.URL
	for _, item := range items {
		if _, twice := marks[item.URLMd5]; twice {
			continue
		}
		row, known := rows[item.URLMd5]
		if !known {
			marks[item.URLMd5] = wire.Mark{Row: item}
			item.Status, item.BatchID, item.ErrorMask = wire.StatusCrawling, batchID, 0
			item.TcDate, item.UDate = wire.Date(t.now), wire.Date(t.now)
			fresh = append(fresh, &item)
			continue
		}
		m := wire.Mark{Row: row, Known: true}
		switch row.Status {
		case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
			m.Busy = row.BatchID != batchID && row.BatchID != 0
		case wire.StatusCrawled, wire.StatusSelectedProcessing, wire.StatusProcessing, wire.StatusProcessed:
			m.Done = batchID != 0 && row.BatchID == batchID
		}
		marks[item.URLMd5] = m
		if !m.Busy && !m.Done {
			take = append(take, item.URLMd5)
		}
	}
	if err := t.addURLs(site, fresh, stats); err != nil {
		return nil, err
	}
	err = t.counted(site, take, func() error {
		return chunks(take, func(in string, args []any) error {
			_, err := t.Exec("UPDATE "+t.table(sqldb.URLs, site)+" SET Status = 3, Batch_Id = ?, ErrorMask = 0, TcDate = ?, UDate = ? WHERE Site_Id = ? AND URLMd5 IN ("+in+")",
				append([]any{batchID, t.now, t.now, site}, args...)...)
			return err
		})
	})
	if err != nil || stats.off() {
		return marks, err
	}
	for _, md5 := range take {
		if err := stats.reached(md5, wire.StatusCrawling, marks[md5].Row); err != nil {
			return nil, err
		}
	}
	return marks, nil
}

func keysOf(urls []wire.URL) []string {
	keys := make([]string, len(urls))
	for i := range urls {
		keys[i] = urls[i].URLMd5
	}
	return keys
}

// mustKnow is known for the operations of tasks, to which an unknown site is an
// error with CodeNotFound.
func (t *tx) mustKnow(id string) (string, error) {
	site, err := t.known(id)
	if err == nil && site == "" {
		err = &wire.Error{Op: "store.mustKnow", Code: wire.CodeNotFound, Err: &wire.FieldError{Object: "site", Value: clip(id), Reason: errNoSite.Error()}}
	}
	return site, err
}

// FinishCrawl stores results of a batch. Only rows that the batch still holds
// (Status 3) are changed, and only what they bring is taken: what a lost task
// brings late is dropped. Links that are known are reset as their rules say, new
// ones inserted in their order as far as the site has room; see links.go and
// room.go. The site's TcDate becomes now. An unknown site is an error with
// CodeNotFound.
//
// Elsewhere is not stored here; see PutElsewhere.
func (s *Store) FinishCrawl(ctx context.Context, site string, batchID int64, results []wire.Fetched) (wire.Saved, error) {
	var saved wire.Saved
	err := s.update(ctx, "FinishCrawl", func(t *tx) error {
		site, err := t.mustKnow(site)
		if err != nil {
			return err
		}
		stats, err := t.statistics(site)
		if err != nil {
			return err
		}
		f := finishing{hold: hold{tx: t, site: site, batchID: batchID, status: wire.StatusCrawling, stats: stats}}
		err = f.run(results)
		saved = f.saved
		return err
	})
	return saved, err
}

// finishing is one FinishCrawl under way.
type finishing struct {
	hold
	saved   wire.Saved
	refused map[string]bool // texts of saved.Refused
	removed bool            // AUTO_REMOVE_* had its turn
}

func (f *finishing) run(results []wire.Fetched) error {
	var mask wire.ErrorMask
	var held []*wire.Fetched
	keys := make([]string, len(results))
	for i := range results {
		keys[i] = results[i].URLMd5
	}
	err := f.counted(f.site, keys, func() error {
		for i := range results {
			r := &results[i]
			found, err := f.finish(r.URLMd5, r.Set, "Crawled", r.Crawled)
			if err != nil {
				return err
			}
			if found {
				held = append(held, r)
				mask |= r.SiteBits
			}
		}
		return f.evaluateURLs(held)
	})
	if err != nil {
		return err
	}
	for _, step := range []func([]*wire.Fetched) error{f.keepAttributes, f.keepFormFields, f.keepLinks, f.evaluateSite} {
		if err := step(held); err != nil {
			return err
		}
	}
	if len(f.saved.Refused) > 0 {
		mask |= wire.ErrInitialization
	}
	if _, err = f.Do("site_touch", f.now, int64(mask), int64(mask), f.site); err != nil {
		return err
	}
	return f.leaveAlone(held)
}

// longestHold bounds HeldUntil: other hosts of the site, and rows that an operator
// adds, must not wait for one host that asked for an hour.
const longestHold = time.Minute

// leaveAlone keeps the site from the next selections when nothing of it was
// crawled because its hosts want to be left alone: until the first of them does
// not. Without that an idle daemon would select the same rows again and again.
func (f *finishing) leaveAlone(results []*wire.Fetched) error {
	var until wire.Date
	for _, r := range results {
		if r.Crawled {
			return nil
		}
		if r.HeldUntil != "" && (until == "" || r.HeldUntil < until) {
			until = r.HeldUntil
		}
	}
	if until == "" {
		return nil
	}
	now, err := time.Parse(time.DateTime, f.now)
	if err != nil {
		return err
	}
	_, err = f.Do("site_hold", string(min(until, wire.DateOf(now.Add(longestHold)))), f.site)
	return err
}

// mostRefused bounds what is said of properties that cannot be followed.
const mostRefused = 20

// refuse notes that a property cannot be followed. An error that is not the
// property's fault is handed back.
func (f *finishing) refuse(property string, err error) error {
	if err == nil || !refused(err) {
		return err
	}
	f.say(property, "cannot be followed: "+message(err))
	return nil
}

func (f *finishing) say(property, reason string) {
	err := fmt.Errorf("property %s %s", property, reason)
	if f.refused[err.Error()] || len(f.refused) >= mostRefused {
		return
	}
	if f.refused == nil {
		f.refused = map[string]bool{}
	}
	f.refused[err.Error()] = true
	f.saved.Refused = append(f.saved.Refused, err)
}

// hold is a batch's hold of a site's rows in one status.
type hold struct {
	*tx
	site            string
	batchID, status int64
	stats           *statistics
}

// finish changes a row that is held; held is false when it is not, and nothing
// is changed. A row that reaches the end of its stage forgets the batches that
// lost it; one that is handed back unfinished does not. Values that do not fit
// their columns are made to: they come from pages and servers.
func (h *hold) finish(md5 string, set wire.Patch, counter string, count bool) (held bool, err error) {
	set = wire.Fit(set, wire.URLColumns)
	for _, column := range []string{"Site_Id", "URL", "URLMd5"} {
		delete(set, column)
	}
	var extra []string
	if count {
		delete(set, counter)
		extra = []string{counter + " = " + counter + " + 1"}
	}
	status, given := set["Status"].(int64)
	if given && status >= wire.StatusCrawled && status > h.status {
		extra = append(extra, "Attempts = 0")
	}
	if len(set)+len(extra) == 0 { // it may bring links all the same
		var one int
		return h.Row("SELECT 1 FROM "+h.table(sqldb.URLs, h.site)+" WHERE Site_Id = ? AND URLMd5 = ? AND Status = ? AND Batch_Id = ?",
			[]any{h.site, md5, h.status, h.batchID}, &one)
	}
	n, err := h.set(h.urlsTarget("result", h.site), set, extra, "Site_Id = ? AND URLMd5 = ? AND Status = ? AND Batch_Id = ?", h.site, md5, h.status, h.batchID)
	if err != nil || n == 0 {
		return false, err
	}
	if given && !h.stats.off() {
		err = h.stats.reached(md5, status, set)
	}
	return true, err
}

// storableURL tells a text that is stored as it is: a URL that is cut or mended
// names another page.
func storableURL(text string) bool {
	return text != "" && len(text) <= maxURL && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}
