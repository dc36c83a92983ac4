package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// RecrawlBegin locks sites for a recrawl: those that are named, or the first
// r.Max that the criterion selects, and that nobody has locked (docs/spec/daemon.md 2.14,
// steps 1 and 2). In the same transaction each gets one iteration more and its
// next date: a kill later leaves a locked site that is not due again. The list is
// empty, not nil, when nothing is due. A criterion or a date that is refused is an
// error that names its clause, and nothing is locked.
func (s *Store) RecrawlBegin(ctx context.Context, r wire.SiteRecrawlRequest) ([]wire.RecrawlSite, error) {
	var sites []wire.RecrawlSite
	err := s.update(ctx, "RecrawlBegin", func(t *tx) error {
		sites = []wire.RecrawlSite{}
		if _, err := t.nextDate(r.DateExpression); err != nil {
			return err
		}
		ids := r.Sites
		if len(ids) == 0 {
			c := wire.Criterion{Where: r.Criterion.Where, OrderBy: r.Criterion.OrderBy, Limit: strconv.FormatInt(r.Max, 10)}
			var err error
			if ids, err = t.selectSites("SiteRecrawl.criterions", c, t.unlocked(r.Except)); err != nil {
				return err
			}
		}
		for _, id := range ids {
			id, err := t.known(id)
			if err != nil {
				return err
			}
			taken, err := t.Do("recrawl_lock", t.now, t.now, id)
			if err != nil {
				return err
			}
			if taken == 0 { // deleted, or somebody was quicker
				continue
			}
			if err := t.writeNextDate(id, r.DateExpression); err != nil {
				return err
			}
			site, err := t.recrawlSite(id)
			if err != nil {
				return err
			}
			sites = append(sites, site)
		}
		return nil
	})
	return sites, err
}

// RecrawlResume lists sites that are locked, at most r.Max and none of r.Except,
// in the order of their ids: who begins a run goes on with what the last one left
// in the middle. Their dates and iterations are written already.
func (s *Store) RecrawlResume(ctx context.Context, r wire.SiteRecrawlRequest) ([]wire.RecrawlSite, error) {
	var sites []wire.RecrawlSite
	err := s.update(ctx, "RecrawlResume", func(t *tx) error {
		sites = []wire.RecrawlSite{}
		ids, err := t.texts("recrawl_locked")
		if err != nil {
			return err
		}
		for _, id := range ids {
			if int64(len(sites)) >= r.Max {
				return nil
			}
			if slices.ContainsFunc(r.Except, func(other string) bool { return strings.EqualFold(id, other) }) {
				continue
			}
			stored, err := t.known(id)
			if err != nil {
				return err
			}
			if stored == "" {
				continue
			}
			site, err := t.recrawlSite(stored)
			if err != nil {
				return err
			}
			sites = append(sites, site)
		}
		return nil
	})
	return sites, err
}

// RecrawlEnd unlocks a site and writes the period that was tuned, with the date
// that follows from it (docs/spec/daemon.md F26). What a client gave the site meanwhile stays:
// a period that is not p.From any more, a date that is none of p.Dates. Its State
// is not touched (docs/spec/DECISIONS.md 3.6). Known is false for a site that is gone.
func (s *Store) RecrawlEnd(ctx context.Context, id, expression string, p *wire.RecrawlPeriod) (known bool, err error) {
	err = s.update(ctx, "RecrawlEnd", func(t *tx) error {
		known = false
		if _, err := t.nextDate(expression); err != nil {
			return err
		}
		site, err := t.known(id)
		if err != nil || site == "" {
			return err
		}
		known = true
		if p != nil && p.From != p.To {
			if err := t.tunePeriod(site, expression, p); err != nil {
				return err
			}
		}
		_, err = t.Do("recrawl_unlock", t.now, site)
		return err
	})
	return known, err
}

func (t *tx) tunePeriod(site, expression string, p *wire.RecrawlPeriod) error {
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

// RecrawlOptimize has the database look after the table of a site's URLs, by what
// each one needs: MySQL gets fresh statistics of the site's own table (a rebuild of
// an InnoDB table, as OPTIMIZE does it, costs more than the deleted rows of one
// round); SQLite, where the rows of all sites stand in one table, looks for itself
// what has changed enough since it looked last. Known is false for a site that is
// gone.
func (s *Store) RecrawlOptimize(ctx context.Context, id string) (known bool, err error) {
	var site string
	err = s.view(ctx, "RecrawlOptimize", func(t *tx) (err error) {
		site, err = t.known(id)
		return err
	})
	if err != nil || site == "" {
		return false, err
	}
	return true, s.update(ctx, "RecrawlOptimize", func(t *tx) error {
		text := "PRAGMA optimize"
		if t.DB.Dialect() == expr.MySQL {
			text = "ANALYZE TABLE " + t.table(sqldb.URLs, site) // which ends the transaction; there is nothing in it
		}
		return t.Each(text, nil, func(func(...any) error) error { return nil })
	})
}

// unlocked is the condition of sites that nobody recrawls, but some.
func (t *tx) unlocked(except []string) expr.SQL {
	sites := t.DB.Table(sqldb.Sites, "sites")
	free := expr.SQL{Text: "(" + sites + ".RecrawlLock = 0)"}
	if len(except) > 0 {
		free.Text += " AND (" + sites + ".Id NOT IN (" + holes(len(except)) + "))"
		for _, id := range except {
			free.Args = append(free.Args, id)
		}
	}
	return free
}

// nextDate is what sets the next date of a site, "" when it gets none.
func (t *tx) nextDate(expression string) (wire.Expr, error) {
	if strings.TrimSpace(expression) == "" {
		return "", nil
	}
	if _, err := t.siteScope().Assign("RecrawlDate", expression); err != nil {
		return "", &wire.FieldError{Object: "SiteRecrawl", Field: "dateExpression", Value: clip(expression), Reason: err.Error()}
	}
	return wire.Expr(expression), nil
}

// writeNextDate writes when a site is due again: never without a period or an
// expression. What the expression gives for this site must lie ahead, lest the
// site is recrawled without a pause; if it does not, the period takes its place.
func (t *tx) writeNextDate(id, expression string) error {
	e, err := t.nextDate(expression)
	if err != nil {
		return err
	}
	row, err := t.recrawlRow(id)
	if err != nil {
		return err
	}
	set := wire.Patch{"RecrawlDate": nil}
	if e == "" || row.Period == 0 {
		_, err := t.set(t.sitesTarget("SiteRecrawl"), set, nil, "Id = ?", id)
		return err
	}
	reason := "is not ahead"
	err = t.Try(func() error {
		set["RecrawlDate"] = e
		_, err := t.set(t.sitesTarget("SiteRecrawl"), set, nil, "Id = ?", id)
		return err
	})
	switch {
	case err != nil && !refused(err):
		return err
	case err != nil:
		reason = message(err)
	default:
		if row, err = t.recrawlRow(id); err != nil || row.Next == "" || row.Next > wire.Date(t.now) {
			return err
		}
	}
	next := wire.DateOf(t.time.Add(time.Duration(row.Period) * time.Minute))
	t.s.o.Log.Warn("the next date of a site is its period from now", "site", id, "expression", clip(expression), "reason", reason)
	set["RecrawlDate"] = string(next)
	_, err = t.set(t.sitesTarget("SiteRecrawl"), set, nil, "Id = ?", id)
	return err
}

// recrawlRow reads a site's row, as far as a recrawl needs it.
func (t *tx) recrawlRow(id string) (wire.RecrawlSite, error) {
	site := wire.RecrawlSite{ID: id}
	var next, since *string
	_, err := t.Get("recrawl_site", []any{id}, &site.Period, &next, &since, &site.NewURLs, &site.Resources)
	if next != nil {
		site.Next = wire.Date(*next)
	}
	if since != nil {
		site.Since = wire.Date(*since)
	}
	return site, err
}

// recrawlSite reads a site under recrawl with its own rules. Properties that
// cannot be followed are left out and said in the log, in the answer and by bit
// ErrInitialization of the site's mask.
func (t *tx) recrawlSite(id string) (wire.RecrawlSite, error) {
	site, err := t.recrawlRow(id)
	if err != nil {
		return site, err
	}
	rules, errs := wire.ReadRecrawlRules(func(name string) (string, bool) {
		value, found, e := t.property(id, name)
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
		_, err := t.urlClauses("property "+name, id, t.urlScope(id), wire.Criterion{Where: *where})
		switch {
		case err == nil:
			continue
		case !refused(err):
			return site, err
		}
		site.Refused = append(site.Refused, message(err))
		*where = ""
		if name == wire.RecrawlDeleteWhereProperty {
			rules.Delete = new(bool) // another condition might delete what this one spares
		}
	}
	site.Rules = rules
	if len(site.Refused) == 0 {
		return site, nil
	}
	slices.Sort(site.Refused)
	for _, text := range site.Refused {
		t.s.o.Log.Warn("a site's own rule of recrawling is left out", "site", id, "error", text)
	}
	_, err = t.Do("recrawl_refused", int64(wire.ErrInitialization), int64(wire.ErrInitialization), id)
	return site, err
}
