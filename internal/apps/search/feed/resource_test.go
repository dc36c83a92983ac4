package feed

import (
	"slices"
	"testing"

	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/wire"
)

// A resource is not indexed, and a document of it that was indexed before its processing goes.
func TestResourcesAreRemoved(t *testing.T) {
	row := wire.NewURL("s", "https://site.example/app.js")
	row.Status, row.HTTPCode, row.ContentType, row.Crawled, row.Processed = wire.StatusProcessed, 200, "text/javascript", 1, 1
	indexed := []index.Row{{Key: row.URLMd5, UUID: "old", Version: "1"}}
	f := New(Config{})
	f.recent["s"+row.URLMd5] = "1"
	if d := f.compareRows("s", []wire.URL{row}, indexed); len(d.read) != 1 || len(d.remove) != 0 {
		t.Errorf("a page: %+v", d)
	}
	row.TagsMask = wire.ResourceMask
	if d := f.compareRows("s", []wire.URL{row}, indexed); len(d.read) != 0 || !slices.Equal(d.remove, []string{"old"}) || len(f.recent) != 0 {
		t.Errorf("a resource: %+v", d)
	}
	if d := f.compareRows("s", []wire.URL{row}, nil); len(d.read)+len(d.remove) != 0 {
		t.Errorf("a resource that was not indexed: %+v", d)
	}
}
