package tables

import (
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// TableInfo describes a table of the specification. Expressions in requests may name
// its columns.
type TableInfo struct {
	Database string
	Name     string // for a table of a site: the prefix of the name
	Columns  []schema.Column
	Kinds    map[string]expr.Kind
	lengths  map[string]string // see expr.Table.Lengths
}

var (
	SitesInfo      = TableInfo{Database: sqldb.Sites, Name: "sites", Columns: wire.SiteColumns, Kinds: columnKinds(wire.SiteColumns)}
	RootsInfo      = TableInfo{Database: sqldb.Sites, Name: "sites_urls", Columns: wire.RootURLColumns, Kinds: columnKinds(wire.RootURLColumns)}
	PropertiesInfo = TableInfo{Database: sqldb.Sites, Name: "sites_properties", Columns: wire.PropertyColumns, Kinds: columnKinds(wire.PropertyColumns)}
	FiltersInfo    = TableInfo{Database: sqldb.Sites, Name: "sites_filters", Columns: wire.FilterColumns, Kinds: columnKinds(wire.FilterColumns)}
	ProxiesInfo    = TableInfo{Database: sqldb.Sites, Name: "sites_proxy", Columns: wire.ProxyColumns, Kinds: columnKinds(wire.ProxyColumns)}
)

// PlainTables are the tables of dc_sites.
var PlainTables = []TableInfo{SitesInfo, RootsInfo, PropertiesInfo, FiltersInfo, ProxiesInfo}

// SiteTables are the tables that each site has (docs/spec/storage.md 1.5, 1.8). An
// attribute name is a key, so it is case-sensitive. MySQL cannot index LENGTH(ParentMd5)
// and stores it in a column.
var SiteTables = []TableInfo{
	{Database: sqldb.URLs, Name: "urls_", Columns: wire.URLColumns, Kinds: columnKinds(wire.URLColumns), lengths: map[string]string{"ParentMd5": "ParentLength"}},
	{Database: sqldb.Deleted, Name: "urls_", Columns: wire.URLColumns, Kinds: columnKinds(wire.URLColumns)},
	{Database: sqldb.Contents, Name: "contents_",
		Columns: []schema.Column{{Name: "id", Kind: schema.KindText}, {Name: "data", Kind: schema.KindText}, {Name: "CDate", Kind: schema.KindDate}},
		Kinds:   map[string]expr.Kind{"id": expr.Key, "data": expr.Blob, "CDate": expr.Time}},
	{Database: sqldb.Attributes, Name: "att_",
		Columns: []schema.Column{{Name: "Id"}, {Name: "Name", Kind: schema.KindText}, {Name: "URLMd5", Kind: schema.KindText}, {Name: "Value", Kind: schema.KindText}, {Name: "CDate", Kind: schema.KindDate}},
		Kinds:   map[string]expr.Kind{"Id": expr.Int, "Name": expr.Key, "URLMd5": expr.Key, "Value": expr.Blob, "CDate": expr.Time}},
	{Database: sqldb.Freqs, Name: "freq_", Columns: wire.FreqColumns, Kinds: columnKinds(wire.FreqColumns)},
	{Database: sqldb.Logs, Name: "log_", Columns: wire.LogColumns, Kinds: columnKinds(wire.LogColumns)},
}

// LiveDatabases hold the rows of a site that SITE_DELETE removes in both of its forms.
var LiveDatabases = []string{sqldb.URLs, sqldb.Attributes, sqldb.Freqs, sqldb.Logs}

var keyColumns = []string{"Id", "Site_Id", "URLMd5", "ParentMd5"}

func columnKinds(columns []schema.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		switch {
		case c.Kind == schema.KindInt:
			m[c.Name] = expr.Int
		case c.Kind == schema.KindFloat:
			m[c.Name] = expr.Float
		case c.Kind == schema.KindDate:
			m[c.Name] = expr.Time
		case slices.Contains(keyColumns, c.Name):
			m[c.Name] = expr.Key
		default:
			m[c.Name] = expr.Text
		}
	}
	return m
}

// URLColumnList is the column list of a SELECT for wire.URLColumns.
var URLColumnList = ColumnList(wire.URLColumns)

// ColumnList is the column list of a SELECT or INSERT.
func ColumnList(columns []schema.Column) string {
	return strings.Join(MapSlice(columns, func(c schema.Column) string { return "`" + c.Name + "`" }), ", ")
}

// ExprTable returns the table with the name that expressions use for it.
func (i TableInfo) ExprTable(site string) expr.Table {
	return expr.Table{Database: i.Database, Name: i.Name + site, Columns: i.Kinds, Lengths: i.lengths}
}

// SiteTable returns one of the SiteTables with the name that expressions use for it.
func SiteTable(database, site string) expr.Table {
	i := slices.IndexFunc(SiteTables, func(i TableInfo) bool { return i.Database == database })
	return SiteTables[i].ExprTable(site)
}

// ListTables are the tables with several rows for each site. Their order is the order of
// the JOINs in SelectSites.
func ListTables() []expr.Table {
	return []expr.Table{RootsInfo.ExprTable(""), PropertiesInfo.ExprTable(""), FiltersInfo.ExprTable("")}
}

// SitesTable is the quoted name of the table of sites.
func (t *Tx) SitesTable() string { return t.PlainTable(SitesInfo) }

// PlainTable is the quoted name of one of the PlainTables.
func (t *Tx) PlainTable(i TableInfo) string { return t.DB.Table(sqldb.Sites, i.Name) }

// SiteTable is the quoted name of the table with a site's rows. On SQLite the table also
// holds rows of other sites.
func (t *Tx) SiteTable(database, site string) string { return t.DB.SiteTable(database, site) }

// AliasURLs gives the table of a site's URLs the name that expressions use for it.
func AliasURLs(site string) string { return asAlias("urls_" + site) }

// WithNamedTables prepends a WITH clause for each table of a site that text names as the
// specification does, if no table has that name.
func (t *Tx) WithNamedTables(site, text string) string {
	var with []string
	for _, i := range SiteTables {
		name := t.DB.Table(i.Database, i.Name+site)
		if table := t.SiteTable(i.Database, site); name != table && strings.Contains(text, name) {
			with = append(with, name+" AS (SELECT * FROM "+table+" WHERE Site_Id = '"+site+"')")
		}
	}
	if len(with) == 0 {
		return text
	}
	return "WITH " + strings.Join(with, ", ") + " " + text
}

// ExprScope is the scope of an expression on table. Sub-selects may read the others too.
// Both the specification's and the configured names of databases are known.
func (t *Tx) ExprScope(table expr.Table, others ...expr.Table) expr.Scope {
	s := expr.Scope{Dialect: t.DB.Dialect(), Now: t.Time, Quote: t.DB.Table, Table: table, Foreign: others}
	for _, o := range append([]expr.Table{table}, others...) {
		if name := t.DB.Name(o.Database); name != o.Database && o.Name != "" {
			o.Database, o.Alias = name, ""
			s.Foreign = append(s.Foreign, o)
		}
	}
	return s
}

// SiteScope is the scope of an expression on sites.
func (t *Tx) SiteScope() expr.Scope { return t.ExprScope(SitesInfo.ExprTable(""), ListTables()...) }

// ScopeFor is the scope of an expression on table in a request about a site; site is
// "" for a request about no site.
func (t *Tx) ScopeFor(site string, table expr.Table, others ...expr.Table) expr.Scope {
	s := t.ExprScope(table, slices.Concat(ListTables(), []expr.Table{SitesInfo.ExprTable("")}, others)...)
	if site != "" {
		s.Macros = map[string]string{"SITE_ID": site}
	}
	return s
}

// RowsScope is the scope of an expression on one of the SiteTables.
func (t *Tx) RowsScope(database, site string, others ...expr.Table) expr.Scope {
	table := SiteTable(database, site)
	table.Alias = table.Name
	return t.ScopeFor(site, table, others...)
}

// URLScope is the scope of an expression on the URLs of a site.
func (t *Tx) URLScope(site string) expr.Scope { return t.RowsScope(sqldb.URLs, site) }
