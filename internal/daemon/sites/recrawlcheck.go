package sites

import (
	"errors"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Operators' SQL is checked when it is set, with the same rules as where it is used. db-task
// checks it again.

// CheckSitesWhere refuses an empty or invalid condition on sites.
func CheckSitesWhere(text string) error {
	return checkCondition(text, func() error {
		_, err := sitesScope().Where(text)
		return err
	})
}

// CheckSitesOrder refuses an invalid order of sites. An empty order is valid.
func CheckSitesOrder(text string) error {
	_, err := sitesScope().OrderBy(text)
	return formatRefusal(err)
}

// CheckRecrawlDate refuses an invalid date expression of a site. An empty one is valid.
func CheckRecrawlDate(text string) error {
	_, err := sitesScope().Assign("RecrawlDate", text)
	return formatRefusal(err)
}

// CheckURLsWhere refuses an empty or invalid condition on the URLs of a site. An empty one
// would mean all URLs.
func CheckURLsWhere(text string) error {
	return checkCondition(text, func() error {
		s := scopeOf(checkedURLs)
		s.Macros = map[string]string{"SITE_ID": "0"}
		_, err := s.Where(text)
		return err
	})
}

func checkCondition(text string, check func() error) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is empty, must be a condition")
	}
	return formatRefusal(check())
}

// formatRefusal formats err as the reason of a variable.
func formatRefusal(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("cannot be followed: " + err.Error())
}

var (
	checkedSites = expr.Table{Database: "dc_sites", Name: "sites", Columns: columnKinds(wire.SiteColumns)}
	checkedURLs  = expr.Table{Database: "dc_urls", Name: "urls_0", Columns: columnKinds(wire.URLColumns)}
	checkedLists = []expr.Table{
		{Database: "dc_sites", Name: "sites_urls", Columns: columnKinds(wire.RootURLColumns)},
		{Database: "dc_sites", Name: "sites_properties", Columns: columnKinds(wire.PropertyColumns)},
		{Database: "dc_sites", Name: "sites_filters", Columns: columnKinds(wire.FilterColumns)},
	}
)

func sitesScope() expr.Scope { return scopeOf(checkedSites) }

// scopeOf returns the scope of expressions on a table; sub-selects may read the other tables.
func scopeOf(table expr.Table) expr.Scope {
	return expr.Scope{Table: table, Foreign: append([]expr.Table{checkedSites, checkedURLs}, checkedLists...)}
}

func columnKinds(columns []schema.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		m[c.Name] = map[schema.Kind]expr.Kind{
			schema.KindInt: expr.Int, schema.KindFloat: expr.Float, schema.KindDate: expr.Time, schema.KindText: expr.Text,
		}[c.Kind]
	}
	return m
}
