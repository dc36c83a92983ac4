package sqlstore

// property is the value of the first row of a site's property (docs/spec/objects.md 2.4).
// MySQL finds names in other case too; they are other properties.
func (t *tx) property(site, name string) (value string, found bool, err error) {
	err = t.All("site_property", []any{site, name}, func(scan func(...any) error) error {
		var n, v string
		err := scan(&n, &v)
		if n == name && !found {
			value, found = v, true
		}
		return err
	})
	return value, found, err
}
