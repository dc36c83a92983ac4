package process_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// Properties of sites and items decide whether an item is processed
// (docs/spec/processing.md 1.2 #5 to #13, 1.4 NONE, NEWS, 1.5 PROCESSOR_NAME, PROCESSOR_NAME_REPLACE,
// CONTENT_TYPE_MAP, reprocess, 1.8, 1.9 #34, #40, 6.2 #3).
func TestProcessorSettings(t *testing.T) {
	const done, left = wire.StatusProcessed, wire.StatusCrawled
	tests := []struct {
		name      string
		site      map[string]string
		item      map[string]string
		filter    wire.SiteFilter
		status    int64
		bits      errormask.Mask
		processed bool
	}{
		{name: "no property", status: done, processed: true},
		{name: "1.4 NONE of the site", site: map[string]string{"PROCESSOR_NAME": "NONE"}, status: done},
		{name: "1.4 NONE of the item", item: map[string]string{"PROCESSOR_NAME": " none "}, status: done},
		{name: "1.4 processorName", item: map[string]string{"processorName": "NONE"}, status: done},
		{name: "1.4 the item wins", site: map[string]string{"PROCESSOR_NAME": "NONE"}, item: map[string]string{"PROCESSOR_NAME": "NEWS"}, status: done, processed: true},
		{name: "1.2 #10 PROCESSOR_NAME_REPLACE", site: map[string]string{"PROCESSOR_NAME_REPLACE": `{"NONE":["TEXT/html"]}`}, status: done},
		{name: "1.2 #10 of another type", site: map[string]string{"PROCESSOR_NAME_REPLACE": `{"NONE":["text/css"]}`}, status: done, processed: true},
		{name: "1.2 #10 invalid", site: map[string]string{"PROCESSOR_NAME_REPLACE": `["NONE"]`}, status: done, bits: errormask.BatchItem, processed: true},
		{name: "1.2 #6 reprocess 0", item: map[string]string{"reprocess": "0"}, status: done},
		{name: "1.2 #6 reprocess 1", item: map[string]string{"reprocess": "1"}, status: done, processed: true},
		{name: "1.2 #9 another type", site: map[string]string{"PROCESS_CTYPES": "text/css, text/plain"}, status: left, bits: errormask.UnsupportedType},
		{name: "1.5 CONTENT_TYPE_MAP", site: map[string]string{"PROCESS_CTYPES": "text/x-page", "CONTENT_TYPE_MAP": `{"text/x-page":"text/html"}`}, status: done, processed: true},
		{name: "1.5 CONTENT_TYPE_MAP of another type", site: map[string]string{"PROCESS_CTYPES": "text/css", "CONTENT_TYPE_MAP": `{"text/x-page":"text/html"}`}, status: left, bits: errormask.UnsupportedType},
		{name: "1.8 #7 stage 7 excludes", filter: wire.SiteFilter{Pattern: `page\.test/a`, Stage: 7, Action: -1, State: 1}, status: left, bits: errormask.ProcessorFilters},
		{name: "1.8 #7 stage 7 includes others", filter: wire.SiteFilter{Pattern: `elsewhere`, Stage: 7, Action: 1, State: 1}, status: left, bits: errormask.ProcessorFilters},
		{name: "1.8 #5 stage 5 is for links", filter: wire.SiteFilter{Pattern: `page\.test/a`, Stage: 5, Action: -1, State: 1}, status: done, processed: true},
		{name: "1.8 #0 stage 0 does not", filter: wire.SiteFilter{Pattern: `page\.test/a`, Stage: 0, Action: -1, State: 1}, status: done, processed: true},
		{name: "1.2 #7 SQL holds", filter: wire.SiteFilter{Pattern: `1`, Stage: 7, OpCode: 7, Action: 1, State: 1}, status: done, processed: true},
		{name: "1.2 #7 SQL does not hold", filter: wire.SiteFilter{Pattern: `0`, Stage: 7, OpCode: 7, Action: 1, State: 1}, status: left, bits: errormask.ProcessorFilters},
		{name: "1.8 invalid pattern", filter: wire.SiteFilter{Pattern: `(`, Stage: 7, Action: -1, State: 1}, status: done, bits: errormask.BatchItem, processed: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			site := f.Sites["s"]
			for name, value := range tt.site {
				site.Properties = append(site.Properties, wire.SiteProperty{Name: name, Value: value})
			}
			if tt.filter.Pattern != "" {
				site.Filters = []wire.SiteFilter{tt.filter}
			}
			it := f.item("s", "a", article)
			it.Properties = tt.item
			f.run(batchOf(it))
			row := f.row(it)
			if row.Status != tt.status || row.ErrorMask != tt.bits || (row.Processed == 1) != tt.processed {
				t.Errorf("status %d, processed %d, %s", row.Status, row.Processed, bitNames(row.ErrorMask))
			}
			if _, stored := f.Contents["s "+it.URLID]; stored != tt.processed {
				t.Errorf("content stored: %v", stored)
			}
		})
	}
}

// A real-time batch that is piped by hand has its processed contents in the answer, and changes
// nothing that is stored (docs/spec/processing.md 1.3, 2.8).
// docs/spec/processing.md 1.2 #2, #14.
func TestRealTimeByHand(t *testing.T) {
	f := newFixture(t)
	stored := f.item("s", "a", article, func(u *wire.URL) { u.Status = wire.StatusCrawled })
	given := f.item("s", "b", "", func(u *wire.URL) {
		u.Status = wire.StatusCrawled
		u.URLPut = json.RawMessage(`{"contentType":0,"putDict":{"data":"<title>Given</title><p>text"}}`)
	})
	none := f.item("s", "c", article, func(u *wire.URL) { u.Status = wire.StatusCrawled })
	none.Properties = map[string]string{"PROCESSOR_NAME": "NONE"}
	before := maps.Clone(f.URLs)
	b := batchOf(stored, given, none)
	b.CrawlerType = wire.CrawlRealTime
	answer := f.run(b)
	for i, title := range []string{"The title", "Given", ""} {
		it := answer.Items[i]
		if title == "" {
			if it.Put != nil || it.URL.Status != wire.StatusCrawled {
				t.Errorf("item %d: status %d, %s", i, it.URL.Status, it.Put)
			}
			continue
		}
		var put struct {
			ContentType int
			PutDict     struct{ Data []byte }
		}
		if err := json.Unmarshal(it.Put, &put); err != nil {
			t.Fatalf("item %d: %v in %s", i, err, it.Put)
		}
		got := result.Decode(put.PutDict.Data)
		if put.ContentType != wire.ContentProcessed || got.Default.First("title") != title || len(got.Internal) > 0 || it.URL.Status != wire.StatusProcessed {
			t.Errorf("item %d: %s", i, put.PutDict.Data)
		}
	}
	if !reflect.DeepEqual(f.URLs, before) || len(f.Contents) > 0 {
		t.Error("a real-time batch changed stored data")
	}
}

// docs/spec/processing.md 1.2 #14, 1.5 HTML_RECOVER: the repaired copy, if the crawler stored one.
func TestRepairedCopy(t *testing.T) {
	for _, c := range []struct{ value, tidy, want string }{
		{"0", "<title>Repaired</title>", "As it came"},
		{"1", "<title>Repaired</title>", "Repaired"},
		{"1", "", "As it came"},
	} {
		f := newFixture(t)
		f.Sites["s"].Properties = []wire.SiteProperty{{Name: "HTML_RECOVER", Value: c.value}}
		it := f.item("s", "a", "<title>As it came</title><p>text")
		if c.tidy != "" {
			key := "s " + it.URLID
			f.Files[key] = append(f.Files[key], wire.File{Type: wire.ContentTidy, Data: []byte(c.tidy)})
		}
		f.run(batchOf(it))
		content := result.Decode(f.Contents["s "+it.URLID])
		if got := content.Default.First("title"); got != c.want {
			t.Errorf("HTML_RECOVER %s, tidy %q: title %q", c.value, c.tidy, got)
		}
	}
}

// docs/spec/processing.md 6.2 #8: the original used the processor of the first item for all items.
func TestEachItemHasItsProcessor(t *testing.T) {
	f := newFixture(t)
	var items []wire.BatchItem
	for i, name := range []string{"STORE", "", "NONE", "SCRAPER_CUSTOM"} {
		it := f.item("s", fmt.Sprint(i), article)
		it.Properties = map[string]string{"PROCESSOR_NAME": name}
		items = append(items, it)
	}
	f.run(batchOf(items...))
	var found []string
	for _, it := range items {
		content := result.Decode(f.Contents["s "+it.URLID])
		found = append(found, fmt.Sprintf("%d custom, title %q, %s", len(content.Custom), content.Default.First("title"), bitNames(f.row(it).ErrorMask)))
	}
	want := []string{`1 custom, title "", `, `0 custom, title "The title", `, `0 custom, title "", `, `0 custom, title "", SCRAPER_ERROR`}
	if !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}
