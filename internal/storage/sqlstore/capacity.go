package sqlstore

import (
	"math"
	"slices"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// capacity has the limits of a site and its current size. A limit of 0 means no limit.
type capacity struct {
	maxURLs, urls           int64 // rows of this node
	maxResources, resources int64
	period                  int64 // RecrawlPeriod, minutes
	rows                    int64 // RowsEpoch; see epochOf

	// On a node of a cluster; see lease.go.
	leased                       bool
	leaseURLs, final, until, now int64
}

func (t *tx) readCapacity(site string) (c capacity, err error) {
	c.leased, c.now = t.place.Active(), t.time.Unix()
	_, err = t.Get("site_room", []any{site}, &c.maxURLs, &c.urls, &c.maxResources, &c.resources, &c.period, &c.leaseURLs, &c.final, &c.until, &c.rows)
	return c, err
}

// epochOf is the epoch of the rows of a site (linkMemory). In SQLite it is another one after VACUUM, which
// gives the schema a new version, since it may move rows.
func (t *tx) epochOf(c capacity) (int64, error) {
	if t.schema == 0 && t.DB.Dialect() != expr.MySQL {
		if _, err := t.Row("PRAGMA schema_version", nil, &t.schema); err != nil {
			return 0, err
		}
	}
	return c.rows ^ t.schema, nil
}

// roomLeft is the number of rows that the site can take.
func (c capacity) roomLeft() int {
	left := int64(math.MaxInt32)
	if c.maxURLs > 0 {
		left = min(left, c.mayHave()-c.urls)
	}
	if c.maxResources > 0 {
		left = min(left, c.maxResources-c.resources)
	}
	return int(max(left, 0))
}

// exhaustedBit is the bit of the limit that leaves the least room (docs/spec/processing.md 1.7,
// docs/spec/DECISIONS.md 2).
func (c capacity) exhaustedBit() wire.ErrorMask {
	if c.maxURLs > 0 && (c.maxResources <= 0 || c.mayHave()-c.urls <= c.maxResources-c.resources) {
		return wire.ErrMaxItems
	}
	return wire.ErrSiteMaxResources
}

// selectFittingLinks returns the new links that the site has room for, in their order. Links of
// chains and links that robots.txt forbids always fit. If the site is full, rows are first removed by the AUTO_REMOVE_*
// properties, once in a transaction (docs/spec/crawling.md 5.8). In a cluster links first wait for a
// larger lease.
func (f *finishing) selectFittingLinks(rules *wire.LinkRules, c capacity, fresh []*wire.Link) ([]*wire.Link, error) {
	wanted, real := 0, 0 // real: of no trap
	for _, l := range fresh {
		if !l.Chain && !l.URL.Unasked() {
			wanted++
			if l.URL.RetryCause != wire.CauseTrap {
				real++
			}
		}
	}
	if wanted == 0 || c.maxURLs <= 0 && c.maxResources <= 0 {
		return fresh, nil
	}
	left, err := f.roomLeft(rules, c)
	if err != nil {
		return nil, err
	}
	if left < wanted && rules.RemoveMost > 0 && !f.removed && !c.mayGrow() {
		f.removed = true
		removed, err := f.autoRemove(rules, c.period)
		if err != nil {
			return nil, err
		}
		if removed > 0 {
			if c, err = f.readCapacity(f.site); err != nil {
				return nil, err
			}
			if left, err = f.roomLeft(rules, c); err != nil {
				return nil, err
			}
		}
	}
	if left < real && !c.mayGrow() {
		removed, err := f.giveWay(real - left)
		if err != nil {
			return nil, err
		}
		if left += removed; removed > 0 {
			f.full |= c.exhaustedBit()
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
func (f *finishing) leaveOut(c capacity, over []*wire.URL) (err error) {
	dropped := len(over)
	if c.mayGrow() {
		for _, u := range over {
			m, _ := f.linkOf(u.URLMd5)
			u.Freq = max(m.freq, u.Freq)
		}
		if dropped, err = f.holdLinks(f.site, c, over); err != nil {
			return err
		}
		f.held += len(over) - dropped
	}
	if f.saved.Skipped += dropped; dropped > 0 {
		f.full |= c.exhaustedBit()
	}
	return nil
}

// roomLeft is capacity.roomLeft, with the number of rows that AUTO_REMOVE_WHERE_ACTIVE selects if
// the site has this property. Then it reads all rows of the site.
func (f *finishing) roomLeft(rules *wire.LinkRules, c capacity) (int, error) {
	if rules.Active == "" || c.maxURLs <= 0 {
		return c.roomLeft(), nil
	}
	where, err := f.urlScope(f.site).Where(rules.Active)
	if err == nil {
		text, args := clauses{where: where}.buildQuery("SELECT COUNT(*) FROM "+f.siteTable(sqldb.URLs, f.site)+aliasURLs(f.site), ofSite(f.site))
		err = f.Each(f.withNamedTables(f.site, text), args, func(scan func(...any) error) error { return scan(&c.urls) })
	}
	return c.roomLeft(), f.recordInvalid("AUTO_REMOVE_WHERE_ACTIVE", err)
}

// autoRemove deletes at most pageRows rows as URL_DELETE does, but no row that a batch
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
	p := clauses{where: where, order: order, limit: expr.Limit{Count: min(rules.RemoveMost, pageRows), Set: true}}
	p.tieBreak("URLMd5")
	text, args := p.buildQuery("SELECT URLMd5 FROM "+f.siteTable(sqldb.URLs, f.site)+aliasURLs(f.site), ofSite(f.site), expr.SQL{Text: "(Status NOT IN (2, 3, 5, 6, 8))"})
	keys, err := readColumn[string](f.tx, f.withNamedTables(f.site, text), args...)
	if err != nil || len(keys) == 0 {
		return 0, f.recordInvalid("AUTO_REMOVE_WHERE", err)
	}
	f.saved.Removed += len(keys)
	for _, md5 := range keys {
		if m := f.links[md5]; m != nil {
			m.has, m.kept = false, false
		}
	}
	return len(keys), f.deleteURLs(f.site, keys, wire.URLDeleteRequest{
		SiteID: f.site, Criterion: wire.Criterion{Where: rules.RemoveWhere, OrderBy: rules.RemoveBy},
		DelayedType: wire.Immediate, Reason: wire.ReasonAutoRemove,
	})
}

// maxPeriod keeps times within the range of database dates.
const maxPeriod = 100 * 365 * 24 * 60

func minutesOf(n int64) time.Duration { return time.Duration(min(n, maxPeriod)) * time.Minute }
