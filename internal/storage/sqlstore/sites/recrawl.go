package sites

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// RecrawlBegin locks sites for a recrawl: the named sites, or the first r.Max that match
// the criterion, if they are not locked (docs/spec/daemon.md 2.14, steps 1 and 2). It also
// increments the iteration and sets the next date, so that a site that stays locked after
// a kill is not due again. The list is not nil. An invalid criterion or date expression is
// an error, and no site is locked.
func (s *Store) RecrawlBegin(ctx context.Context, r wire.SiteRecrawlRequest) ([]wire.RecrawlSite, error) {
	return tables.RunForResult(ctx, s.run.Update, "RecrawlBegin", func(t *Tx) ([]wire.RecrawlSite, error) {
		sites := []wire.RecrawlSite{}
		if err := t.checkDate(r.DateExpression); err != nil {
			return nil, err
		}
		ids := r.Sites
		if len(ids) == 0 {
			c := wire.Criterion{Where: r.Criterion.Where, OrderBy: r.Criterion.OrderBy, Limit: strconv.FormatInt(r.Max, 10)}
			var err error
			if ids, err = t.SelectSites("SiteRecrawl.criterions", c, t.unlockedCondition(r.Except)); err != nil {
				return nil, err
			}
		}
		for _, id := range ids {
			id, err := t.StoredID(id)
			if err != nil {
				return nil, err
			}
			taken, err := t.Do("recrawl_lock", t.Now, t.Now, id)
			if err != nil {
				return nil, err
			}
			if taken == 0 { // deleted or locked in the meantime
				continue
			}
			if err := t.writeNextDate(id, r.DateExpression); err != nil {
				return nil, err
			}
			site, err := t.recrawlSite(id)
			if err != nil {
				return nil, err
			}
			sites = append(sites, site)
		}
		return sites, nil
	})
}

// RecrawlResume lists locked sites, sorted by id, at most r.Max and without r.Except. A
// new run uses it to continue the recrawls that the last run did not finish. Their dates
// and iterations are already set. The list is not nil.
func (s *Store) RecrawlResume(ctx context.Context, r wire.SiteRecrawlRequest) ([]wire.RecrawlSite, error) {
	return tables.RunForResult(ctx, s.run.Update, "RecrawlResume", func(t *Tx) ([]wire.RecrawlSite, error) {
		sites := []wire.RecrawlSite{}
		ids, err := tables.NamedColumn[string](t.tableTx, "recrawl_locked")
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if int64(len(sites)) >= r.Max {
				break
			}
			if slices.ContainsFunc(r.Except, func(other string) bool { return strings.EqualFold(id, other) }) {
				continue
			}
			stored, err := t.StoredID(id)
			if err != nil {
				return nil, err
			}
			if stored == "" {
				continue
			}
			site, err := t.recrawlSite(stored)
			if err != nil {
				return nil, err
			}
			sites = append(sites, site)
		}
		return sites, nil
	})
}

// RecrawlEnd unlocks a site and stores the tuned period and the date that follows from it
// (docs/spec/daemon.md F26). It keeps values that a client has changed in the meantime: a
// period other than p.From and a date that is not in p.Dates. It does not change State
// (docs/spec/DECISIONS.md 3.6). Known is false for a deleted site.
func (s *Store) RecrawlEnd(ctx context.Context, id, expression string, p *wire.RecrawlPeriod) (known bool, err error) {
	return tables.RunForResult(ctx, s.run.Update, "RecrawlEnd", func(t *Tx) (bool, error) {
		if err := t.checkDate(expression); err != nil {
			return false, err
		}
		site, err := t.StoredID(id)
		if err != nil || site == "" {
			return false, err
		}
		if p != nil && p.From != p.To {
			if err := t.tunePeriod(site, expression, p); err != nil {
				return true, err
			}
		}
		_, err = t.Do("recrawl_unlock", t.Now, site)
		return true, err
	})
}

func (t *Tx) tunePeriod(site, expression string, p *wire.RecrawlPeriod) error {
	before, err := t.recrawlRow(site)
	if err != nil {
		return err
	}
	changed, err := t.Do("recrawl_period", p.To, site, p.From)
	if err != nil || changed == 0 || !slices.Contains(p.Dates, before.Next) {
		return err
	}
	return t.writeNextDate(site, expression)
}

// RecrawlOptimize maintains the database after a recrawl. MySQL renews the statistics of
// the site's URL table; an OPTIMIZE would rebuild an InnoDB table and costs more than it
// saves. SQLite decides by itself which tables need new statistics. Known is false for a
// deleted site.
func (s *Store) RecrawlOptimize(ctx context.Context, id string) (known bool, err error) {
	site, err := tables.RunForResult(ctx, s.run.Read, "RecrawlOptimize", func(t *Tx) (string, error) { return t.StoredID(id) })
	if err != nil || site == "" {
		return false, err
	}
	return true, s.run.Update(ctx, "RecrawlOptimize", func(t *Tx) error {
		text := "PRAGMA optimize"
		if t.DB.Dialect() == expr.MySQL {
			text = "ANALYZE TABLE " + t.SiteTable(sqldb.URLs, site) // it commits the transaction, which is empty
		}
		return t.Each(text, nil, func(func(...any) error) error { return nil })
	})
}

// unlockedCondition is the condition of sites that are not locked and not in except.
func (t *Tx) unlockedCondition(except []string) expr.SQL {
	sites := t.SitesTable()
	free := expr.SQL{Text: "(" + sites + ".RecrawlLock = 0)"}
	if len(except) > 0 {
		free.Text += " AND (" + sites + ".Id NOT IN (" + tables.Placeholders(len(except)) + "))"
		free.Args = tables.MapSlice(except, func(id string) any { return id })
	}
	return free
}

// checkDate checks the expression of the next date, which may be blank.
func (t *Tx) checkDate(expression string) error {
	if _, err := t.SiteScope().Assign("RecrawlDate", expression); err != nil {
		return &lenient.FieldError{Object: "SiteRecrawl", Field: "dateExpression", Value: tables.ClipText(expression), Reason: err.Error()}
	}
	return nil
}

// writeNextDate sets the next date of a site by a checked expression. Without a period or an expression the date
// is NULL. A date of the expression must be in the future, or the site would be recrawled
// without a pause; otherwise the period from now is used.
func (t *Tx) writeNextDate(id, expression string) error {
	row, err := t.recrawlRow(id)
	if err != nil {
		return err
	}
	set := func(date any) error {
		_, err := t.UpdateRows(t.SitesTarget("SiteRecrawl"), schema.Patch{"RecrawlDate": date}, nil, "Id = ?", id)
		return err
	}
	if strings.TrimSpace(expression) == "" || row.Period == 0 {
		return set(nil)
	}
	reason := "is not in the future"
	err = t.Try(func() error { return set(schema.Expr(expression)) })
	switch {
	case err != nil && !tables.IsRefusal(err):
		return err
	case err != nil:
		reason = tables.ClientMessage(err)
	default:
		if row, err = t.recrawlRow(id); err != nil || row.Next == "" || row.Next > schema.Date(t.Now) {
			return err
		}
	}
	next := schema.DateOf(t.Time.Add(time.Duration(row.Period) * time.Minute))
	t.Options.Log.Warn("invalid date expression; using the recrawl period from now", "site", id, "expression", tables.ClipText(expression), "reason", reason)
	return set(string(next))
}

// recrawlRow reads the recrawl columns of a site.
func (t *Tx) recrawlRow(id string) (wire.RecrawlSite, error) {
	site := wire.RecrawlSite{ID: id}
	_, err := t.Get("recrawl_site", []any{id}, &site.Period, &site.Next, &site.Since, &site.NewURLs, &site.Resources)
	return site, err
}

// recrawlSite reads a site with its recrawl rules. It skips invalid properties and reports
// them in the log, in the answer and by bit ErrInitialization of the site's mask.
func (t *Tx) recrawlSite(id string) (wire.RecrawlSite, error) {
	site, err := t.recrawlRow(id)
	if err != nil {
		return site, err
	}
	rules, errs := wire.ReadRecrawlRules(func(name string) (string, bool) {
		value, found, e := t.ReadProperty(id, name)
		if e != nil {
			err = e
		}
		return value, found
	})
	if err != nil {
		return site, err
	}
	for _, e := range errs {
		site.Refused = append(site.Refused, e.Error())
	}
	for name, where := range map[string]*string{wire.RecrawlWhereProperty: &rules.Where, wire.RecrawlDeleteWhereProperty: &rules.DeleteWhere} {
		_, err := t.URLClauses("property "+name, id, t.URLScope(id), wire.Criterion{Where: *where})
		switch {
		case err == nil:
			continue
		case !tables.IsRefusal(err):
			return site, err
		}
		site.Refused = append(site.Refused, tables.ClientMessage(err))
		*where = ""
		if name == wire.RecrawlDeleteWhereProperty {
			rules.Delete = new(bool) // without its condition the property could delete too much
		}
	}
	site.Rules = rules
	if len(site.Refused) == 0 {
		return site, nil
	}
	slices.Sort(site.Refused)
	for _, text := range site.Refused {
		t.Options.Log.Warn("invalid recrawl property; using the default", "site", id, "error", text)
	}
	_, err = t.Do("recrawl_refused", int64(errormask.Initialization), int64(errormask.Initialization), id)
	return site, err
}
