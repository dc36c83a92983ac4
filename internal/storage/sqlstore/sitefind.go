package sqlstore

import (
	"context"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SiteFind reads the sites that a criterion selects, each once, with the lists that are
// not excluded (docs/spec/storage.md 4.4). A URL limits the result to sites with a root
// URL that begins with it; ASCII case is ignored, % and _ are wildcards. The criterion may
// name columns of sites, and of sites_urls, sites_properties and sites_filters if TABLES
// or the WHERE names the table. The result is not nil. An invalid criterion is an error
// with its clause.
func (s *Store) SiteFind(ctx context.Context, r wire.SiteFindRequest) ([]wire.Site, error) {
	return result(ctx, s.view, "SiteFind", func(t *tx) ([]wire.Site, error) {
		var prefix expr.SQL
		if r.URL != nil && *r.URL != "" {
			prefix = expr.SQL{
				Text: "(" + t.sites() + ".Id IN (SELECT Site_Id FROM " + t.plainTable(rootsInfo) + ` WHERE LOWER(URL) LIKE LOWER(?) ESCAPE '|'))`,
				Args: []any{prefixPattern(*r.URL)},
			}
		}
		ids, err := t.selectSites("SiteFind.criterions", r.Criterion, prefix)
		if err != nil {
			return nil, err
		}
		sites := []wire.Site{}
		for _, id := range ids {
			site, err := t.site(id, r.Exclude)
			if err != nil {
				return nil, err
			}
			if site != nil {
				sites = append(sites, *site)
			}
		}
		return sites, nil
	})
}

// prefixPattern is the LIKE pattern of texts that begin with text. In text % and _ are
// wildcards unless a backslash precedes them. The escape character is |, because SQLite
// and MySQL read a backslash in an SQL text differently.
func prefixPattern(text string) string {
	var b strings.Builder
	escaped := false
	for _, r := range text {
		switch {
		case r == '\\' && !escaped:
			escaped = true
			continue
		case r == '|', escaped && (r == '%' || r == '_'):
			b.WriteByte('|')
		}
		escaped = false
		b.WriteRune(r)
	}
	return b.String() + "%"
}

// selectSites returns the ids of the sites that match a criterion and a condition, each
// once.
func (t *tx) selectSites(object string, c wire.Criterion, condition expr.SQL) ([]string, error) {
	joined, err := t.joined(object, c)
	if err != nil {
		return nil, err
	}
	scope := t.siteScope()
	scope.Joined = joined
	p, err := t.clauses(object, scope, c)
	if err != nil {
		return nil, err
	}
	id := t.sites() + ".Id"
	p.tieBreak(id)
	head := "SELECT " + id + " FROM " + t.sites()
	for _, l := range joined {
		name := t.DB.Table(l.Database, l.Name)
		head += " JOIN " + name + " ON " + name + ".Site_Id = " + id
	}
	if len(joined) > 0 {
		p.group = " GROUP BY " + id
	}
	text, args := p.query(head, condition)
	return column[string](t, text, args...)
}

// joined returns the lists that TABLES names, or that the WHERE or ORDER BY names as a
// qualifier, as in sites_urls.URL.
func (t *tx) joined(object string, c wire.Criterion) ([]expr.Table, error) {
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
	for _, l := range lists() {
		plain := strings.ReplaceAll(c.Where+" "+c.OrderBy, "`", "")
		if wanted[l.Name] || strings.Contains(plain, l.Name+".") {
			tables = append(tables, l)
		}
		delete(wanted, l.Name)
	}
	for name := range wanted {
		return nil, &wire.FieldError{Object: object, Field: "TABLES", Value: clip(name), Reason: "is not sites, sites_urls, sites_properties or sites_filters"}
	}
	return tables, nil
}
