package multiitem

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

const now = schema.Date("2026-03-01 10:00:00")

func pageRow() wire.URL {
	page := wire.NewURL("0123", "http://shop.example/list")
	page.ContentType, page.Charset, page.HTTPCode, page.BatchID, page.Depth = "text/html", "utf-8", 200, 7, 2
	page.RawContentMd5, page.ErrorMask, page.ContentMask, page.Size = "0a", errormask.Timeout, 1, 500
	page.Status, page.ETag, page.MRateCounter, page.LinksI, page.Freq = wire.StatusProcessing, "tag", 3, 9, 4
	page.PDate = "2020-01-01 00:00:00"
	return page
}

// products returns n parts, whose contents are the key, the number and the mask of the row. A
// part has an error if its number is in failed.
func products(n int, failed ...int) []Part {
	parts := make([]Part, n)
	for i := range parts {
		parts[i] = Part{TagsCount: 1, TagsMask: 64, Published: now, Hash: fmt.Sprint("hash", i), Content: func(row *wire.URL) ([]byte, error) {
			return fmt.Appendf(nil, "%s product %d %d", row.URLMd5, i, row.ErrorMask), nil
		}}
	}
	for _, i := range failed {
		parts[i].Bits = errormask.Regexp
	}
	return parts
}

// docs/spec/processing.md 1.7: the row of an item.
func TestRow(t *testing.T) {
	page := pageRow()
	parts := products(3, 2)
	items, bits := Split(&page, &wire.Site{}, parts, Options{Now: now, Room: -1})
	if len(items) != 2 || bits != 0 || page.URL != "http://shop.example/list" {
		t.Fatalf("%d items, bits %d, page %s", len(items), bits, page.URL)
	}
	got := items[0].Row
	if got.URL != "http://shop.example/list#1" || got.URLMd5 != wire.Md5(got.URL) || got.URLMd5 != urlkey.Of(URL(page.URL, 1)) || got.ParentMd5 != page.URLMd5 {
		t.Errorf("keys of %+v", got)
	}
	if got.Type != wire.TypeSingle || got.State != wire.URLEnabled || got.Status != wire.StatusProcessed || got.Crawled != 1 || got.Processed != 1 || got.ErrorMask != 0 {
		t.Errorf("states of %+v", got)
	}
	if got.TagsCount != 1 || got.TagsMask != 64 || got.PDate != now || got.ContentURLMd5 != "hash1" || got.CDate != now || got.UDate != now || got.TcDate != now {
		t.Errorf("values of %+v", got)
	}
	if got.SiteID != page.SiteID || got.ContentType != page.ContentType || got.Charset != "utf-8" || got.HTTPCode != 200 || got.BatchID != 7 ||
		got.RawContentMd5 != "0a" || got.Size != 500 || got.ContentMask != 1 || got.Depth != 3 {
		t.Errorf("values of the page in %+v", got)
	}
	if got.ETag != "" || got.MRateCounter != 0 || got.LinksI != 0 || got.Freq != 0 {
		t.Errorf("the item has what belongs to the page: %+v", got)
	}
	if want := got.URLMd5 + " product 1 0"; string(items[0].Content) != want {
		t.Errorf("content %s, want %s", items[0].Content, want)
	}
	if two := items[1].Row; two.URL != "http://shop.example/list#2" || two.ErrorMask != errormask.Regexp || two.State != wire.URLError {
		t.Errorf("second item %+v", two)
	}
}

// docs/spec/processing.md 6.2 #20: expressions such as NOW() got into PDate.
func TestDatesAreTexts(t *testing.T) {
	page := pageRow()
	parts := products(3)
	parts[2].Published = ""
	items, _ := Split(&page, &wire.Site{}, parts, Options{Now: now, Room: -1})
	for i, want := range []string{`"pDate":"2026-03-01 10:00:00"`, `"pDate":null`} {
		text, err := json.Marshal(items[i].Row)
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "NOW") || strings.Contains(string(text), `"str"`) {
			t.Errorf("item %d: %s, %v", i, text, err)
		}
	}
}

// describe writes items as "NUMBER:BIT,BIT", and "-" behind items without content.
func describe(items []wire.ExtractedItem, bits errormask.Mask) string {
	one := func(name string, mask errormask.Mask) string {
		var list []string
		for _, b := range mask.Bits() {
			list = append(list, fmt.Sprint(b.Bit))
		}
		return name + ":" + strings.Join(list, ",")
	}
	all := []string{one("page", bits)}
	for _, i := range items {
		_, n, _ := strings.Cut(i.Row.URL, "#")
		if text := one(n, i.Row.ErrorMask); i.Content == nil {
			all = append(all, text+"-")
		} else {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// docs/spec/processing.md 1.7, 1.9 #33, #42, #43.
func TestLimits(t *testing.T) {
	const none = -1
	long := strings.Repeat("x", maxURL-len("http://shop.example/#9"))
	for _, tt := range []struct {
		name     string
		site     wire.Site
		fromPage int64
		room     int64
		parts    []Part
		path     string
		want     string
	}{
		{"no limits", wire.Site{}, 0, none, products(4), "", "page: 1: 2: 3:"},
		{"one result", wire.Site{MaxURLs: 1, CollectedURLs: 1}, 0, 0, products(1), "", "page:"},
		{"maxErrors of contents that are too large", wire.Site{MaxErrors: 2, MaxResourceSize: 1}, 0, none, products(4), "", "page: 1:8- 2:8,14-"},
		{"no result", wire.Site{}, 0, none, nil, "", "page:"},
		{"maxURLs", wire.Site{MaxURLs: 12, CollectedURLs: 10}, 0, none, products(4), "", "page: 1: 2:42"},
		{"maxURLs, all fit", wire.Site{MaxURLs: 13, CollectedURLs: 10}, 0, none, products(4), "", "page: 1: 2: 3:"},
		{"maxURLs, none fits", wire.Site{MaxURLs: 10, CollectedURLs: 11}, 0, none, products(4), "", "page:42"},
		{"maxResources", wire.Site{MaxResources: 3, Resources: 1}, 0, none, products(4), "", "page: 1: 2:33"},
		{"maxResourceSize", wire.Site{MaxResourceSize: 44}, 0, none, products(3), "", "page: 1:8- 2:8-"},
		{"below maxResourceSize", wire.Site{MaxResourceSize: 45}, 0, none, products(3), "", "page: 1: 2:"},
		{"maxErrors", wire.Site{MaxErrors: 2}, 0, none, products(6, 2, 4), "", "page: 1: 2:38 3: 4:14,38"},
		{"maxErrors with those of the site", wire.Site{MaxErrors: 6, Errors: 5}, 0, none, products(4, 2), "", "page: 1: 2:14,38"},
		{"maxErrors without failed items", wire.Site{MaxErrors: 1, Errors: 1}, 0, none, products(3), "", "page: 1: 2:"},
		{"Batch.maxItems", wire.Site{}, 0, 1, products(4), "", "page: 1:42"},
		{"Batch.maxItems is reached", wire.Site{}, 0, 0, products(4), "", "page:42"},
		{"maxURLsFromPage", wire.Site{}, 2, none, products(4), "", "page: 1: 2:43"},
		{"several limits", wire.Site{MaxURLs: 2, MaxResources: 2}, 2, 2, products(4, 2), "", "page: 1: 2:33,38,42,43"},
		{"a number makes the URL too long", wire.Site{}, 0, none, products(12), long, "page: 1: 2: 3: 4: 5: 6: 7: 8: 9:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := pageRow()
			if tt.path != "" {
				page.URL = "http://shop.example/" + tt.path
			}
			page.MaxURLsFromPage = tt.fromPage
			items, bits := Split(&page, &tt.site, tt.parts, Options{Now: now, Room: tt.room})
			if got := describe(items, bits); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			for _, i := range items {
				if want := fmt.Sprint(" ", uint64(i.Row.ErrorMask)); i.Content != nil && !strings.HasSuffix(string(i.Content), want) {
					t.Errorf("content %s; want the mask%s", i.Content, want) // docs/spec/processing.md 6.2 #17
				}
				if failed := i.Row.ErrorMask != 0; failed != (i.Row.State == wire.URLError) {
					t.Errorf("%s: mask %d, state %d", i.Row.URL, i.Row.ErrorMask, i.Row.State)
				}
			}
		})
	}
}

// docs/spec/processing.md 6.2 #28: numbers of items were wrong if one had no value.
func TestNumbersFollowTheResults(t *testing.T) {
	page := pageRow()
	parts := products(4)
	parts[2].Content = func(*wire.URL) ([]byte, error) { return nil, errors.New("cannot be encoded") }
	items, _ := Split(&page, &wire.Site{}, parts, Options{Now: now, Room: -1})
	if got := describe(items, 0); got != "page: 1: 2:36- 3:" || !strings.Contains(string(items[2].Content), "product 3") {
		t.Errorf("%s, %s", got, items[2].Content)
	}
}
