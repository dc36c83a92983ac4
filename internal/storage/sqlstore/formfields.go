package sqlstore

import (
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// Fields of forms become properties of their site (docs/spec/crawling.md 5.2). Pages
// choose them, so their number and length are limited.
const (
	formPrefix    = "HTTP_POST_FORM_"
	maxFormFields = 200  // per site
	maxFormValue  = 4096 // bytes
)

// keepFormFields adds the fields that the site does not have; the first of a name wins.
func (f *finishing) keepFormFields(pages []*wire.Fetched) error {
	if !slices.ContainsFunc(pages, func(p *wire.Fetched) bool { return len(p.FormFields) > 0 }) {
		return nil
	}
	stored, err := namedColumn[string](f.tx, "site_property_names", f.site)
	if err != nil {
		return err
	}
	known := map[string]bool{} // in upper case, because keys of MySQL ignore case
	for _, name := range stored {
		if name = strings.ToUpper(name); strings.HasPrefix(name, formPrefix) {
			known[name] = true
		}
	}
	var rows []wire.Patch
	for _, page := range pages {
		for _, name := range slices.Sorted(maps.Keys(page.FormFields)) {
			value, upper := page.FormFields[name], strings.ToUpper(name)
			if !strings.HasPrefix(name, formPrefix) || known[upper] || len(known) >= maxFormFields || len(value) > maxFormValue {
				continue
			}
			row := wire.Patch{"Name": name, "Value": value, "URLMd5": ""}
			if fitted := wire.Fit(row, wire.PropertyColumns); fitted["Name"] != name || fitted["Value"] != value {
				continue // a changed field is another field
			}
			known[upper] = true
			rows = append(rows, row)
		}
	}
	return f.putList("form", propertiesInfo, f.site, rows)
}
