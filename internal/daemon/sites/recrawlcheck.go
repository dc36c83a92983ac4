package sites

import (
	"errors"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
)

// SQL that an operator gives is checked before it is taken: by the same rules as
// where it is used, on the tables of the specification. db-task checks it again.

// CheckSitesWhere refuses what is no condition on sites; none at all is refused
// too.
func CheckSitesWhere(text string) error {
	return given(text, func() error {
		_, err := sitesScope().Where(text)
		return err
	})
}

// CheckSitesOrder refuses what is no order of sites.
func CheckSitesOrder(text string) error {
	_, err := sitesScope().OrderBy(text)
	return refusal(err)
}

// CheckRecrawlDate refuses what gives no date of a site; none at all is fine.
func CheckRecrawlDate(text string) error {
	_, err := sitesScope().Assign("RecrawlDate", text)
	return refusal(err)
}

// CheckURLsWhere refuses what is no condition on the URLs of a site; none at all
// is refused too, as it would mean all of them.
func CheckURLsWhere(text string) error {
	return given(text, func() error {
		s := scopeOf(checkedURLs)
		s.Macros = map[string]string{"SITE_ID": "0"}
		_, err := s.Where(text)
		return err
	})
}

func given(text string, check func() error) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is empty, must be a condition")
	}
	return refusal(check())
}

// refusal is err in the words of a variable's reason.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("cannot be followed: " + err.Error())
}

var (
	checkedSites = expr.Table{Database: "dc_sites", Name: "sites", Columns: kinds(wire.SiteColumns)}
	checkedURLs  = expr.Table{Database: "dc_urls", Name: "urls_0", Columns: kinds(wire.URLColumns)}
	checkedLists = []expr.Table{
		{Database: "dc_sites", Name: "sites_urls", Columns: kinds(wire.RootURLColumns)},
		{Database: "dc_sites", Name: "sites_properties", Columns: kinds(wire.PropertyColumns)},
		{Database: "dc_sites", Name: "sites_filters", Columns: kinds(wire.FilterColumns)},
	}
)

func sitesScope() expr.Scope { return scopeOf(checkedSites) }

// scopeOf is what a text on a table may mean; sub-selects may read the others.
func scopeOf(table expr.Table) expr.Scope {
	return expr.Scope{Table: table, Foreign: append([]expr.Table{checkedSites, checkedURLs}, checkedLists...)}
}

func kinds(columns []wire.Column) map[string]expr.Kind {
	m := make(map[string]expr.Kind, len(columns))
	for _, c := range columns {
		m[c.Name] = map[wire.Kind]expr.Kind{
			wire.KindInt: expr.Int, wire.KindFloat: expr.Float, wire.KindDate: expr.Time, wire.KindText: expr.Text,
		}[c.Kind]
	}
	return m
}
