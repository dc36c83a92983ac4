package store

import (
	"context"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// counted are the columns of a site that are counted from its URLs (storage
// 4.0.4). Triggers keep them; what a request sets there is not stored.
//
// Two things wait until a site is read. Bits that a row lost may still be in
// another row, so the trigger only marks ErrorMask stale, and the reader makes
// it anew. And a property COUNTER_CRIT_* has a condition of its own, which no
// trigger knows.
var counted = []string{"Resources", "Contents", "CollectedURLs", "NewURLs", "DeletedURLs", "Size", "Errors", "ErrorMask",
	"AVGSpeed", "AVGSpeedCounter"}

func uncounted(p dc.Patch) dc.Patch {
	p = clone(p)
	for _, name := range counted {
		delete(p, name)
	}
	return p
}

// counterProperties are the properties that replace the condition of a counter.
var counterProperties = map[string]string{
	"COUNTER_CRIT_RESOURCES": "Resources", "COUNTER_CRIT_CONTENTS": "Contents", "COUNTER_CRIT_CLURLS": "CollectedURLs",
	"COUNTER_CRIT_NURLS": "NewURLs", "COUNTER_CRIT_DURLS": "DeletedURLs", "COUNTER_CRIT_ERRORS": "Errors",
}

// refresh brings the lazy counters of a site up to date. It writes only when
// there is something to bring.
func (s *Store) refresh(ctx context.Context, id string) error {
	var lazy bool
	err := s.db.View(ctx, func(dt *db.Tx) error {
		t := s.tx(dt)
		if _, err := t.Get("site_stale", []any{id}, &lazy); err != nil || lazy {
			return err
		}
		criteria, err := t.counterCriteria(id)
		lazy = len(criteria) > 0
		return err
	})
	if err != nil || !lazy {
		return err
	}
	return s.db.Update(ctx, func(dt *db.Tx) error {
		t := s.tx(dt)
		id, err := t.known(id)
		if err != nil || id == "" {
			return err
		}
		if err := t.renewMask(id); err != nil {
			return err
		}
		return t.countByCriteria(id)
	})
}

// counterCriteria maps columns of sites to the conditions of the site's own
// properties.
func (t *tx) counterCriteria(id string) (map[string]string, error) {
	criteria := map[string]string{}
	err := t.All("site_counter_properties", []any{id}, func(scan func(...any) error) error {
		var name, value string
		err := scan(&name, &value)
		criteria[counterProperties[name]] = value
		return err
	})
	return criteria, err
}

func (t *tx) countByCriteria(id string) error {
	criteria, err := t.counterCriteria(id)
	if err != nil {
		return err
	}
	for column, condition := range criteria {
		scope := t.urlScope(id)
		table := t.urlTable()
		if column == "DeletedURLs" {
			table = t.DB.Table(db.Deleted, "urls")
		}
		where, err := scope.Where(condition)
		if err != nil {
			t.s.o.Log.Warn("counter keeps its own condition", "site", id, "column", column, "error", err.Error())
			continue
		}
		var s statement
		s.add("UPDATE " + t.DB.Table(db.Sites, "sites") + " SET " + column + " = (SELECT COUNT(*) FROM " + table + as(id))
		s.where(ofSite(id), where)
		s.add(") WHERE Id = ?", id)
		if _, err := t.Exec(t.named(id, s.text.String()), s.args...); err != nil {
			return err
		}
	}
	return nil
}

// renewMask makes ErrorMask from the rows that have error bits, and from the
// bits that are the site's own.
func (t *tx) renewMask(id string) error {
	var mask int64
	if _, err := t.Get("site_own_mask", []any{id}, &mask); err != nil {
		return err
	}
	err := t.All("site_masks", []any{id}, func(scan func(...any) error) error {
		var m int64
		err := scan(&m)
		mask |= m
		return err
	})
	if err != nil {
		return err
	}
	_, err = t.Do("site_set_mask", mask, id)
	return err
}

// recount counts everything anew.
func (t *tx) recount(id string) error {
	if _, err := t.Do("site_recount", id); err != nil {
		return err
	}
	if err := t.renewMask(id); err != nil {
		return err
	}
	return t.countByCriteria(id)
}
