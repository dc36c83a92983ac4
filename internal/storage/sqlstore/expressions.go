package sqlstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
)

// SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER (docs/spec/crawling.md 2.6 #43): expressions are asked
// for their values, which are then stored like any others, made to fit. Each sees
// the object as the crawl left it; all of them count.

// evaluateURLs sets columns of the pages' rows, which are counted by the caller.
func (f *finishing) evaluateURLs(pages []*wire.Fetched) error {
	keys, list := []string{}, []*wire.Fetched{}
	for _, page := range pages {
		if has(page.Expressions, wire.ObjectURL) {
			keys, list = append(keys, page.URLMd5), append(list, page)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := f.urls(f.site, keys)
	if err != nil {
		return err
	}
	g := f.urlsTarget("URL", f.site)
	for _, page := range list {
		row := rows[page.URLMd5]
		e := evaluation{finishing: f, of: g, fixed: fixedColumns, macros: macros(&row, wire.URLColumns),
			from: expr.SQL{Text: " FROM " + g.table + g.as + " WHERE Site_Id = ? AND URLMd5 = ?", Args: []any{f.site, page.URLMd5}}}
		set, err := e.values(page.Expressions, wire.ObjectURL)
		if err != nil {
			return err
		}
		if _, err := f.set(g, set, nil, "Site_Id = ? AND URLMd5 = ?", f.site, page.URLMd5); err != nil {
			return err
		}
	}
	return nil
}

// evaluateSite sets columns of the site's row, once for each page.
func (f *finishing) evaluateSite(pages []*wire.Fetched) error {
	for _, page := range pages {
		if !has(page.Expressions, wire.ObjectSite) {
			continue
		}
		site, err := f.tx.site(f.site, []string{listURLs, listProperties, listFilters})
		if err != nil || site == nil {
			return err
		}
		g := f.sitesTarget("Site")
		g.site = f.site
		g.scope = f.scope(f.s.sitesTable(), append(f.s.lists(), f.s.urlsTable(f.site))...)
		g.scope.Macros = map[string]string{"SITE_ID": f.site}
		e := evaluation{finishing: f, of: g, fixed: append([]string{"Id"}, countedColumns...), macros: macros(site, wire.SiteColumns),
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

func has(list []wire.FieldExpression, object string) bool {
	return slices.ContainsFunc(list, func(e wire.FieldExpression) bool { return e.Object == object })
}

// evaluation asks for the values of expressions over one row.
type evaluation struct {
	*finishing
	of     target
	fixed  []string // columns that expressions must not set
	macros *strings.Replacer
	from   expr.SQL // the row
}

// values are those of the expressions of an object. What is refused, or has no
// value, is left out and noted.
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
			e.say(wire.ExpressionsProperty, fmt.Sprintf("has an expression for %s of %s that cannot be followed: %s", clip(x.Column), x.Object, reason))
			continue
		}
		set[x.Column] = value
	}
	return set, nil
}

// value is what an expression gives, as its column holds it, or the reason why it
// cannot be stored.
func (e *evaluation) value(x wire.FieldExpression) (value any, reason string, err error) {
	at := slices.IndexFunc(e.of.columns, func(c wire.Column) bool { return c.Name == x.Column })
	if at < 0 || slices.Contains(e.fixed, x.Column) {
		return nil, "the column cannot be set", nil
	}
	column := e.of.columns[at]
	v, err := e.of.scope.Assign(x.Column, cast(e.macros.Replace(x.SQL), x.Cast, column.Kind))
	if err != nil {
		return nil, "", err
	}
	if v.Text == "" {
		return nil, "it is blank", nil
	}
	var raw any
	text := "SELECT " + v.Text + e.from.Text
	err = e.Each(e.named(e.site, text), append(slices.Clone(v.Args), e.from.Args...), func(scan func(...any) error) error { return scan(&raw) })
	if err != nil {
		return nil, "", err
	}
	switch value, ok := columnValue(raw, column.Kind); {
	case !ok:
		return nil, "its value is none for the column", nil
	case value == nil && (column.Kind != wire.KindDate || x.Column == "CDate"):
		return nil, "it gives no value", nil
	case x.Object == wire.ObjectURL && x.Column == "Status" && value != int64(wire.StatusUndefined) && !wire.FreeStatus(value.(int64)):
		return nil, fmt.Sprintf("only batches set status %v", value), nil
	default:
		return column.Fit(value), "", nil
	}
}

// cast converts an expression as its entry says, where its column would not do so
// by itself.
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

// columnValue is a value of the database as a Patch has it; ok is false when the
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

// macros put the values of a row, as SQL literals, in the place of %FIELD%, also
// where that stands in quotes.
func macros(row any, columns []wire.Column) *strings.Replacer {
	values := wire.PatchOf(row, columns)
	var inQuotes, bare []string
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
		inQuotes = append(inQuotes, "'"+name+"'", literal, `"`+name+`"`, literal)
		bare = append(bare, name, literal)
	}
	return strings.NewReplacer(append(inQuotes, bare...)...)
}
