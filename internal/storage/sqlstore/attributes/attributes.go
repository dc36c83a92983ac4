package attributes

import (
	"context"
	"slices"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// AttributeSet sets attributes of URLs, or of a site if an element has no urlMd5
// (docs/spec/storage.md 4.23). Statuses has 0 inserted, 2 replaced or 3 unknown site.
func (s *Store) AttributeSet(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "AttributeSet", list, tables.StatusNoSite, (*Tx).attributeSet)
}

func (t *Tx) attributeSet(_ string, r wire.AttributeRequest) (status int, err error) {
	site, err := t.StoredID(r.SiteID)
	if err != nil || site == "" {
		return tables.StatusNoSite, err
	}
	inserted, err := t.SetAttribute(site, tables.OrEmpty(r.URLMd5), wire.Attribute{Name: tables.OrEmpty(r.Name), Value: tables.OrEmpty(r.Value)})
	if err == nil && inserted {
		return tables.StatusInserted, nil
	}
	return tables.StatusExists, err
}

// SetAttributes sets attributes of one URL, or of the site if md5 is "".
func (t *Tx) SetAttributes(site, md5 string, list []wire.Attribute) error {
	for _, a := range list {
		if _, err := t.SetAttribute(site, md5, a); err != nil {
			return err
		}
	}
	return nil
}

// SetAttribute sets one attribute. Inserted is false if it replaced a value.
func (t *Tx) SetAttribute(site, md5 string, a wire.Attribute) (inserted bool, err error) {
	text, err := t.DB.Text("attribute_new", site)
	if err != nil {
		return false, err
	}
	_, inserted, err = t.Insert(text, site, md5, a.Name, a.Value, t.Now)
	if err == nil && !inserted {
		_, err = t.Of(site).Do("attribute_set", a.Value, site, md5, a.Name)
	}
	return inserted, err
}

// AttributeUpdate sets an attribute of a URL, or without urlMd5 all attributes of the
// site with that name (docs/spec/storage.md 4.23). It inserts a missing one. Statuses
// has true for each written element and false for an unknown site or a missing value.
func (s *Store) AttributeUpdate(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "AttributeUpdate", list, false, (*Tx).attributeUpdate)
}

func (t *Tx) attributeUpdate(_ string, r wire.AttributeRequest) (written bool, err error) {
	site, err := t.StoredID(r.SiteID)
	if err != nil || site == "" || r.Value == nil {
		return false, err
	}
	name := tables.OrEmpty(r.Name)
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
	_, err = t.SetAttribute(site, tables.OrEmpty(r.URLMd5), wire.Attribute{Name: name, Value: *r.Value})
	return err == nil, err
}

// AttributeDelete deletes attributes by name, by criterion or all, of one URL if urlMd5
// is given (docs/spec/storage.md 4.23). Statuses has true for each element, and false for
// an unknown site or a refused element; ErrorMessage has the first reason.
func (s *Store) AttributeDelete(ctx context.Context, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "AttributeDelete", list, false, (*Tx).attributeDelete)
}

func (t *Tx) attributeDelete(object string, r wire.AttributeRequest) (done bool, err error) {
	site, err := t.StoredID(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	var ids []int64
	if err := t.eachAttribute(object, site, "Id", r, tables.AppendTo(&ids, tables.SingleTarget[int64])); err != nil {
		return false, err
	}
	_, err = tables.ExecIn(t.tableTx, ids, "DELETE FROM "+t.SiteTable(sqldb.Attributes, site)+" WHERE Site_Id = ? AND Id IN ", site)
	return true, err
}

// eachAttribute reads columns of the attributes that a request selects, in the order of
// the criterion or else of their Id.
func (t *Tx) eachAttribute(object, site, columns string, r wire.AttributeRequest, row tables.RowFunc) error {
	c := r.Criterion
	conditions := []expr.SQL{tables.OfSite(site)}
	if r.Name != nil {
		c = wire.Criterion{}
		conditions = append(conditions, expr.SQL{Text: "(Name = ?)", Args: []any{*r.Name}})
	}
	if r.URLMd5 != nil {
		conditions = append(conditions, expr.SQL{Text: "(URLMd5 = ?)", Args: []any{*r.URLMd5}})
	}
	p, err := t.BuildClauses(object+".criterions", t.RowsScope(sqldb.Attributes, site, tables.SiteTable(sqldb.URLs, site)), c)
	if err != nil {
		return err
	}
	p.OrderOr("Id")
	text, args := p.BuildQuery("SELECT "+columns+" FROM "+t.SiteTable(sqldb.Attributes, site)+p.As, conditions...)
	return t.Each(t.WithNamedTables(site, text), args, row)
}

// AttributeFetch reads attributes by name, by criterion or all, of one URL if urlMd5 is
// given (docs/spec/storage.md 4.23). It skips unknown sites. An invalid criterion is an
// error with its clause.
func (s *Store) AttributeFetch(ctx context.Context, list []wire.AttributeRequest) ([]wire.Attribute, error) {
	return tables.ReadAll(ctx, s.run.Read, "AttributeFetch", list, func(t *Tx, object string, r wire.AttributeRequest) (attributes []wire.Attribute, err error) {
		site, err := t.StoredID(r.SiteID)
		if err != nil || site == "" {
			return nil, err
		}
		err = t.eachAttribute(object, site, attributeColumns, r, tables.AppendTo(&attributes, attributeFields))
		return attributes, err
	})
}

const attributeColumns = "Site_Id, URLMd5, Name, Value, COALESCE(CDate, '')"

func attributeFields(a *wire.Attribute) []any {
	return []any{&a.SiteID, &a.URLMd5, &a.Name, &a.Value, &a.CDate}
}

// FillAttributes reads the attributes of URLs of one site into them. Names with "*"
// means all attributes, no names means none.
func (t *Tx) FillAttributes(site string, urls []*wire.URL, names []string) error {
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
	head := "SELECT " + attributeColumns + " FROM " + t.SiteTable(sqldb.Attributes, site) + tables.OfKeys
	return tables.ForEachChunk(tables.MapSlice(urls, tables.URLKey), func(in string, args []any) error {
		return t.Each(head+in+" ORDER BY Id", slices.Concat([]any{site}, args), tables.EachRow(attributeFields, func(a wire.Attribute) error {
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
	return tables.RunForResult(ctx, s.run.Read, "Attributes", func(t *Tx) ([]wire.Attribute, error) {
		u := wire.URL{URLMd5: md5, Attributes: []wire.Attribute{}}
		err := t.FillAttributes(site, []*wire.URL{&u}, names)
		return u.Attributes, err
	})
}
