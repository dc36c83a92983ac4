package sqlstore

import (
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// The column lists of SELECTs that wire.Targets reads.
var (
	siteColumns     = columnList(wire.SiteColumns)
	urlColumns      = columnList(wire.URLColumns)
	filterColumns   = columnList(wire.FilterColumns)
	propertyColumns = columnList(wire.PropertyColumns)
	proxyColumns    = columnList(wire.ProxyColumns)
	logColumns      = columnList(wire.LogColumns)
	freqColumns     = columnList(wire.FreqColumns)
)

func columnList(columns []wire.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = "`" + c.Name + "`"
	}
	return strings.Join(names, ", ")
}

// The columns that texts from outside may name, by table.
var (
	siteKinds     = kinds(wire.SiteColumns)
	urlKinds      = kinds(wire.URLColumns)
	rootKinds     = kinds(wire.RootURLColumns)
	filterKinds   = kinds(wire.FilterColumns)
	propertyKinds = kinds(wire.PropertyColumns)
	proxyKinds    = kinds(wire.ProxyColumns)
	logKinds      = kinds(wire.LogColumns)
	freqKinds     = kinds(wire.FreqColumns)
)

// attributeKinds are those of att_<site>. Names are told apart by case, as keys
// are; values may be anything.
var attributeKinds = map[string]expr.Kind{"Id": expr.Int, "Name": expr.Key, "URLMd5": expr.Key, "Value": expr.Blob, "CDate": expr.Time}

var keyColumns = map[string]bool{"Id": true, "Site_Id": true, "URLMd5": true, "ParentMd5": true}

func kinds(columns []wire.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		switch c.Kind {
		case wire.KindInt:
			m[c.Name] = expr.Int
		case wire.KindFloat:
			m[c.Name] = expr.Float
		case wire.KindDate:
			m[c.Name] = expr.Time
		default:
			m[c.Name] = expr.Text
			if keyColumns[c.Name] {
				m[c.Name] = expr.Key
			}
		}
	}
	return m
}

func (s *Store) sitesTable() expr.Table {
	return expr.Table{Database: sqldb.Sites, Name: "sites", Columns: siteKinds}
}

// urlsTable is the table of a site's URLs as texts from outside name it; see
// named.
func (s *Store) urlsTable(site string) expr.Table {
	return expr.Table{Database: sqldb.URLs, Name: "urls_" + site, Columns: urlKinds, Lengths: urlLengths}
}

// table is where a site's rows stand, on SQLite together with those of other
// sites: our texts always choose the site. Where texts from outside may name the
// table of URLs, it goes by "urls_<site>".
func (t *tx) table(database, site string) string { return t.DB.SiteTable(database, site) }

func as(site string) string { return " AS `urls_" + site + "`" }

// named lets sub-selects of a text read the tables of a site by the names that
// the specification gives them, where no table has that name.
func (t *tx) named(site, text string) string {
	var with []string
	for _, s := range siteTables {
		name := t.DB.Table(s.database, s.prefix+site)
		if table := t.table(s.database, site); name != table && strings.Contains(text, name) {
			with = append(with, name+" AS (SELECT * FROM "+table+" WHERE Site_Id = '"+site+"')")
		}
	}
	if len(with) == 0 {
		return text
	}
	return "WITH " + strings.Join(with, ", ") + " " + text
}

func ofSite(site string) expr.SQL {
	return expr.SQL{Text: "(Site_Id = ?)", Args: []any{site}}
}

// urlLengths are the lengths that MySQL keeps in columns, for an index: it has
// none on expressions.
var urlLengths = map[string]string{"ParentMd5": "ParentLength"}

// lists are the tables beside sites that hold rows of each site.
func (s *Store) lists() []expr.Table {
	return []expr.Table{
		{Database: sqldb.Sites, Name: "sites_urls", Columns: rootKinds},
		{Database: sqldb.Sites, Name: "sites_properties", Columns: propertyKinds},
		{Database: sqldb.Sites, Name: "sites_filters", Columns: filterKinds},
	}
}

// scope is what a text on a table may mean: that table, and the others in
// sub-selects. It may call databases by the names of the specification, and by
// those that they have.
func (t *tx) scope(table expr.Table, others ...expr.Table) expr.Scope {
	s := expr.Scope{Dialect: t.DB.Dialect(), Now: t.time, Quote: t.DB.Table, Table: table, Foreign: others}
	for _, o := range append([]expr.Table{table}, others...) {
		if name := t.DB.Name(o.Database); name != o.Database && o.Name != "" {
			o.Database, o.Alias = name, ""
			s.Foreign = append(s.Foreign, o)
		}
	}
	return s
}

// siteScope is what a condition on sites may mean.
func (t *tx) siteScope() expr.Scope { return t.scope(t.s.sitesTable(), t.s.lists()...) }

// urlScope is what a condition on a site's URLs may mean.
func (t *tx) urlScope(site string) expr.Scope {
	table := t.s.urlsTable(site)
	table.Alias = table.Name
	s := t.scope(table, append(t.s.lists(), t.s.sitesTable())...)
	s.Macros = map[string]string{"SITE_ID": site}
	return s
}

// rowsScope is what a condition on a site's table in one of siteTables may mean.
func (t *tx) rowsScope(database, site string) expr.Scope {
	if database == sqldb.URLs {
		return t.urlScope(site)
	}
	var table expr.Table
	for _, s := range siteTables {
		if s.database == database {
			table = expr.Table{Database: database, Name: s.prefix + site, Alias: s.prefix + site, Columns: s.kinds}
		}
	}
	s := t.scope(table, append(t.s.lists(), t.s.sitesTable())...)
	s.Macros = map[string]string{"SITE_ID": site}
	return s
}

// rowScope is what an expression for a column of a list's row may mean.
func (t *tx) rowScope(table string) expr.Scope {
	var own expr.Table
	for _, l := range t.s.lists() {
		if l.Name == table {
			own = l
		}
	}
	return t.scope(own, t.s.sitesTable())
}

// proxyScope is what a condition on proxies may mean; site is the one that the
// request is about, or "".
func (t *tx) proxyScope(site string) expr.Scope {
	table := expr.Table{Database: sqldb.Sites, Name: "sites_proxy", Columns: proxyKinds}
	s := t.scope(table, append(t.s.lists(), t.s.sitesTable())...)
	if site != "" {
		s.Macros = map[string]string{"SITE_ID": site}
	}
	return s
}

// attributeScope is what a condition on a site's attributes may mean.
func (t *tx) attributeScope(site string) expr.Scope {
	name := "att_" + site
	table := expr.Table{Database: sqldb.Attributes, Name: name, Alias: name, Columns: attributeKinds}
	s := t.scope(table, append(t.s.lists(), t.s.sitesTable(), t.s.urlsTable(site))...)
	s.Macros = map[string]string{"SITE_ID": site}
	return s
}
