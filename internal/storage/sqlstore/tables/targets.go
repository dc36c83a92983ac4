package tables

import (
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SitesTarget is the table of sites.
func (t *Tx) SitesTarget(object string) Target {
	return Target{Object: object, Key: []string{"Id"}, Table: t.SitesTable(), Columns: wire.SiteColumns, Scope: t.SiteScope()}
}

// URLsTarget is the table with the URLs of a site.
func (t *Tx) URLsTarget(object, site string) Target {
	return Target{Object: object, Key: []string{"Site_Id", "URLMd5"}, Table: t.SiteTable(sqldb.URLs, site), As: AliasURLs(site), Site: site, Columns: wire.URLColumns, Scope: t.URLScope(site)}
}

// ListTarget is a table of dc_sites with several rows for each site.
func (t *Tx) ListTarget(object string, list TableInfo) Target {
	g := Target{Object: object, Table: t.PlainTable(list), Columns: list.Columns, Scope: t.ExprScope(list.ExprTable(""), SitesInfo.ExprTable(""))}
	if list.Name == RootsInfo.Name {
		g.Key = []string{"Site_Id", "URLMd5"}
	}
	return g
}
