package sqlstore

import (
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// tableInfo describes a table of the specification. Expressions in requests may name
// its columns.
type tableInfo struct {
	database string
	name     string // for a table of a site: the prefix of the name
	columns  []wire.Column
	kinds    map[string]expr.Kind
	lengths  map[string]string // see expr.Table.Lengths
}

var (
	sitesInfo      = tableInfo{database: sqldb.Sites, name: "sites", columns: wire.SiteColumns, kinds: columnKinds(wire.SiteColumns)}
	rootsInfo      = tableInfo{database: sqldb.Sites, name: "sites_urls", columns: wire.RootURLColumns, kinds: columnKinds(wire.RootURLColumns)}
	propertiesInfo = tableInfo{database: sqldb.Sites, name: "sites_properties", columns: wire.PropertyColumns, kinds: columnKinds(wire.PropertyColumns)}
	filtersInfo    = tableInfo{database: sqldb.Sites, name: "sites_filters", columns: wire.FilterColumns, kinds: columnKinds(wire.FilterColumns)}
	proxiesInfo    = tableInfo{database: sqldb.Sites, name: "sites_proxy", columns: wire.ProxyColumns, kinds: columnKinds(wire.ProxyColumns)}
)

// plainTables are the tables of dc_sites.
var plainTables = []tableInfo{sitesInfo, rootsInfo, propertiesInfo, filtersInfo, proxiesInfo}

// siteTables are the tables that each site has (docs/spec/storage.md 1.5, 1.8). An
// attribute name is a key, so it is case-sensitive. MySQL cannot index LENGTH(ParentMd5)
// and stores it in a column.
var siteTables = []tableInfo{
	{database: sqldb.URLs, name: "urls_", columns: wire.URLColumns, kinds: columnKinds(wire.URLColumns), lengths: map[string]string{"ParentMd5": "ParentLength"}},
	{database: sqldb.Deleted, name: "urls_", columns: wire.URLColumns, kinds: columnKinds(wire.URLColumns)},
	{database: sqldb.Contents, name: "contents_",
		columns: []wire.Column{{Name: "id", Kind: wire.KindText}, {Name: "data", Kind: wire.KindText}, {Name: "CDate", Kind: wire.KindDate}},
		kinds:   map[string]expr.Kind{"id": expr.Key, "data": expr.Blob, "CDate": expr.Time}},
	{database: sqldb.Attributes, name: "att_",
		columns: []wire.Column{{Name: "Id"}, {Name: "Name", Kind: wire.KindText}, {Name: "URLMd5", Kind: wire.KindText}, {Name: "Value", Kind: wire.KindText}, {Name: "CDate", Kind: wire.KindDate}},
		kinds:   map[string]expr.Kind{"Id": expr.Int, "Name": expr.Key, "URLMd5": expr.Key, "Value": expr.Blob, "CDate": expr.Time}},
	{database: sqldb.Freqs, name: "freq_", columns: wire.FreqColumns, kinds: columnKinds(wire.FreqColumns)},
	{database: sqldb.Logs, name: "log_", columns: wire.LogColumns, kinds: columnKinds(wire.LogColumns)},
}

// liveDatabases hold the rows of a site that SITE_DELETE removes in both of its forms.
var liveDatabases = []string{sqldb.URLs, sqldb.Attributes, sqldb.Freqs, sqldb.Logs}

var keyColumns = []string{"Id", "Site_Id", "URLMd5", "ParentMd5"}

func columnKinds(columns []wire.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		switch {
		case c.Kind == wire.KindInt:
			m[c.Name] = expr.Int
		case c.Kind == wire.KindFloat:
			m[c.Name] = expr.Float
		case c.Kind == wire.KindDate:
			m[c.Name] = expr.Time
		case slices.Contains(keyColumns, c.Name):
			m[c.Name] = expr.Key
		default:
			m[c.Name] = expr.Text
		}
	}
	return m
}

// urlColumns is the column list of a SELECT for wire.URLColumns.
var urlColumns = columnList(wire.URLColumns)

func columnList(columns []wire.Column) string {
	return strings.Join(mapSlice(columns, func(c wire.Column) string { return "`" + c.Name + "`" }), ", ")
}

// exprTable returns the table with the name that expressions use for it.
func (i tableInfo) exprTable(site string) expr.Table {
	return expr.Table{Database: i.database, Name: i.name + site, Columns: i.kinds, Lengths: i.lengths}
}

func siteTable(database, site string) expr.Table {
	i := slices.IndexFunc(siteTables, func(i tableInfo) bool { return i.database == database })
	return siteTables[i].exprTable(site)
}

// listTables are the tables with several rows for each site. Their order is the order of
// the JOINs in selectSites.
func listTables() []expr.Table {
	return []expr.Table{rootsInfo.exprTable(""), propertiesInfo.exprTable(""), filtersInfo.exprTable("")}
}

func (t *tx) sitesTable() string { return t.plainTable(sitesInfo) }

func (t *tx) plainTable(i tableInfo) string { return t.DB.Table(sqldb.Sites, i.name) }

// siteTable is the quoted name of the table with a site's rows. On SQLite the table also
// holds rows of other sites.
func (t *tx) siteTable(database, site string) string { return t.DB.SiteTable(database, site) }

// aliasURLs gives the table of a site's URLs the name that expressions use for it.
func aliasURLs(site string) string { return asAlias("urls_" + site) }

// withNamedTables prepends a WITH clause for each table of a site that text names as the
// specification does, if no table has that name.
func (t *tx) withNamedTables(site, text string) string {
	var with []string
	for _, i := range siteTables {
		name := t.DB.Table(i.database, i.name+site)
		if table := t.siteTable(i.database, site); name != table && strings.Contains(text, name) {
			with = append(with, name+" AS (SELECT * FROM "+table+" WHERE Site_Id = '"+site+"')")
		}
	}
	if len(with) == 0 {
		return text
	}
	return "WITH " + strings.Join(with, ", ") + " " + text
}

// exprScope is the scope of an expression on table. Sub-selects may read the others too.
// Both the specification's and the configured names of databases are known.
func (t *tx) exprScope(table expr.Table, others ...expr.Table) expr.Scope {
	s := expr.Scope{Dialect: t.DB.Dialect(), Now: t.time, Quote: t.DB.Table, Table: table, Foreign: others}
	for _, o := range append([]expr.Table{table}, others...) {
		if name := t.DB.Name(o.Database); name != o.Database && o.Name != "" {
			o.Database, o.Alias = name, ""
			s.Foreign = append(s.Foreign, o)
		}
	}
	return s
}

// siteScope is the scope of an expression on sites.
func (t *tx) siteScope() expr.Scope { return t.exprScope(sitesInfo.exprTable(""), listTables()...) }

// scopeFor is the scope of an expression on table in a request about a site; site is
// "" for a request about no site.
func (t *tx) scopeFor(site string, table expr.Table, others ...expr.Table) expr.Scope {
	s := t.exprScope(table, slices.Concat(listTables(), []expr.Table{sitesInfo.exprTable("")}, others)...)
	if site != "" {
		s.Macros = map[string]string{"SITE_ID": site}
	}
	return s
}

// rowsScope is the scope of an expression on one of the siteTables.
func (t *tx) rowsScope(database, site string, others ...expr.Table) expr.Scope {
	table := siteTable(database, site)
	table.Alias = table.Name
	return t.scopeFor(site, table, others...)
}

// urlScope is the scope of an expression on the URLs of a site.
func (t *tx) urlScope(site string) expr.Scope { return t.rowsScope(sqldb.URLs, site) }
