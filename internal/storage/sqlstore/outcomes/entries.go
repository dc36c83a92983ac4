package outcomes

import (
	"slices"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// entryColumns describe the content of a feed entry.
var entryColumns = slices.DeleteFunc(slices.Clone(wire.URLColumns), func(c schema.Column) bool {
	return !slices.Contains([]string{"Status", "HTTPCode", "ContentType", "Size", "RawContentMd5", "PDate", "ContentDate", "SettingsSum"}, c.Name)
})

// renewEntries gives known entries of feeds the content that their feed has now: it is processed again
// (docs/spec/crawling.md 5.10).
func (f *finishing) renewEntries(pages []*wire.Fetched) error {
	links := map[string]*wire.Link{}
	var keys []string
	for _, page := range pages {
		for i := range page.Links {
			if l := &page.Links[i]; len(l.Files) > 0 {
				links[l.URL.URLMd5] = l
				keys = append(keys, l.URL.URLMd5)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := f.ReadURLs(f.site, keys)
	if err != nil {
		return err
	}
	h := &hold{tx: f.tx, site: f.site, batchID: f.batchID}
	var renewed []*wire.URL
	for key, row := range rows {
		if links[key].Renews(&row) {
			renewed = append(renewed, &row)
		}
	}
	return f.CountedRows(f.site, renewed, func() (bool, error) {
		for _, row := range renewed {
			set := f.entryPatch(&links[row.URLMd5].URL)
			schema.Apply(row, wire.URLColumns, set, "")
			row.Crawled++
			h.noteChange(row.URLMd5, set, []string{"Crawled = Crawled + 1"})
			if err := f.StatisticsOf(f.site).RecordStatus(row.URLMd5, wire.StatusCrawled, set); err != nil {
				return false, err
			}
		}
		return true, h.writeChanges()
	})
}

// entryPatch returns the columns of a known entry with another content.
func (f *finishing) entryPatch(u *wire.URL) schema.Patch {
	set := schema.PatchOf(u, entryColumns)
	set["State"], set["ErrorMask"], set["UDate"], set["TcDate"] = int64(wire.URLEnabled), int64(0), f.Now, f.Now
	return schema.Fit(set, wire.URLColumns)
}
