package sqlstore

import (
	"context"
	"errors"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SiteFind reads the sites that a criterion selects, each once, with the lists
// that are not excluded (docs/spec/storage.md 4.4). With a URL that is not empty, those alone
// that have a root URL beginning with it, ASCII case ignored; % and _ in it are
// wildcards. A criterion is on
// columns of sites, and of the tables that TABLES or the WHERE names: sites_urls,
// sites_properties, sites_filters, joined by the site's id. The result is empty,
// not nil, when nothing matches. A criterion that is refused is an error that
// names its clause.
func (s *Store) SiteFind(ctx context.Context, r wire.SiteFindRequest) ([]wire.Site, error) {
	sites := []wire.Site{}
	err := s.view(ctx, "SiteFind", func(t *tx) error {
		var prefix expr.SQL
		if r.URL != nil && *r.URL != "" {
			prefix = expr.SQL{
				Text: "(" + t.DB.Table(sqldb.Sites, "sites") + ".Id IN (SELECT Site_Id FROM " + t.DB.Table(sqldb.Sites, "sites_urls") + ` WHERE LOWER(URL) LIKE LOWER(?) ESCAPE '|'))`,
				Args: []any{prefixPattern(*r.URL)},
			}
		}
		ids, err := t.selectSites("SiteFind.criterions", r.Criterion, prefix)
		if err != nil {
			return err
		}
		for _, id := range ids {
			site, err := t.site(id, r.Exclude)
			if err != nil {
				return err
			}
			if site != nil {
				sites = append(sites, *site)
			}
		}
		return nil
	})
	return sites, err
}

// prefixPattern is the pattern of what begins like text, in which % and _ stand
// for any texts and any character, and a backslash takes that from them. The sign
// for it is |, as a backslash in a text of SQL means one thing to SQLite and
// another to MySQL.
func prefixPattern(text string) string {
	var b strings.Builder
	plain := false
	for _, r := range text {
		switch {
		case r == '\\' && !plain:
			plain = true
			continue
		case r == '|', plain && (r == '%' || r == '_'):
			b.WriteByte('|')
		}
		plain = false
		b.WriteRune(r)
	}
	return b.String() + "%"
}

var errTable = errors.New("is not sites, sites_urls, sites_properties or sites_filters")

// selectSites gives the ids of the sites that a criterion and a condition of our
// own select, each once.
func (t *tx) selectSites(object string, c wire.Criterion, own expr.SQL) ([]string, error) {
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
	sites := t.DB.Table(sqldb.Sites, "sites")
	var s statement
	s.add("SELECT " + sites + ".Id FROM " + sites)
	for _, l := range joined {
		name := t.DB.Table(l.Database, l.Name)
		s.add(" JOIN " + name + " ON " + name + ".Site_Id = " + sites + ".Id")
	}
	s.where(own, p.where)
	if len(joined) > 0 {
		s.add(" GROUP BY " + sites + ".Id")
	}
	s.order(inOrder(p.order, sites+".Id"))
	s.limit(p.limit)
	var ids []string
	err = t.Each(s.text.String(), s.args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// joined are the lists that a criterion's TABLES names, or that its WHERE names
// as a qualifier, as in sites_urls.URL.
func (t *tx) joined(object string, c wire.Criterion) ([]expr.Table, error) {
	wanted := map[string]bool{}
	for _, given := range strings.Split(c.Tables, ",") {
		name := strings.NewReplacer("`", "", `"`, "").Replace(strings.TrimSpace(given))
		if name == "" && strings.TrimSpace(given) != "" {
			name = given // quotes alone are no name
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, sqldb.Sites+"."), t.DB.Name(sqldb.Sites)+".")
		if name != "" && name != "sites" {
			wanted[name] = true
		}
	}
	var tables []expr.Table
	for _, l := range t.s.lists() {
		plain := strings.ReplaceAll(c.Where+" "+c.OrderBy, "`", "")
		if wanted[l.Name] || strings.Contains(plain, l.Name+".") {
			tables = append(tables, l)
		}
		delete(wanted, l.Name)
	}
	for name := range wanted {
		return nil, &wire.FieldError{Object: object, Field: "TABLES", Value: clip(name), Reason: errTable.Error()}
	}
	return tables, nil
}
