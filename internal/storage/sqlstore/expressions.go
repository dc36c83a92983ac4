package sqlstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER (docs/spec/crawling.md 2.6 #43): the value of each
// expression is read, adapted to its column and stored. All expressions see the row as
// the crawl left it.

// evaluateURLs sets columns of the rows of pages. The caller updates the counters.
func (f *finishing) evaluateURLs(pages []*wire.Fetched) error {
	pages = withExpressions(pages, wire.ObjectURL)
	if len(pages) == 0 {
		return nil
	}
	rows, err := f.urls(f.site, mapped(pages, func(p *wire.Fetched) string { return p.URLMd5 }))
	if err != nil {
		return err
	}
	g := f.urlsTarget("URL", f.site)
	for _, page := range pages {
		row := rows[page.URLMd5]
		e := evaluation{finishing: f, target: g, fixed: fixedColumns, macros: macros(&row, wire.URLColumns),
			from: expr.SQL{Text: " FROM " + g.table + g.as + " WHERE Site_Id = ? AND URLMd5 = ?", Args: []any{f.site, page.URLMd5}}}
		set, err := e.values(page.Expressions, wire.ObjectURL)
		if err != nil {
			return err
		}
		if err := f.setRow(g, page.URLMd5, set); err != nil {
			return err
		}
	}
	return nil
}

// evaluateSite sets columns of the site's row, once for each page.
func (f *finishing) evaluateSite(pages []*wire.Fetched) error {
	for _, page := range withExpressions(pages, wire.ObjectSite) {
		site, err := f.tx.site(f.site, []string{listURLs, listProperties, listFilters})
		if err != nil || site == nil {
			return err
		}
		g := f.sitesTarget("Site")
		g.site = f.site
		g.scope = f.scope(sitesInfo.expr(""), append(lists(), siteTable(sqldb.URLs, f.site))...)
		g.scope.Macros = map[string]string{"SITE_ID": f.site}
		e := evaluation{finishing: f, target: g, fixed: append([]string{"Id"}, countedColumns...), macros: macros(site, wire.SiteColumns),
			from: expr.SQL{Text: " FROM " + g.table + " WHERE Id = ?", Args: []any{f.site}}}
		set, err := e.values(page.Expressions, wire.ObjectSite)
		if err != nil {
			return err
		}
		if _, err := f.set(g, set, nil, "Id = ?", f.site); err != nil {
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
	target target
	fixed  []string // columns that expressions cannot set
	macros *strings.Replacer
	from   expr.SQL // selects the row
}

// values returns the values of the expressions of an object. It records and skips an
// invalid expression and one without a value.
func (e *evaluation) values(list []wire.FieldExpression, object string) (wire.Patch, error) {
	set := wire.Patch{}
	for _, x := range list {
		if x.Object != object {
			continue
		}
		value, reason, err := e.value(x)
		if err != nil {
			if !refused(err) {
				return nil, err
			}
			reason = message(refusalOf(err))
		}
		if reason != "" {
			e.record(wire.ExpressionsProperty, fmt.Sprintf("has an expression for %s of %s that cannot be followed: %s", clip(x.Column), x.Object, reason))
			continue
		}
		set[x.Column] = value
	}
	return set, nil
}

// value returns the value of an expression in the type of its column, or the reason why
// it cannot be stored.
func (e *evaluation) value(x wire.FieldExpression) (value any, reason string, err error) {
	at := slices.IndexFunc(e.target.columns, func(c wire.Column) bool { return c.Name == x.Column })
	if at < 0 || slices.Contains(e.fixed, x.Column) {
		return nil, "the column cannot be set", nil
	}
	column := e.target.columns[at]
	v, err := e.target.scope.Assign(x.Column, cast(e.macros.Replace(x.SQL), x.Cast, column.Kind))
	if err != nil {
		return nil, "", err
	}
	if v.Text == "" {
		return nil, "it is blank", nil
	}
	var raw any
	text := "SELECT " + v.Text + e.from.Text
	err = e.Each(e.named(e.site, text), slices.Concat(v.Args, e.from.Args), func(scan func(...any) error) error { return scan(&raw) })
	if err != nil {
		return nil, "", err
	}
	switch value, ok := columnValue(raw, column.Kind); {
	case !ok:
		return nil, "its value does not fit the column", nil
	case value == nil && (column.Kind != wire.KindDate || x.Column == "CDate"):
		return nil, "it gives no value", nil
	case x.Object == wire.ObjectURL && x.Column == "Status" && value != int64(wire.StatusUndefined) && !wire.FreeStatus(value.(int64)):
		return nil, fmt.Sprintf("only batches set status %v", value), nil
	default:
		return column.Fit(value), "", nil
	}
}

// cast adds the conversion of an entry if the column does not convert by itself.
func cast(text string, to int, kind wire.Kind) string {
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case to == wire.CastInt && kind != wire.KindInt:
		return "CAST((" + text + ") AS SIGNED)"
	case to == wire.CastText && kind != wire.KindText:
		return "CAST((" + text + ") AS CHAR)"
	case to == wire.CastDate && kind != wire.KindDate:
		return "CAST((" + text + ") AS DATETIME)"
	}
	return text
}

// columnValue converts a database value to the type in a wire.Patch. Ok is false if the
// column cannot hold it.
func columnValue(raw any, kind wire.Kind) (value any, ok bool) {
	if b, is := raw.([]byte); is {
		raw = string(b)
	}
	if raw == nil {
		return nil, true
	}
	text := fmt.Sprint(raw)
	switch kind {
	case wire.KindInt:
		if n, is := raw.(int64); is {
			return n, true
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case wire.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	return text, true
}

// macros replaces %FIELD%, with or without quotes around it, by the value of the row as
// an SQL literal.
func macros(row any, columns []wire.Column) *strings.Replacer {
	values := wire.PatchOf(row, columns)
	var quoted, bare []string
	for _, c := range columns {
		literal := "NULL"
		switch x := values[c.Name].(type) {
		case string:
			literal = expr.Quoted(x)
		case int64:
			literal = "(" + strconv.FormatInt(x, 10) + ")"
		case float64:
			literal = "(" + strconv.FormatFloat(x, 'f', -1, 64) + ")"
		}
		name := "%" + strings.ToUpper(c.JSON) + "%"
		quoted = append(quoted, "'"+name+"'", literal, `"`+name+`"`, literal)
		bare = append(bare, name, literal)
	}
	return strings.NewReplacer(append(quoted, bare...)...)
}
