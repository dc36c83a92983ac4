package store

import (
	"slices"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// setAttributes puts attributes of one URL, or of the site when md5 is "": a
// name that is there gets the new value (storage 4.23).
func (t *tx) setAttributes(site, md5 string, list []dc.Attribute) error {
	for _, a := range list {
		changed, err := t.Do("attribute_set", a.Value, site, md5, a.Name)
		if err == nil && changed == 0 {
			_, err = t.Do("attribute_new", site, md5, a.Name, a.Value, t.now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillAttributes reads the attributes of URLs of one site into them. Names that
// hold "*" mean all, no names none.
func (t *tx) fillAttributes(site string, urls []*dc.URL, names []string) error {
	if len(names) == 0 || len(urls) == 0 {
		return nil
	}
	var one int
	if found, err := t.Get("attributes_any", []any{site}, &one); err != nil || !found {
		return err
	}
	byMd5 := make(map[string]*dc.URL, len(urls))
	keys := make([]string, len(urls))
	for i, u := range urls {
		byMd5[u.URLMd5], keys[i] = u, u.URLMd5
	}
	all := slices.Contains(names, "*")
	return chunks(keys, func(in string, args []any) error {
		text := "SELECT URLMd5, Name, Value, CDate FROM " + t.DB.Table(db.Attributes, "att") + " WHERE Site_Id = ? AND URLMd5 IN (" + in + ") ORDER BY Id"
		return t.Each(text, append([]any{site}, args...), func(scan func(...any) error) error {
			a := dc.Attribute{SiteID: site}
			var date *string
			if err := scan(&a.URLMd5, &a.Name, &a.Value, &date); err != nil {
				return err
			}
			if date != nil {
				a.CDate = dc.Date(*date)
			}
			if u := byMd5[a.URLMd5]; all || slices.Contains(names, a.Name) {
				u.Attributes = append(u.Attributes, a)
			}
			return nil
		})
	})
}
