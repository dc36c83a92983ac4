package sqlstore

import (
	"context"
	"errors"
	"strconv"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// recrawlScope is what the properties of re-crawling may mean; their macros are
// the period in minutes.
func (t *tx) recrawlScope(site string, period int64) expr.Scope {
	s := t.urlScope(site)
	n := strconv.FormatInt(period, 10)
	for _, name := range []string{"RecrawlPeriod", "RECRAWL_PERIOD", "RECRAWLPERIOD"} {
		s.Macros[name] = n
	}
	return s
}

func (f *finishing) recrawlScope(period int64) expr.Scope { return f.tx.recrawlScope(f.site, period) }

// positive is the condition that an expression is above 0. The expression is
// checked alone first: it cannot reach beyond the parentheses around it.
func positive(scope expr.Scope, text string) (expr.SQL, error) {
	if value, err := scope.Value(text); err != nil || value.Text == "" {
		return expr.SQL{}, err
	}
	return scope.Where("(" + text + ") > 0")
}

// refusalOf is the part of an error that says what is wrong with an expression,
// without the field that it was for.
func refusalOf(err error) error {
	var refusal *expr.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}

// Conditions evaluates expressions over rows of a site, each above 0 or not
// (filters of operation 7, CONDITION of REPLACE). Blank ones are true. Without a
// row or a site, as in real time, what names no column has a value all the same,
// and the rest is false. An expression that is refused has the reason in its
// verdict.
func (s *Store) Conditions(ctx context.Context, site string, list []wire.Condition) ([]wire.Verdict, error) {
	var verdicts []wire.Verdict
	err := s.view(ctx, "Conditions", func(t *tx) error {
		verdicts = make([]wire.Verdict, len(list))
		stored, err := t.known(site)
		if err != nil {
			return err
		}
		for i, c := range list {
			holds, err := t.holds(stored, c)
			if err != nil && !refused(err) {
				return err
			}
			verdicts[i] = wire.Verdict{True: holds, Err: err}
		}
		return nil
	})
	return verdicts, err
}

// holds evaluates one; site is "" when it is unknown.
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
		s.add("SELECT CASE WHEN " + where.Text + " THEN 1 ELSE 0 END FROM " + t.table(sqldb.URLs, site) + as(site) + " WHERE Site_Id = ? AND URLMd5 = ?")
		s.args = append(append(s.args, where.Args...), site, c.URLMd5)
		holds, found, err := t.truth(site, s)
		if err != nil || found {
			return holds, err
		}
	}
	scope.Table = expr.Table{}
	if where, err = positive(scope, c.SQL); err != nil {
		return false, nil // it is about the row
	}
	var s statement
	s.add("SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END", where.Args...)
	holds, _, err := t.truth(name, s)
	return holds, err
}

// truth reads a number that is 0 or 1.
func (t *tx) truth(site string, s statement) (holds, found bool, err error) {
	err = t.Each(t.named(site, s.text.String()), s.args, func(scan func(...any) error) error {
		found = true
		return scan(&holds)
	})
	return holds, found, err
}

// URLTexts reads the URLs of keys; the map lacks those that are not there. That
// of an unknown site is empty.
func (s *Store) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	var texts map[string]string
	err := s.view(ctx, "URLTexts", func(t *tx) error {
		texts = make(map[string]string, len(md5s))
		stored, err := t.known(site)
		if err != nil || stored == "" {
			return err
		}
		return chunks(md5s, func(in string, args []any) error {
			return t.Each("SELECT URLMd5, URL FROM "+t.table(sqldb.URLs, stored)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{stored}, args...),
				func(scan func(...any) error) error {
					var md5, text string
					err := scan(&md5, &text)
					texts[md5] = text
					return err
				})
		})
	})
	return texts, err
}

// KnownURLs tells which keys have a row; a site that is unknown has none.
func (s *Store) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	var known map[string]bool
	err := s.view(ctx, "KnownURLs", func(t *tx) error {
		known = map[string]bool{}
		stored, err := t.known(site)
		if err != nil || stored == "" {
			return err
		}
		known, err = t.present(sqldb.URLs, stored, md5s)
		return err
	})
	return known, err
}
