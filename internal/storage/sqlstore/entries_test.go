package sqlstore

import (
	"maps"
	"testing"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// TestRenewEntries: a known entry of a feed gets its new content, once.
func TestRenewEntries(t *testing.T) {
	known := schema.Patch{
		"Type": int64(wire.TypeFetched), "Status": int64(7), "Crawled": int64(1), "Processed": int64(1), "TagsCount": int64(5), "RawContentMd5": wire.Md5("old"),
		"Size": int64(3), "ContentDate": longAgo, "UDate": longAgo,
	}
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	for _, c := range []struct {
		name    string
		row     schema.Patch
		renewed bool
	}{
		{"processed", nil, true},
		{"failed", schema.Patch{"State": int64(2), "ErrorMask": int64(errormask.Scraper)}, true},
		{"unchanged", schema.Patch{"RawContentMd5": wire.Md5("new")}, false},
		{"a page of a server", schema.Patch{"Type": int64(wire.TypeSingle)}, false},
		{"being processed", schema.Patch{"Status": int64(6), "Batch_Id": int64(3)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.TB = t
			b.empty(nil)
			row := tables.ClonePatch(known)
			maps.Copy(row, c.row)
			b.put("known", row)
			before := b.row("s", "known")
			entry := child("known")
			entry.Type, entry.Status, entry.Crawled, entry.HTTPCode, entry.Size = wire.TypeFetched, wire.StatusCrawled, 1, 200, 9
			entry.RawContentMd5, entry.ContentDate, entry.SettingsSum = wire.Md5("new"), today, wire.SumUnprocessed|1
			link := wire.Link{URL: entry, Files: []wire.File{{Data: []byte("new entry")}}}
			b.crawl(wire.Fetched{Links: []wire.Link{link}})
			got := b.row("s", "known")
			if !c.renewed {
				same(t, "row", got, before)
				return
			}
			same(t, "row", []any{got.Status, got.State, got.ErrorMask, got.Size, got.RawContentMd5, got.ContentDate, got.Crawled, got.SettingsSum},
				[]any{int64(4), int64(0), errormask.Mask(0), int64(9), wire.Md5("new"), schema.Date(today), int64(2), int64(wire.SumUnprocessed | 1)})
			b.crawl(wire.Fetched{Links: []wire.Link{link}})
			same(t, "second run", b.row("s", "known").Crawled, int64(2))
		})
	}
}
