package crawl_test

import (
	"net/http"
	"testing"

	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// TestRestore: the second crawl of a page of a site without DETECT_MODIFIED.
func TestRestore(t *testing.T) {
	const (
		before  = "2024-05-17 10:00:00"
		page    = `<a href="/found">old</a>`
		changed = `<a href="/found">new</a>`
	)
	const status7, status4 = wire.StatusProcessed, wire.StatusCrawled
	for _, tt := range []struct {
		name     string
		row      func(*wire.URL) // after the first crawl and its processing
		property string          // another value of a property of the site
		answer   string          // "": 304 if it is asked for, else the same content
		status   int64
		mask     errormask.Mask
		plain    bool // no condition is sent
		read     bool // the content is read
		changed  bool
	}{
		{name: "not modified", status: status7},
		{name: "a page of the site", row: func(u *wire.URL) { u.ParentMd5 = wire.Md5("parent") }, status: status7},
		{name: "resource", row: func(u *wire.URL) { u.TagsCount, u.TagsMask = 0, wire.ResourceMask }, status: status7},
		{name: "same content", answer: page, status: status7},
		{name: "other content", answer: changed, status: status4, read: true, changed: true},
		{name: "errors of the content stay", row: func(u *wire.URL) { u.ErrorMask = errormask.BadEncoding }, status: status7, mask: errormask.BadEncoding},
		{name: "an unsupported type stays one", row: func(u *wire.URL) { u.ErrorMask, u.TagsCount, u.Processed = errormask.UnsupportedType, 0, 0 }, status: status4, mask: errormask.UnsupportedType},
		{name: "never processed", row: func(u *wire.URL) { u.Processed, u.TagsCount = 0, 0 }, status: status4},
		{name: "the newest content is not processed", row: func(u *wire.URL) { u.SettingsSum |= wire.SumUnprocessed }, status: status4},
		{name: "processing had failed", row: func(u *wire.URL) { u.ErrorMask = errormask.Scraper }, status: status4},
		{name: "was gone", row: func(u *wire.URL) { u.HTTPCode, u.ErrorMask = 404, errormask.HTTP }, status: status4},
		{name: "other settings", property: "1", status: status4, plain: true, read: true},
		{name: "row of an older program", row: func(u *wire.URL) { u.SettingsSum = 0 }, status: status4, plain: true, read: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, asked := page, 0
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("ETag", `"v1"`)
				conditional := r.Header.Get("If-None-Match") == `"v1"` && r.Header.Get("If-Modified-Since") != ""
				if asked > 1 && conditional == tt.plain {
					t.Errorf("conditional request: %t", conditional)
				}
				if conditional && tt.answer == "" {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write([]byte(text)) // the client may have gone
			})
			w := newWorld(t)
			w.job.Config.Modified = revalidate.Rule{Mode: revalidate.Once, Behavior: revalidate.Restore}
			w.addSite("s")
			first := w.item("s", s.URL+"/page", func(u *wire.URL) { u.RequestDelay = 5 })
			w.run(batchOf(first))
			row := w.row(first)
			if row.SettingsSum&wire.SumUnprocessed == 0 || row.SettingsSum == wire.SumUnprocessed || row.ContentDate != row.UDate || row.ContentDate == "" {
				t.Fatalf("after the first crawl: %+v", row)
			}
			if tt.property != "" {
				w.addSite("s", "RSS_FEEDPARSER_MODE", tt.property)
			}
			if tt.answer != "" {
				text = tt.answer
			}
			again := w.item("s", s.URL+"/page", func(u *wire.URL) {
				*u = row
				u.Status, u.Processed, u.TagsCount, u.BatchID = wire.StatusNew, 1, 3, 0
				u.SettingsSum &^= wire.SumUnprocessed
				u.ContentDate, u.UDate, u.TcDate = before, before, before
				if tt.row != nil {
					tt.row(u)
				}
			})
			w.run(batchOf(again))
			got := w.row(again)
			if got.Status != tt.status || got.ErrorMask != tt.mask || got.HTTPCode != 200 || got.Crawled != 2 {
				t.Errorf("status %d, code %d, %s, crawled %d", got.Status, got.HTTPCode, bitNames(got.ErrorMask), got.Crawled)
			}
			if (got.ContentDate != before) != tt.changed || got.UDate == before {
				t.Errorf("changed %s, fetched %s", got.ContentDate, got.UDate)
			}
			if waits := got.SettingsSum&wire.SumUnprocessed != 0; tt.read && !waits {
				t.Errorf("settings %x", got.SettingsSum)
			}
		})
	}
}
