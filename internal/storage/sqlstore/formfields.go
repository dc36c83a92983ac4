package sqlstore

import (
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// Fields of forms become properties of their site (docs/spec/crawling.md 5.2). Pages write
// them: their number and their lengths are bounded.
const (
	formPrefix     = "HTTP_POST_FORM_"
	mostFormFields = 200  // of one site
	longestField   = 4096 // bytes of a value
)

// keepFormFields adds those that the site does not have, the first one of a name.
func (f *finishing) keepFormFields(pages []*wire.Fetched) error {
	if !slices.ContainsFunc(pages, func(p *wire.Fetched) bool { return len(p.FormFields) > 0 }) {
		return nil
	}
	there := map[string]bool{} // MySQL's keys of properties ignore case
	err := f.All("site_property_names", []any{f.site}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		if name = strings.ToUpper(name); strings.HasPrefix(name, formPrefix) {
			there[name] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	var rows []wire.Patch
	for _, page := range pages {
		for _, name := range slices.Sorted(maps.Keys(page.FormFields)) {
			value, upper := page.FormFields[name], strings.ToUpper(name)
			if !strings.HasPrefix(name, formPrefix) || there[upper] || len(there) >= mostFormFields || len(value) > longestField {
				continue
			}
			row := wire.Patch{"Name": name, "Value": value, "URLMd5": ""}
			if fitted := wire.Fit(row, wire.PropertyColumns); fitted["Name"] != name || fitted["Value"] != value {
				continue // a field that is cut or mended is another one
			}
			there[upper] = true
			rows = append(rows, row)
		}
	}
	return f.putList("form", "sites_properties", wire.PropertyColumns, f.site, rows)
}
