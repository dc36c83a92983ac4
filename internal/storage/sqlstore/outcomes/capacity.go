package outcomes

import (
	"slices"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// selectFittingLinks returns the new links that the site has room for, in their order. Links of
// chains and links that robots.txt forbids always fit. If the site is full, rows are first removed by the AUTO_REMOVE_*
// properties, once in a transaction (docs/spec/crawling.md 5.8). In a cluster links first wait for a
// larger lease.
func (f *finishing) selectFittingLinks(rules *wire.LinkRules, c limits.Capacity, fresh []*wire.Link) ([]*wire.Link, error) {
	wanted, real := 0, 0 // real: of no trap
	for _, l := range fresh {
		if !l.Chain && !l.URL.Unasked() {
			wanted++
			if l.URL.RetryCause != wire.CauseTrap {
				real++
			}
		}
	}
	if wanted == 0 || c.MaxURLs <= 0 && c.MaxResources <= 0 {
		return fresh, nil
	}
	left, err := f.roomLeft(rules, c)
	if err != nil {
		return nil, err
	}
	if left < wanted && rules.RemoveMost > 0 && !f.removed && !c.MayGrow() {
		f.removed = true
		removed, err := f.autoRemove(rules, c.Period)
		if err != nil {
			return nil, err
		}
		if removed > 0 {
			if c, err = f.ReadCapacity(f.site); err != nil {
				return nil, err
			}
			if left, err = f.roomLeft(rules, c); err != nil {
				return nil, err
			}
		}
	}
	if left < real && !c.MayGrow() {
		removed, err := f.giveWay(real - left)
		if err != nil {
			return nil, err
		}
		if left += removed; removed > 0 {
			f.full |= c.ExhaustedBit()
		}
	}
	if left < wanted && real < wanted {
		slices.SortStableFunc(fresh, func(a, b *wire.Link) int { return len(a.URL.RetryCause) - len(b.URL.RetryCause) })
	}
	kept := fresh[:0]
	var over []*wire.URL
	for _, l := range fresh {
		switch {
		case l.Chain, l.URL.Unasked():
		case left > 0:
			left--
		default:
			over = append(over, &l.URL)
			continue
		}
		kept = append(kept, l)
	}
	return kept, f.leaveOut(c, over)
}

// leaveOut drops links for which the site has no room, or lets them wait for a larger lease.
func (f *finishing) leaveOut(c limits.Capacity, over []*wire.URL) (err error) {
	dropped := len(over)
	if c.MayGrow() {
		for _, u := range over {
			m, _ := f.linkOf(u.URLMd5)
			u.Freq = max(m.freq, u.Freq)
		}
		if dropped, err = f.HoldLinks(f.site, c, over); err != nil {
			return err
		}
		f.held += len(over) - dropped
	}
	if f.saved.Skipped += dropped; dropped > 0 {
		f.full |= c.ExhaustedBit()
	}
	return nil
}

// roomLeft is Capacity.RoomLeft, with the number of rows that AUTO_REMOVE_WHERE_ACTIVE selects if
// the site has this property. Then it reads all rows of the site.
func (f *finishing) roomLeft(rules *wire.LinkRules, c limits.Capacity) (int, error) {
	if rules.Active == "" || c.MaxURLs <= 0 {
		return c.RoomLeft(), nil
	}
	where, err := f.URLScope(f.site).Where(rules.Active)
	if err == nil {
		text, args := tables.Clauses{Where: where}.BuildQuery("SELECT COUNT(*) FROM "+f.SiteTable(sqldb.URLs, f.site)+tables.AliasURLs(f.site), tables.OfSite(f.site))
		err = f.Each(f.WithNamedTables(f.site, text), args, func(scan func(...any) error) error { return scan(&c.URLs) })
	}
	return c.RoomLeft(), f.recordInvalid("AUTO_REMOVE_WHERE_ACTIVE", err)
}

// autoRemove deletes at most PageRows rows as URL_DELETE does, but no row that a batch
// holds. It returns their number.
func (f *finishing) autoRemove(rules *wire.LinkRules, period int64) (int, error) {
	scope := f.recrawlScope(f.site, period)
	where, err := scope.Where(rules.RemoveWhere)
	if err != nil {
		return 0, f.recordInvalid("AUTO_REMOVE_WHERE", err)
	}
	order, err := scope.OrderBy(rules.RemoveBy)
	if err != nil {
		return 0, f.recordInvalid("AUTO_REMOVE_ORDER", err)
	}
	p := tables.Clauses{Where: where, Order: order, Limit: expr.Limit{Count: min(rules.RemoveMost, tables.PageRows), Set: true}}
	p.TieBreak("URLMd5")
	text, args := p.BuildQuery("SELECT URLMd5 FROM "+f.SiteTable(sqldb.URLs, f.site)+tables.AliasURLs(f.site), tables.OfSite(f.site), expr.SQL{Text: "(Status NOT IN (2, 3, 5, 6, 8))"})
	keys, err := tables.ReadColumn[string](f.tx.tableTx, f.WithNamedTables(f.site, text), args...)
	if err != nil || len(keys) == 0 {
		return 0, f.recordInvalid("AUTO_REMOVE_WHERE", err)
	}
	f.saved.Removed += len(keys)
	for _, md5 := range keys {
		if m := f.links[md5]; m != nil {
			m.has, m.kept = false, false
		}
	}
	return len(keys), f.DeleteURLs(f.site, keys, wire.URLDeleteRequest{
		SiteID: f.site, Criterion: wire.Criterion{Where: rules.RemoveWhere, OrderBy: rules.RemoveBy},
		DelayedType: wire.Immediate, Reason: wire.ReasonAutoRemove,
	})
}

// maxPeriod keeps times within the range of database dates.
const maxPeriod = 100 * 365 * 24 * 60

func minutesOf(n int64) time.Duration { return time.Duration(min(n, maxPeriod)) * time.Minute }
