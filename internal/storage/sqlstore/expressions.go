package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
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
	rows, err := f.readURLs(f.site, mapSlice(pages, func(p *wire.Fetched) string { return p.URLMd5 }))
	if err != nil {
		return err
	}
	g := f.urlsTarget("URL", f.site)
	for _, page := range pages {
		row := rows[page.URLMd5]
		e := evaluation{finishing: f, target: g, fixed: fixedColumns, macros: wire.FieldMacros(&row, wire.URLColumns),
			from: expr.SQL{Text: " FROM " + g.table + g.as + " WHERE Site_Id = ? AND URLMd5 = ?", Args: []any{f.site, page.URLMd5}}}
		set, err := e.evaluateAll(page.Expressions, wire.ObjectURL)
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
		site, err := f.tx.readSite(f.site, []string{listURLs, listProperties, listFilters})
		if err != nil || site == nil {
			return err
		}
		g := f.sitesTarget("Site")
		g.site = f.site
		g.scope = f.exprScope(sitesInfo.exprTable(""), append(listTables(), siteTable(sqldb.URLs, f.site))...)
		g.scope.Macros = map[string]string{"SITE_ID": f.site}
		e := evaluation{finishing: f, target: g, fixed: append([]string{"Id"}, countedColumns...), macros: wire.FieldMacros(site, wire.SiteColumns),
			from: expr.SQL{Text: " FROM " + g.table + " WHERE Id = ?", Args: []any{f.site}}}
		set, err := e.evaluateAll(page.Expressions, wire.ObjectSite)
		if err != nil {
			return err
		}
		if _, err := f.updateRows(g, set, nil, "Id = ?", f.site); err != nil {
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

// evaluateAll returns the values of the expressions of an object. It records and skips an
// invalid expression and one without a value.
func (e *evaluation) evaluateAll(list []wire.FieldExpression, object string) (wire.Patch, error) {
	set := wire.Patch{}
	for _, x := range list {
		if x.Object != object {
			continue
		}
		value, reason, err := e.evaluateOne(x)
		if err != nil {
			if !isRefusal(err) {
				return nil, err
			}
			reason = clientMessage(refusalOf(err))
		}
		if reason != "" {
			e.recordRefusal(e.expressions, fmt.Sprintf("has an expression for %s of %s that cannot be followed: %s", clipText(x.Column), x.Object, reason))
			continue
		}
		set[x.Column] = value
	}
	return set, nil
}

// evaluateOne returns the value of an expression in the type of its column, or the reason why
// it cannot be stored.
func (e *evaluation) evaluateOne(x wire.FieldExpression) (value any, reason string, err error) {
	at := slices.IndexFunc(e.target.columns, func(c wire.Column) bool { return c.Name == x.Column })
	if at < 0 || slices.Contains(e.fixed, x.Column) {
		return nil, "the column cannot be set", nil
	}
	column := e.target.columns[at]
	v, err := e.target.scope.Assign(x.Column, castEntry(e.macros.Replace(x.SQL), x.Cast, column.Kind))
	if err != nil {
		return nil, "", err
	}
	if v.Text == "" {
		return nil, "it is blank", nil
	}
	var raw any
	text := "SELECT " + v.Text + e.from.Text
	err = e.Each(e.withNamedTables(e.site, text), slices.Concat(v.Args, e.from.Args), func(scan func(...any) error) error { return scan(&raw) })
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

// castEntry adds the conversion of an entry if the column does not convert by itself.
func castEntry(text string, to int, kind wire.Kind) string {
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
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(text, 64) // a DECIMAL of MySQL
		return int64(math.Round(f)), err == nil && math.Abs(f) < math.MaxInt64
	case wire.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	return text, true
}

// recrawlScope is the scope of the recrawl properties of a site. Their macros are the
// period in minutes.
func (t *tx) recrawlScope(site string, period int64) expr.Scope {
	s := t.urlScope(site)
	for _, name := range []string{"RecrawlPeriod", "RECRAWL_PERIOD", "RECRAWLPERIOD"} {
		s.Macros[name] = strconv.FormatInt(period, 10)
	}
	return s
}

// positiveCondition is the condition that an expression is above 0. The expression is first
// checked alone, so that it cannot close the parentheses around it.
func positiveCondition(scope expr.Scope, text string) (expr.SQL, error) {
	if value, err := scope.Value(text); err != nil || value.Text == "" {
		return expr.SQL{}, err
	}
	return scope.Where("(" + text + ") > 0")
}

// refusalOf returns the *expr.Error in err, without the field name around it, or err.
func refusalOf(err error) error {
	var refusal *expr.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}

// Condition evaluates an expression, with its macros replaced, on one row of a site
// (filters of operation 7, CONDITION of REPLACE). The verdict is true if the value is
// above 0 or the expression is blank. For a missing row or site, as in real time, an
// expression without columns has its value and any other is false. The verdict of an
// invalid expression has the error.
func (s *Store) Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error) {
	return runForResult(ctx, s.runReadTx, "Condition", func(t *tx) (wire.Verdict, error) {
		stored, err := t.storedID(site)
		if err != nil {
			return wire.Verdict{}, err
		}
		holds, err := t.evaluateCondition(stored, md5, expression)
		if err != nil && !isRefusal(err) {
			return wire.Verdict{}, err
		}
		return wire.Verdict{True: holds, Err: err}, nil
	})
}

// evaluateCondition evaluates one condition; site is "" for an unknown site.
func (t *tx) evaluateCondition(site, md5, expression string) (bool, error) {
	name := site
	if site == "" {
		name = wire.GeneralSite
	}
	scope := t.urlScope(name)
	where, err := positiveCondition(scope, expression)
	if err != nil || where.Text == "" {
		return err == nil, err
	}
	if site != "" {
		var s statement
		s.appendText("SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END FROM "+t.siteTable(sqldb.URLs, site)+aliasURLs(site)+" WHERE Site_Id = ? AND URLMd5 = ?", where.Args...)
		s.appendText("", site, md5)
		found, err := readColumn[bool](t, t.withNamedTables(site, s.text.String()), s.args...)
		if err != nil || len(found) > 0 {
			return len(found) > 0 && found[0], err
		}
	}
	scope.Table = expr.Table{}
	if where, err = positiveCondition(scope, expression); err != nil {
		return false, nil // it reads columns of the missing row
	}
	value, err := readColumn[bool](t, t.withNamedTables(name, "SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END"), where.Args...)
	return len(value) > 0 && value[0], err
}

// siteFinder is a transaction that finds sites.
type siteFinder interface {
	storedID(id string) (string, error)
}

// ofStored returns what read reads of a site. The map of an unknown site is empty.
func ofStored[X siteFinder, V any](ctx context.Context, run transact[X], op, id string, read func(t X, site string) (map[string]V, error)) (map[string]V, error) {
	return runForResult(ctx, run, op, func(t X) (map[string]V, error) {
		site, err := t.storedID(id)
		if err != nil || site == "" {
			return map[string]V{}, err
		}
		return read(t, site)
	})
}

// Rows reads rows of a site by key. Missing keys are not in the map.
func (s *Store) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	return ofStored(ctx, s.runReadTx, "Rows", site, func(t *tx, site string) (map[string]wire.URL, error) { return t.readURLs(site, md5s) })
}

// URLTexts reads the URL texts of keys. Missing keys are not in the map.
func (s *Store) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	return ofStored(ctx, s.runReadTx, "URLTexts", site, func(t *tx, site string) (map[string]string, error) {
		texts := make(map[string]string, len(md5s))
		return texts, eachIn(t, md5s, "SELECT URLMd5, URL FROM "+t.siteTable(sqldb.URLs, site)+ofKeys, []any{site}, scanPair(func(md5, text string) { texts[md5] = text }))
	})
}

// KnownURLs returns the keys that have a row in a site.
func (s *Store) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return ofStored(ctx, s.runReadTx, "KnownURLs", site, func(t *tx, site string) (map[string]bool, error) { return t.keysWithRow(sqldb.URLs, site, md5s) })
}
