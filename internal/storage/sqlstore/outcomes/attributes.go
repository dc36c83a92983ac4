package outcomes

import (
	"maps"
	"slices"

	"hce/dc/internal/wire"
)

// keepAttributes stores the attributes of the pages. Equal attributes cost one query.
func (f *finishing) keepAttributes(pages []*wire.Fetched) error {
	var urls []*wire.URL
	wanted := map[string]map[string]string{}
	for _, page := range pages {
		if len(page.Attributes) > 0 {
			wanted[page.URLMd5] = page.Attributes
			urls = append(urls, &wire.URL{URLMd5: page.URLMd5})
		}
	}
	if err := f.FillAttributes(f.site, urls, []string{"*"}); err != nil {
		return err
	}
	for _, u := range urls {
		stored := map[string]string{}
		for _, a := range u.Attributes {
			stored[a.Name] = a.Value
		}
		for _, name := range slices.Sorted(maps.Keys(wanted[u.URLMd5])) {
			value := wanted[u.URLMd5][name]
			old, found := stored[name]
			var err error
			switch {
			case value == old: // also an empty value without a row
			case value != "":
				_, err = f.SetAttribute(f.site, u.URLMd5, wire.Attribute{Name: name, Value: value})
			case found:
				_, err = f.Of(f.site).Do("attribute_remove", f.site, u.URLMd5, name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
