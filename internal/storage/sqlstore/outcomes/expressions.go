package outcomes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER and _PROCESSOR (docs/spec/crawling.md 2.6 #43,
// docs/spec/processing.md 1.6): the value of each expression is read, adapted to its column and
// stored. All expressions see the row as the batch left it.

// evaluateURLs sets columns of the rows of pages. The caller updates the counters.
func (f *finishing) evaluateURLs(pages []*wire.Fetched) error {
	pages = withExpressions(pages, wire.ObjectURL)
	if len(pages) == 0 {
		return nil
	}
	rows, err := f.ReadURLs(f.site, tables.MapSlice(pages, func(p *wire.Fetched) string { return p.URLMd5 }))
	if err != nil {
		return err
	}
	g := f.URLsTarget("URL", f.site)
	for _, page := range pages {
		row := rows[page.URLMd5]
		e := evaluation{finishing: f, target: g, fixed: fixedColumns, macros: wire.FieldMacros(&row, wire.URLColumns),
			from: expr.SQL{Text: " FROM " + g.Table + g.As + " WHERE Site_Id = ? AND URLMd5 = ?", Args: []any{f.site, page.URLMd5}}}
		set, err := e.evaluateAll(page.Expressions, wire.ObjectURL)
		if err != nil {
			return err
		}
		if err := f.SetRow(g, page.URLMd5, set); err != nil {
			return err
		}
	}
	return nil
}

// evaluateSite sets columns of the site's row, once for each page.
func (f *finishing) evaluateSite(pages []*wire.Fetched) error {
	for _, page := range withExpressions(pages, wire.ObjectSite) {
		site, err := f.tx.ReadSite(f.site, []string{sites.ListURLs, sites.ListProperties, sites.ListFilters})
		if err != nil || site == nil {
			return err
		}
		g := f.SitesTarget("Site")
		g.Site = f.site
		g.Scope = f.ExprScope(tables.SitesInfo.ExprTable(""), append(tables.ListTables(), tables.SiteTable(sqldb.URLs, f.site))...)
		g.Scope.Macros = map[string]string{"SITE_ID": f.site}
		e := evaluation{finishing: f, target: g, fixed: append([]string{"Id"}, counters.CountedColumns...), macros: wire.FieldMacros(site, wire.SiteColumns),
			from: expr.SQL{Text: " FROM " + g.Table + " WHERE Id = ?", Args: []any{f.site}}}
		set, err := e.evaluateAll(page.Expressions, wire.ObjectSite)
		if err != nil {
			return err
		}
		if _, err := f.UpdateRows(g, set, nil, "Id = ?", f.site); err != nil {
			return err
		}
	}
	return nil
}

// withExpressions returns the pages with expressions for an object.
func withExpressions(pages []*wire.Fetched, object string) (list []*wire.Fetched) {
	for _, page := range pages {
		if slices.ContainsFunc(page.Expressions, func(e wire.FieldExpression) bool { return e.Object == object }) {
			list = append(list, page)
		}
	}
	return list
}

// evaluation reads the values of expressions on one row.
type evaluation struct {
	*finishing
	target tables.Target
	fixed  []string // columns that expressions cannot set
	macros *strings.Replacer
	from   expr.SQL // selects the row
}

// evaluateAll returns the values of the expressions of an object. It records and skips an
// invalid expression and one without a value.
func (e *evaluation) evaluateAll(list []wire.FieldExpression, object string) (schema.Patch, error) {
	set := schema.Patch{}
	for _, x := range list {
		if x.Object != object {
			continue
		}
		value, reason, err := e.evaluateOne(x)
		if err != nil {
			if !tables.IsRefusal(err) {
				return nil, err
			}
			reason = tables.ClientMessage(refusalOf(err))
		}
		if reason != "" {
			e.recordRefusal(e.expressions, fmt.Sprintf("has an expression for %s of %s that cannot be followed: %s", tables.ClipText(x.Column), x.Object, reason))
			continue
		}
		set[x.Column] = value
	}
	return set, nil
}

// evaluateOne returns the value of an expression in the type of its column, or the reason why
// it cannot be stored.
func (e *evaluation) evaluateOne(x wire.FieldExpression) (value any, reason string, err error) {
	at := slices.IndexFunc(e.target.Columns, func(c schema.Column) bool { return c.Name == x.Column })
	if at < 0 || slices.Contains(e.fixed, x.Column) {
		return nil, "the column cannot be set", nil
	}
	column := e.target.Columns[at]
	v, err := e.target.Scope.Assign(x.Column, castEntry(e.macros.Replace(x.SQL), x.Cast, column.Kind))
	if err != nil {
		return nil, "", err
	}
	if v.Text == "" {
		return nil, "it is blank", nil
	}
	var raw any
	text := "SELECT " + v.Text + e.from.Text
	err = e.Each(e.WithNamedTables(e.site, text), slices.Concat(v.Args, e.from.Args), func(scan func(...any) error) error { return scan(&raw) })
	if err != nil {
		return nil, "", err
	}
	switch value, ok := tables.ColumnValue(raw, column.Kind); {
	case !ok:
		return nil, "its value does not fit the column", nil
	case value == nil && (column.Kind != schema.KindDate || x.Column == "CDate"):
		return nil, "it gives no value", nil
	case x.Object == wire.ObjectURL && x.Column == "Status" && value != int64(wire.StatusUndefined) && !wire.FreeStatus(value.(int64)):
		return nil, fmt.Sprintf("only batches set status %v", value), nil
	default:
		return column.Fit(value), "", nil
	}
}

// castEntry adds the conversion of an entry if the column does not convert by itself.
func castEntry(text string, to int, kind schema.Kind) string {
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case to == wire.CastInt && kind != schema.KindInt:
		return "CAST((" + text + ") AS SIGNED)"
	case to == wire.CastText && kind != schema.KindText:
		return "CAST((" + text + ") AS CHAR)"
	case to == wire.CastDate && kind != schema.KindDate:
		return "CAST((" + text + ") AS DATETIME)"
	}
	return text
}

// recrawlScope is the scope of the recrawl properties of a site. Their macros are the
// period in minutes.
func (t *tx) recrawlScope(site string, period int64) expr.Scope {
	s := t.URLScope(site)
	for _, name := range []string{"RecrawlPeriod", "RECRAWL_PERIOD", "RECRAWLPERIOD"} {
		s.Macros[name] = strconv.FormatInt(period, 10)
	}
	return s
}

// refusalOf returns the *expr.Error in err, without the field name around it, or err.
func refusalOf(err error) error {
	var refusal *expr.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}
