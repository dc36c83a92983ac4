package sqlstore

import (
	"math"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// room is how full a site is; limits of 0 are none.
type room struct {
	maxURLs, urls           int64 // rows, those of other nodes left out
	maxResources, resources int64
	period                  int64 // RecrawlPeriod, minutes
}

func (t *tx) room(site string) (r room, err error) {
	_, err = t.Get("site_room", []any{site}, &r.maxURLs, &r.urls, &r.maxResources, &r.resources, &r.period)
	return r, err
}

func (f *finishing) room() (room, error) { return f.tx.room(f.site) }

// left is how many rows may come.
func (r room) left() int {
	left := int64(math.MaxInt32)
	if r.maxURLs > 0 {
		left = min(left, r.maxURLs-r.urls)
	}
	if r.maxResources > 0 {
		left = min(left, r.maxResources-r.resources)
	}
	return int(max(left, 0))
}

// fitting are the new links that there is room for, in their order; parts of
// chains always have some. When the site is full, rows that AUTO_REMOVE_* chooses
// go first, once in a transaction (docs/spec/crawling.md 5.8).
func (f *finishing) fitting(rules *wire.LinkRules, r room, fresh []*wire.Link) ([]*wire.Link, error) {
	asking := 0
	for _, l := range fresh {
		if !l.Chain {
			asking++
		}
	}
	if asking == 0 || r.maxURLs <= 0 && r.maxResources <= 0 {
		return fresh, nil
	}
	left, err := f.left(rules, r)
	if err != nil {
		return nil, err
	}
	if left < asking && rules.RemoveMost > 0 && !f.removed {
		f.removed = true
		removed, err := f.autoRemove(rules, r.period)
		if err != nil {
			return nil, err
		}
		if removed > 0 {
			if r, err = f.room(); err != nil {
				return nil, err
			}
			if left, err = f.left(rules, r); err != nil {
				return nil, err
			}
		}
	}
	kept := fresh[:0]
	for _, l := range fresh {
		switch {
		case l.Chain:
		case left > 0:
			left--
		default:
			f.saved.Skipped++
			continue
		}
		kept = append(kept, l)
	}
	return kept, nil
}

// left is the room of the site, by its own condition of active rows where it has
// one (AUTO_REMOVE_WHERE_ACTIVE), which costs a look at all its rows.
func (f *finishing) left(rules *wire.LinkRules, r room) (int, error) {
	if rules.Active == "" || r.maxURLs <= 0 {
		return r.left(), nil
	}
	where, err := f.urlScope(f.site).Where(rules.Active)
	if err == nil {
		var s statement
		s.add("SELECT COUNT(*) FROM " + f.table(sqldb.URLs, f.site) + as(f.site))
		s.where(ofSite(f.site), where)
		err = f.Each(f.named(f.site, s.text.String()), s.args, func(scan func(...any) error) error { return scan(&r.urls) })
	}
	return r.left(), f.refuse("AUTO_REMOVE_WHERE_ACTIVE", err)
}

// autoRemove deletes rows as URL_DELETE does, at most step of them; none that a
// batch holds. It tells how many.
func (f *finishing) autoRemove(rules *wire.LinkRules, period int64) (int, error) {
	scope := f.recrawlScope(period)
	where, err := scope.Where(rules.RemoveWhere)
	if err != nil {
		return 0, f.refuse("AUTO_REMOVE_WHERE", err)
	}
	order, err := scope.OrderBy(rules.RemoveBy)
	if err != nil {
		return 0, f.refuse("AUTO_REMOVE_ORDER", err)
	}
	var s statement
	s.add("SELECT URLMd5 FROM " + f.table(sqldb.URLs, f.site) + as(f.site))
	s.where(ofSite(f.site), where, expr.SQL{Text: "(Status NOT IN (2, 3, 5, 6, 8))"})
	s.order(inOrder(order, "URLMd5"))
	s.add(" LIMIT ?", min(rules.RemoveMost, step))
	var keys []string
	err = f.Each(f.named(f.site, s.text.String()), s.args, func(scan func(...any) error) error {
		var md5 string
		err := scan(&md5)
		keys = append(keys, md5)
		return err
	})
	if err != nil || len(keys) == 0 {
		return 0, f.refuse("AUTO_REMOVE_WHERE", err)
	}
	f.saved.Removed += len(keys)
	return len(keys), f.deleteURLs(f.site, keys, wire.URLDeleteRequest{
		SiteID: f.site, Criterion: wire.Criterion{Where: rules.RemoveWhere, OrderBy: rules.RemoveBy},
		DelayedType: wire.Immediate, Reason: wire.ReasonAutoRemove,
	})
}

// longestPeriod keeps moments within the dates that databases hold.
const longestPeriod = 100 * 365 * 24 * 60

func minutes(n int64) time.Duration { return time.Duration(min(n, longestPeriod)) * time.Minute }
