package store

import (
	"strings"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
	"hce/dc/internal/expr"
)

// The column lists of SELECTs that dc.Targets reads.
var (
	siteColumns     = columnList(dc.SiteColumns)
	urlColumns      = columnList(dc.URLColumns)
	filterColumns   = columnList(dc.FilterColumns)
	propertyColumns = columnList(dc.PropertyColumns)
)

func columnList(columns []dc.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = "`" + c.Name + "`"
	}
	return strings.Join(names, ", ")
}

// The columns that texts from outside may name, by table.
var (
	siteKinds     = kinds(dc.SiteColumns)
	urlKinds      = kinds(dc.URLColumns)
	rootKinds     = kinds(dc.RootURLColumns)
	filterKinds   = kinds(dc.FilterColumns)
	propertyKinds = kinds(dc.PropertyColumns)
)

var keyColumns = map[string]bool{"Id": true, "Site_Id": true, "URLMd5": true, "ParentMd5": true}

func kinds(columns []dc.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		switch c.Kind {
		case dc.KindInt:
			m[c.Name] = expr.Int
		case dc.KindFloat:
			m[c.Name] = expr.Float
		case dc.KindDate:
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
	return expr.Table{Database: s.db.Name(db.Sites), Name: "sites", Columns: siteKinds}
}

// urlsTable is the table of a site's URLs as texts from outside name it; see
// named.
func (s *Store) urlsTable(site string) expr.Table {
	return expr.Table{Database: s.db.Name(db.URLs), Name: "urls_" + site, Columns: urlKinds}
}

// urlTable has the URLs of all sites. Where texts from outside may name it, it
// goes by "urls_<site>"; our texts always choose the site.
func (t *tx) urlTable() string { return t.DB.Table(db.URLs, "urls") }

func as(site string) string { return " AS `urls_" + site + "`" }

// named lets sub-selects of a text read the site's URLs as urls_<site>.
func (t *tx) named(site, text string) string {
	name := t.DB.Table(db.URLs, "urls_"+site)
	if !strings.Contains(text, name) {
		return text
	}
	return "WITH " + name + " AS (SELECT * FROM " + t.urlTable() + " WHERE Site_Id = '" + site + "') " + text
}

func ofSite(site string) expr.SQL {
	return expr.SQL{Text: "(Site_Id = ?)", Args: []any{site}}
}

// lists are the tables beside sites that hold rows of each site.
func (s *Store) lists() []expr.Table {
	database := s.db.Name(db.Sites)
	return []expr.Table{
		{Database: database, Name: "sites_urls", Columns: rootKinds},
		{Database: database, Name: "sites_properties", Columns: propertyKinds},
		{Database: database, Name: "sites_filters", Columns: filterKinds},
	}
}

// siteScope is what a condition on sites may mean.
func (t *tx) siteScope() expr.Scope {
	return expr.Scope{Dialect: t.DB.Dialect(), Now: t.time, Quote: db.Quote, Table: t.s.sitesTable(), Foreign: t.s.lists()}
}

// urlScope is what a condition on a site's URLs may mean.
func (t *tx) urlScope(site string) expr.Scope {
	table := t.s.urlsTable(site)
	table.Alias = table.Name
	return expr.Scope{Dialect: t.DB.Dialect(), Now: t.time, Quote: db.Quote, Table: table,
		Foreign: append(t.s.lists(), t.s.sitesTable()), Macros: map[string]string{"SITE_ID": site}}
}

// rowScope is what an expression for a column of a list's row may mean.
func (t *tx) rowScope(table string) expr.Scope {
	scope := expr.Scope{Dialect: t.DB.Dialect(), Now: t.time, Quote: db.Quote, Foreign: []expr.Table{t.s.sitesTable()}}
	for _, l := range t.s.lists() {
		if l.Name == table {
			scope.Table = l
		}
	}
	return scope
}
