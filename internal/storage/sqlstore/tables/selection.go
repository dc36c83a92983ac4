package tables

import (
	"math/rand/v2"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// NewEpoch must follow a deletion of rows of a site, and of the keys of sent links: then what package outcomes
// remembers of them is not used any more.
func (t *Tx) NewEpoch(site string) error {
	_, err := t.Do("site_epoch", rand.Int64(), site)
	return err
}

// ReadProperty returns the value of the first property of a site with a name
// (docs/spec/objects.md 2.4). The comparison of MySQL ignores case, so name is compared
// again.
func (t *Tx) ReadProperty(site, name string) (value string, found bool, err error) {
	err = t.All("site_property", []any{site, name}, ScanPair(func(n, v string) {
		if n == name && !found {
			value, found = v, true
		}
	}))
	return value, found, err
}

// SelectSites returns the ids of the sites that match a criterion and a condition, each
// once.
func (t *Tx) SelectSites(object string, c wire.Criterion, condition expr.SQL) ([]string, error) {
	joined, err := t.joinedLists(object, c)
	if err != nil {
		return nil, err
	}
	scope := t.SiteScope()
	scope.Joined = joined
	p, err := t.BuildClauses(object, scope, c)
	if err != nil {
		return nil, err
	}
	id := t.SitesTable() + ".Id"
	p.TieBreak(id)
	head := "SELECT " + id + " FROM " + t.SitesTable()
	for _, l := range joined {
		name := t.DB.Table(l.Database, l.Name)
		head += " JOIN " + name + " ON " + name + ".Site_Id = " + id
	}
	if len(joined) > 0 {
		p.group = " GROUP BY " + id
	}
	text, args := p.BuildQuery(head, condition)
	return ReadColumn[string](t, text, args...)
}

// joinedLists returns the lists that TABLES names, or that the WHERE or ORDER BY names as a
// qualifier, as in sites_urls.URL.
func (t *Tx) joinedLists(object string, c wire.Criterion) ([]expr.Table, error) {
	wanted := map[string]bool{}
	for _, given := range strings.Split(c.Tables, ",") {
		name := strings.NewReplacer("`", "", `"`, "").Replace(strings.TrimSpace(given))
		if name == "" && strings.TrimSpace(given) != "" {
			name = given // only quotes
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, sqldb.Sites+"."), t.DB.Name(sqldb.Sites)+".")
		if name != "" && name != "sites" {
			wanted[name] = true
		}
	}
	var tables []expr.Table
	for _, l := range ListTables() {
		plain := strings.ReplaceAll(c.Where+" "+c.OrderBy, "`", "")
		if wanted[l.Name] || strings.Contains(plain, l.Name+".") {
			tables = append(tables, l)
		}
		delete(wanted, l.Name)
	}
	for name := range wanted {
		return nil, &lenient.FieldError{Object: object, Field: "TABLES", Value: ClipText(name), Reason: "is not sites, sites_urls, sites_properties or sites_filters"}
	}
	return tables, nil
}

// URLStatus is the key and the Status of a row.
type URLStatus struct {
	MD5    string
	Status int64
}

// ScanTargets are the scan targets of the columns URLMd5 and Status.
func (u *URLStatus) ScanTargets() []any { return []any{&u.MD5, &u.Status} }

// MD5sOf returns the keys of rows, in their order.
func MD5sOf(rows []URLStatus) []string {
	return MapSlice(rows, func(u URLStatus) string { return u.MD5 })
}

// SelectURLs reads the rows of a site that match a criterion and, unless it is "", a
// key. It is a separate query because a cancelled context interrupts only queries.
func (t *Tx) SelectURLs(object, site string, c wire.Criterion, md5 string) (rows []URLStatus, err error) {
	text, args, err := t.URLQuery("URLMd5, Status", object, site, c, md5)
	if err == nil {
		err = t.Each(t.WithNamedTables(site, text), args, AppendTo(&rows, (*URLStatus).ScanTargets))
	}
	return rows, err
}

// URLQuery is the SELECT of SelectURLs.
func (t *Tx) URLQuery(columns, object, site string, c wire.Criterion, md5 string) (string, []any, error) {
	p, err := t.URLClauses(object, site, t.URLScope(site), c)
	if err != nil {
		return "", nil, err
	}
	var key expr.SQL
	if md5 != "" {
		key = expr.SQL{Text: "(URLMd5 = ?)", Args: []any{md5}}
	}
	text, args := p.BuildQuery("SELECT "+columns+" FROM "+t.SiteTable(sqldb.URLs, site)+p.As, OfSite(site), key)
	return text, args, nil
}
