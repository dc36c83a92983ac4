package settings

import (
	"encoding/json"
	"hash/crc32"
	"maps"
	"slices"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/property"
)

// readingVersion is part of settingsSum. A new one lets the next crawl of each page read and process it
// again, though it has not changed.
const readingVersion = "1"

// settingsSum returns the checksum of the settings that decide what a page gives: properties, filters
// and limits of the site. It is never 0, which is that of a page that was read by an older program.
func settingsSum(site *wire.Site, p *property.Values) int64 {
	names := slices.Sorted(maps.Keys(p.Texts))
	list := []any{readingVersion, site.FetchType, site.MaxURLs, site.MaxURLsFromPage, site.MaxResources, site.MaxResourceSize}
	for _, name := range names {
		if name != "DETECT_MODIFIED" {
			list = append(list, name, p.Texts[name])
		}
	}
	for _, f := range site.Filters {
		list = append(list, f.Pattern, f.Subject, f.OpCode, f.Stage, f.Action, f.Type, f.Mode, f.State, f.GroupID)
	}
	text, _ := json.Marshal(list) // numbers and texts
	return int64(crc32.ChecksumIEEE(text)&^uint32(wire.SumUnprocessed)) | 1
}
