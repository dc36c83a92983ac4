package reader

import (
	"testing"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// A recrawl must not take the time of an earlier fetch for the date of the feed entry.
func TestFeedDate(t *testing.T) {
	const feed, fetch = schema.Date("2026-01-05 10:00:00"), schema.Date("2026-01-06 11:00:00")
	for _, tt := range []struct {
		name  string
		row   wire.URL
		masks pdate.Masks
		want  schema.Date
	}{
		{"a new row", wire.URL{PDate: feed}, pdate.Default, feed},
		{"a new row, other sources", wire.URL{PDate: feed}, pdate.Masks{Sources: 4}, feed},
		{"a row without a date", wire.URL{}, pdate.Default, ""},
		{"a recrawl: the date of the feed was kept", wire.URL{Crawled: 1, PDate: feed, LastModified: fetch, TcDate: fetch, UDate: fetch}, pdate.Default, feed},
		{"a recrawl: PDate is that of the last change", wire.URL{Crawled: 1, PDate: feed, LastModified: feed, TcDate: fetch, UDate: fetch}, pdate.Default, ""},
		{"a recrawl: PDate is the time of processing", wire.URL{Crawled: 1, PDate: fetch, LastModified: feed, TcDate: fetch, UDate: fetch}, pdate.Default, ""},
		{"a recrawl: the header Date may be a source", wire.URL{Crawled: 1, PDate: feed, LastModified: fetch}, pdate.Masks{Sources: 4}, ""},
	} {
		p := Page{Item: &item.Item{Before: tt.row, Settings: &settings.Settings{}}}
		p.Settings.Dates = tt.masks
		if got := p.feedDate(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
