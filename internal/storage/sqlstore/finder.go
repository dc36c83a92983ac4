package sqlstore

import (
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// finder gives the tables of the specification to a query and writes them as
// sub-queries of those that the database has, so that * is the same on each.
type finder struct {
	*tx
	database string
	found    []*foundTable
	err      error // of the database
}

// foundTable is one that the query reads.
type foundTable struct {
	expr.Table
	columns []wire.Column // in their order
	name    string        // in the database, quoted
	site    string        // whose rows alone are meant, or ""
	counted bool          // the site's row counts its rows
}

// find is the Find of an expr.Scope.
func (f *finder) find(database, name string) *expr.Table {
	if database == "" {
		database = f.database
	}
	for _, t := range f.found {
		if t.Database == database && strings.EqualFold(t.Name, name) {
			return &t.Table
		}
	}
	t := f.catalogued(f.s.database(database), name)
	if t == nil {
		return nil
	}
	t.Database = database
	f.found = append(f.found, t)
	return &t.Table
}

// catalogued finds a table of a database, one of the constants of package sqldb.
func (f *finder) catalogued(database, name string) *foundTable {
	if database == sqldb.Sites {
		for _, t := range plainTables {
			if strings.EqualFold(t.name, name) {
				return &foundTable{Table: expr.Table{Name: t.name, Columns: t.kinds}, columns: t.columns, name: f.DB.Table(sqldb.Sites, t.name)}
			}
		}
		return nil
	}
	for _, t := range siteTables {
		if t.database != database || len(name) <= len(t.prefix) || !strings.EqualFold(name[:len(t.prefix)], t.prefix) {
			continue
		}
		id := name[len(t.prefix):]
		if wire.CheckSiteID("", "", id) != nil {
			return nil
		}
		site, err := f.known(id)
		if err != nil {
			f.err = err
		}
		if err != nil || site == "" {
			return nil
		}
		return &foundTable{
			Table: expr.Table{Name: t.prefix + site, Columns: t.kinds}, columns: t.columns,
			name: f.table(database, site), site: site, counted: database == sqldb.URLs || database == sqldb.Deleted,
		}
	}
	return nil
}

// quote is the Quote of an expr.Scope: the name of a table's sub-query, one that
// no alias of a query can have.
func (f *finder) quote(database, table string) string {
	for i, t := range f.found {
		if t.Database == database && t.Name == table {
			return "`dc-" + strconv.Itoa(i) + "`"
		}
	}
	return "``"
}

// with begins the text of a query.
func (f *finder) with() string {
	var b strings.Builder
	for i, t := range f.found {
		word := ", "
		if i == 0 {
			word = "WITH "
		}
		b.WriteString(word + f.quote(t.Database, t.Name) + " AS (SELECT " + columnList(t.columns) + " FROM " + t.name)
		if t.site != "" {
			b.WriteString(" WHERE Site_Id = '" + t.site + "'")
		}
		b.WriteString(")")
		if i == len(f.found)-1 {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// expand puts the columns of a table in the place of its *.
func (f *finder) expand(fields []expr.Field) []expr.Field {
	var list []expr.Field
	for _, field := range fields {
		if field.Table == nil {
			list = append(list, field)
			continue
		}
		for _, t := range f.found {
			if field.Table != &t.Table {
				continue
			}
			for _, c := range t.columns {
				list = append(list, expr.Field{Name: c.Name, Time: c.Kind == wire.KindDate, Decimals: -1})
			}
		}
	}
	return list
}

// plainTables are those of dc_sites.
var plainTables = []struct {
	name    string
	columns []wire.Column
	kinds   map[string]expr.Kind
}{
	{"sites", wire.SiteColumns, siteKinds}, {"sites_urls", wire.RootURLColumns, rootKinds}, {"sites_filters", wire.FilterColumns, filterKinds},
	{"sites_properties", wire.PropertyColumns, propertyKinds}, {"sites_proxy", wire.ProxyColumns, proxyKinds},
}

// siteTables are those that the specification has for each site (docs/spec/storage.md 1.5,
// 1.8).
var siteTables = []struct {
	database, prefix string
	columns          []wire.Column
	kinds            map[string]expr.Kind
}{
	{sqldb.URLs, "urls_", wire.URLColumns, urlKinds},
	{sqldb.Deleted, "urls_", wire.URLColumns, urlKinds},
	{sqldb.Contents, "contents_", contentColumns, contentKinds},
	{sqldb.Attributes, "att_", attributeColumns, attributeKinds},
	{sqldb.Freqs, "freq_", wire.FreqColumns, freqKinds},
	{sqldb.Logs, "log_", wire.LogColumns, logKinds},
}

var (
	contentColumns   = []wire.Column{{Name: "id", Kind: wire.KindText}, {Name: "data", Kind: wire.KindText}, {Name: "CDate", Kind: wire.KindDate}}
	contentKinds     = map[string]expr.Kind{"id": expr.Key, "data": expr.Blob, "CDate": expr.Time}
	attributeColumns = []wire.Column{
		{Name: "Id"}, {Name: "Name", Kind: wire.KindText}, {Name: "URLMd5", Kind: wire.KindText}, {Name: "Value", Kind: wire.KindText}, {Name: "CDate", Kind: wire.KindDate},
	}
)
