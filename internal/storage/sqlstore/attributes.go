package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Statuses of one element of ATTRIBUTE_SET (docs/spec/storage.md 4.23).
const (
	attributeInserted = 0
	attributeExists   = 2
	attributeNoSite   = 3
)

// AttributeSet puts attributes of URLs, or of a site where urlMd5 is not given: a
// name that is there gets the new value (docs/spec/storage.md 4.23). Statuses has 0 inserted,
// 2 existed, 3 no such site for each.
func (s *Store) AttributeSet(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "AttributeSet", list, attributeNoSite, (*tx).attributeSet)
}

func (t *tx) attributeSet(_ string, r wire.AttributeRequest) (status int, err error) {
	site, err := t.known(r.SiteID)
	if err != nil || site == "" {
		return attributeNoSite, err
	}
	inserted, err := t.setAttribute(site, orEmpty(r.URLMd5), wire.Attribute{Name: orEmpty(r.Name), Value: orEmpty(r.Value)})
	if err == nil && inserted {
		return attributeInserted, nil
	}
	return attributeExists, err
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// setAttributes puts attributes of one URL, or of the site when md5 is "".
func (t *tx) setAttributes(site, md5 string, list []wire.Attribute) error {
	for _, a := range list {
		if _, err := t.setAttribute(site, md5, a); err != nil {
			return err
		}
	}
	return nil
}

// setAttribute puts one; inserted is false when its name was there and got the
// new value.
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

// AttributeUpdate gives a new value to a name at a URL, or wherever the site has
// it when urlMd5 is not given, and puts what is not there (docs/spec/storage.md 4.23).
// Statuses has true for each element that was written, and false for an unknown
// site and for an element without a value.
func (s *Store) AttributeUpdate(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "AttributeUpdate", list, false, (*tx).attributeUpdate)
}

func (t *tx) attributeUpdate(_ string, r wire.AttributeRequest) (written bool, err error) {
	site, err := t.known(r.SiteID)
	if err != nil || site == "" || r.Value == nil {
		return false, err
	}
	name := orEmpty(r.Name)
	if r.URLMd5 == nil {
		var one int
		found, err := t.Of(site).Get("attribute_named", []any{site, name}, &one)
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

// AttributeDelete deletes the attributes of a name, or those that a criterion
// selects, or all, at one URL when urlMd5 is given (docs/spec/storage.md 4.23). Statuses has
// true for each element, and false for an unknown site and for one that is
// refused, whose reason stands in ErrorMessage.
func (s *Store) AttributeDelete(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "AttributeDelete", list, false, (*tx).attributeDelete)
}

func (t *tx) attributeDelete(object string, r wire.AttributeRequest) (done bool, err error) {
	site, err := t.known(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	var ids []int64
	err = t.eachAttribute(object, site, "Id", r, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return false, err
	}
	return true, chunks(ids, func(in string, args []any) error {
		_, err := t.Exec("DELETE FROM "+t.table(sqldb.Attributes, site)+" WHERE Site_Id = ? AND Id IN ("+in+")", append([]any{site}, args...)...)
		return err
	})
}

// eachAttribute reads columns of the attributes that a request selects, in the
// criterion's order, else in that of their coming.
func (t *tx) eachAttribute(object, site, columns string, r wire.AttributeRequest, row func(scan func(...any) error) error) error {
	c := r.Criterion
	own := []expr.SQL{ofSite(site)}
	if r.Name != nil {
		c = wire.Criterion{}
		own = append(own, expr.SQL{Text: "(Name = ?)", Args: []any{*r.Name}})
	}
	if r.URLMd5 != nil {
		own = append(own, expr.SQL{Text: "(URLMd5 = ?)", Args: []any{*r.URLMd5}})
	}
	p, err := t.clauses(object+".criterions", t.attributeScope(site), c)
	if err != nil {
		return err
	}
	if p.order.Text == "" {
		p.order.Text = "Id"
	}
	var s statement
	s.add("SELECT " + columns + " FROM " + t.table(sqldb.Attributes, site) + " AS `att_" + site + "`")
	s.where(append(own, p.where)...)
	s.order(p.order)
	s.limit(p.limit)
	return t.Each(t.named(site, s.text.String()), s.args, row)
}

// AttributeFetch reads the attributes of a name, or those that a criterion
// selects, or all, at one URL when urlMd5 is given (docs/spec/storage.md 4.23). An unknown
// site adds nothing. A criterion that is refused is an error that names its
// clause.
func (s *Store) AttributeFetch(ctx context.Context, list []wire.AttributeRequest) ([]wire.Attribute, error) {
	attributes := []wire.Attribute{}
	err := s.view(ctx, "AttributeFetch", func(t *tx) error {
		for i, r := range list {
			site, err := t.known(r.SiteID)
			if err != nil {
				return err
			}
			if site == "" {
				continue
			}
			err = t.eachAttribute(fmt.Sprintf("AttributeFetch[%d]", i), site, attributeFields, r, func(scan func(...any) error) error {
				a, err := scanAttribute(site, scan)
				attributes = append(attributes, a)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return attributes, err
}

const attributeFields = "URLMd5, Name, Value, CDate"

func scanAttribute(site string, scan func(...any) error) (wire.Attribute, error) {
	a := wire.Attribute{SiteID: site}
	var date *string
	if err := scan(&a.URLMd5, &a.Name, &a.Value, &date); err != nil {
		return a, err
	}
	if date != nil {
		a.CDate = wire.Date(*date)
	}
	return a, nil
}

// fillAttributes reads the attributes of URLs of one site into them. Names that
// hold "*" mean all, no names none.
func (t *tx) fillAttributes(site string, urls []*wire.URL, names []string) error {
	if len(names) == 0 || len(urls) == 0 {
		return nil
	}
	var one int
	if found, err := t.Of(site).Get("attributes_any", []any{site}, &one); err != nil || !found {
		return err
	}
	byMd5 := make(map[string]*wire.URL, len(urls))
	keys := make([]string, len(urls))
	for i, u := range urls {
		byMd5[u.URLMd5], keys[i] = u, u.URLMd5
	}
	all := slices.Contains(names, "*")
	return chunks(keys, func(in string, args []any) error {
		text := "SELECT " + attributeFields + " FROM " + t.table(sqldb.Attributes, site) + " WHERE Site_Id = ? AND URLMd5 IN (" + in + ") ORDER BY Id"
		return t.Each(text, append([]any{site}, args...), func(scan func(...any) error) error {
			a, err := scanAttribute(site, scan)
			if err != nil {
				return err
			}
			if u := byMd5[a.URLMd5]; all || slices.Contains(names, a.Name) {
				u.Attributes = append(u.Attributes, a)
			}
			return nil
		})
	})
}

// keepAttributes puts the attributes of the pages. Those that are as they should
// be cost one look-up.
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
		there := map[string]string{}
		for _, a := range u.Attributes {
			there[a.Name] = a.Value
		}
		for _, name := range slices.Sorted(maps.Keys(wanted[u.URLMd5])) {
			value := wanted[u.URLMd5][name]
			old, is := there[name]
			var err error
			switch {
			case value == old: // an empty one need not be there
			case value != "":
				_, err = f.setAttribute(f.site, u.URLMd5, wire.Attribute{Name: name, Value: value})
			case is:
				_, err = f.Of(f.site).Do("attribute_remove", f.site, u.URLMd5, name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
