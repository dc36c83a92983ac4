package sqlstore

import (
	"context"
	"errors"
	"strconv"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// recrawlScope is the scope of the recrawl properties of a site. Their macros are the
// period in minutes.
func (t *tx) recrawlScope(site string, period int64) expr.Scope {
	s := t.urlScope(site)
	for _, name := range []string{"RecrawlPeriod", "RECRAWL_PERIOD", "RECRAWLPERIOD"} {
		s.Macros[name] = strconv.FormatInt(period, 10)
	}
	return s
}

// positive is the condition that an expression is above 0. The expression is first
// checked alone, so that it cannot close the parentheses around it.
func positive(scope expr.Scope, text string) (expr.SQL, error) {
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

// Conditions evaluates expressions on rows of a site (filters of operation 7, CONDITION
// of REPLACE). A verdict is true if the value is above 0 or the expression is blank. For
// a missing row or site, as in real time, an expression without columns has its value and
// any other is false. The verdict of an invalid expression has the error.
func (s *Store) Conditions(ctx context.Context, site string, list []wire.Condition) ([]wire.Verdict, error) {
	return result(ctx, s.view, "Conditions", func(t *tx) ([]wire.Verdict, error) {
		stored, err := t.storedID(site)
		if err != nil {
			return nil, err
		}
		verdicts := make([]wire.Verdict, len(list))
		for i, c := range list {
			holds, err := t.holds(stored, c)
			if err != nil && !refused(err) {
				return nil, err
			}
			verdicts[i] = wire.Verdict{True: holds, Err: err}
		}
		return verdicts, nil
	})
}

// holds evaluates one condition; site is "" for an unknown site.
func (t *tx) holds(site string, c wire.Condition) (bool, error) {
	name := site
	if site == "" {
		name = wire.GeneralSite
	}
	scope := t.urlScope(name)
	where, err := positive(scope, c.SQL)
	if err != nil || where.Text == "" {
		return err == nil, err
	}
	if site != "" {
		var s statement
		s.add("SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END FROM "+t.table(sqldb.URLs, site)+aliasURLs(site)+" WHERE Site_Id = ? AND URLMd5 = ?", where.Args...)
		s.add("", site, c.URLMd5)
		found, err := column[bool](t, t.named(site, s.text.String()), s.args...)
		if err != nil || len(found) > 0 {
			return len(found) > 0 && found[0], err
		}
	}
	scope.Table = expr.Table{}
	if where, err = positive(scope, c.SQL); err != nil {
		return false, nil // it reads columns of the missing row
	}
	value, err := column[bool](t, t.named(name, "SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END"), where.Args...)
	return len(value) > 0 && value[0], err
}

// ofStored returns what read reads of a site. The map of an unknown site is empty.
func ofStored[V any](ctx context.Context, s *Store, op, id string, read func(t *tx, site string) (map[string]V, error)) (map[string]V, error) {
	return result(ctx, s.view, op, func(t *tx) (map[string]V, error) {
		site, err := t.storedID(id)
		if err != nil || site == "" {
			return map[string]V{}, err
		}
		return read(t, site)
	})
}

// Rows reads rows of a site by key. Missing keys are not in the map.
func (s *Store) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	return ofStored(ctx, s, "Rows", site, func(t *tx, site string) (map[string]wire.URL, error) { return t.urls(site, md5s) })
}

// URLTexts reads the URL texts of keys. Missing keys are not in the map.
func (s *Store) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	return ofStored(ctx, s, "URLTexts", site, func(t *tx, site string) (map[string]string, error) {
		texts := make(map[string]string, len(md5s))
		return texts, eachIn(t, md5s, "SELECT URLMd5, URL FROM "+t.table(sqldb.URLs, site)+ofKeys, []any{site}, func(scan func(...any) error) error {
			var md5, text string
			err := scan(&md5, &text)
			texts[md5] = text
			return err
		})
	})
}

// KnownURLs returns the keys that have a row in a site.
func (s *Store) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return ofStored(ctx, s, "KnownURLs", site, func(t *tx, site string) (map[string]bool, error) { return t.present(sqldb.URLs, site, md5s) })
}
