package sqlstore

import (
	"context"
	"maps"
	"slices"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// AttributeSet sets attributes of URLs, or of a site if an element has no urlMd5
// (docs/spec/storage.md 4.23). Statuses has 0 inserted, 2 replaced or 3 unknown site.
func (s *Store) AttributeSet(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s.runUpdateTx, "AttributeSet", list, statusNoSite, (*tx).attributeSet)
}

func (t *tx) attributeSet(_ string, r wire.AttributeRequest) (status int, err error) {
	site, err := t.storedID(r.SiteID)
	if err != nil || site == "" {
		return statusNoSite, err
	}
	inserted, err := t.setAttribute(site, orEmpty(r.URLMd5), wire.Attribute{Name: orEmpty(r.Name), Value: orEmpty(r.Value)})
	if err == nil && inserted {
		return statusInserted, nil
	}
	return statusExists, err
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// setAttributes sets attributes of one URL, or of the site if md5 is "".
func (t *tx) setAttributes(site, md5 string, list []wire.Attribute) error {
	for _, a := range list {
		if _, err := t.setAttribute(site, md5, a); err != nil {
			return err
		}
	}
	return nil
}

// setAttribute sets one attribute. Inserted is false if it replaced a value.
func (t *tx) setAttribute(site, md5 string, a wire.Attribute) (inserted bool, err error) {
	text, err := t.DB.Text("attribute_new", site)
	if err != nil {
		return false, err
	}
	_, inserted, err = t.Insert(text, site, md5, a.Name, a.Value, t.now)
	if err == nil && !inserted {
		_, err = t.Of(site).Do("attribute_set", a.Value, site, md5, a.Name)
	}
	return inserted, err
}

// AttributeUpdate sets an attribute of a URL, or without urlMd5 all attributes of the
// site with that name (docs/spec/storage.md 4.23). It inserts a missing one. Statuses
// has true for each written element and false for an unknown site or a missing value.
func (s *Store) AttributeUpdate(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s.runUpdateTx, "AttributeUpdate", list, false, (*tx).attributeUpdate)
}

func (t *tx) attributeUpdate(_ string, r wire.AttributeRequest) (written bool, err error) {
	site, err := t.storedID(r.SiteID)
	if err != nil || site == "" || r.Value == nil {
		return false, err
	}
	name := orEmpty(r.Name)
	if r.URLMd5 == nil {
		found, err := t.Of(site).Get("attribute_named", []any{site, name}, new(int))
		if err != nil {
			return false, err
		}
		if found {
			_, err := t.Of(site).Do("attribute_set_named", *r.Value, site, name)
			return true, err
		}
	}
	_, err = t.setAttribute(site, orEmpty(r.URLMd5), wire.Attribute{Name: name, Value: *r.Value})
	return err == nil, err
}

// AttributeDelete deletes attributes by name, by criterion or all, of one URL if urlMd5
// is given (docs/spec/storage.md 4.23). Statuses has true for each element, and false for
// an unknown site or a refused element; ErrorMessage has the first reason.
func (s *Store) AttributeDelete(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s.runUpdateTx, "AttributeDelete", list, false, (*tx).attributeDelete)
}

func (t *tx) attributeDelete(object string, r wire.AttributeRequest) (done bool, err error) {
	site, err := t.storedID(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	var ids []int64
	if err := t.eachAttribute(object, site, "Id", r, appendTo(&ids, singleTarget[int64])); err != nil {
		return false, err
	}
	_, err = execIn(t, ids, "DELETE FROM "+t.siteTable(sqldb.Attributes, site)+" WHERE Site_Id = ? AND Id IN ", site)
	return true, err
}

// eachAttribute reads columns of the attributes that a request selects, in the order of
// the criterion or else of their Id.
func (t *tx) eachAttribute(object, site, columns string, r wire.AttributeRequest, row rowFunc) error {
	c := r.Criterion
	conditions := []expr.SQL{ofSite(site)}
	if r.Name != nil {
		c = wire.Criterion{}
		conditions = append(conditions, expr.SQL{Text: "(Name = ?)", Args: []any{*r.Name}})
	}
	if r.URLMd5 != nil {
		conditions = append(conditions, expr.SQL{Text: "(URLMd5 = ?)", Args: []any{*r.URLMd5}})
	}
	p, err := t.buildClauses(object+".criterions", t.rowsScope(sqldb.Attributes, site, siteTable(sqldb.URLs, site)), c)
	if err != nil {
		return err
	}
	p.orderOr("Id")
	text, args := p.buildQuery("SELECT "+columns+" FROM "+t.siteTable(sqldb.Attributes, site)+p.as, conditions...)
	return t.Each(t.withNamedTables(site, text), args, row)
}

// AttributeFetch reads attributes by name, by criterion or all, of one URL if urlMd5 is
// given (docs/spec/storage.md 4.23). It skips unknown sites. An invalid criterion is an
// error with its clause.
func (s *Store) AttributeFetch(ctx context.Context, list []wire.AttributeRequest) ([]wire.Attribute, error) {
	return readAll(ctx, s.runReadTx, "AttributeFetch", list, func(t *tx, object string, r wire.AttributeRequest) (attributes []wire.Attribute, err error) {
		site, err := t.storedID(r.SiteID)
		if err != nil || site == "" {
			return nil, err
		}
		err = t.eachAttribute(object, site, attributeColumns, r, appendTo(&attributes, attributeFields))
		return attributes, err
	})
}

const attributeColumns = "Site_Id, URLMd5, Name, Value, COALESCE(CDate, '')"

func attributeFields(a *wire.Attribute) []any {
	return []any{&a.SiteID, &a.URLMd5, &a.Name, &a.Value, &a.CDate}
}

// fillAttributes reads the attributes of URLs of one site into them. Names with "*"
// means all attributes, no names means none.
func (t *tx) fillAttributes(site string, urls []*wire.URL, names []string) error {
	if len(names) == 0 || len(urls) == 0 {
		return nil
	}
	if found, err := t.Of(site).Get("attributes_any", []any{site}, new(int)); err != nil || !found {
		return err
	}
	byMd5 := make(map[string]*wire.URL, len(urls))
	for _, u := range urls {
		byMd5[u.URLMd5] = u
	}
	all := slices.Contains(names, "*")
	head := "SELECT " + attributeColumns + " FROM " + t.siteTable(sqldb.Attributes, site) + ofKeys
	return forEachChunk(mapSlice(urls, urlKey), func(in string, args []any) error {
		return t.Each(head+in+" ORDER BY Id", slices.Concat([]any{site}, args), eachRow(attributeFields, func(a wire.Attribute) error {
			if u := byMd5[a.URLMd5]; all || slices.Contains(names, a.Name) {
				u.Attributes = append(u.Attributes, a)
			}
			return nil
		}))
	})
}

// Attributes reads the attributes of one URL; "*" in names means all. The list is not
// nil.
func (s *Store) Attributes(ctx context.Context, site, md5 string, names []string) ([]wire.Attribute, error) {
	return runForResult(ctx, s.runReadTx, "Attributes", func(t *tx) ([]wire.Attribute, error) {
		u := wire.URL{URLMd5: md5, Attributes: []wire.Attribute{}}
		err := t.fillAttributes(site, []*wire.URL{&u}, names)
		return u.Attributes, err
	})
}

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
	if err := f.fillAttributes(f.site, urls, []string{"*"}); err != nil {
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
				_, err = f.setAttribute(f.site, u.URLMd5, wire.Attribute{Name: name, Value: value})
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
