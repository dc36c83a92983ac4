package sqlstore

import (
	"context"
	"slices"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// The columns of a site that are counted from its URLs (docs/spec/storage.md 4.0.4) change in
// the transaction that changes the URLs: every change of rows goes through
// [tx.counted], or counts by itself what it adds.
//
// Two things wait until a site is read. Bits that a row lost may still be in
// another row, so ErrorMask is only marked stale, and the reader makes it anew.
// And a property COUNTER_CRIT_* has a condition of its own.

// countedColumns are of the site's row; what a request sets there is not stored.
var countedColumns = []string{"Resources", "Contents", "CollectedURLs", "NewURLs", "DeletedURLs", "Size", "Errors", "ErrorMask",
	"AVGSpeed", "AVGSpeedCounter"}

// own is true of the rows of this node: the others mark what another crawled.
const own = "(Status <> 4 OR Crawled <> 0)"

// tallied are the counters that are sums over rows: what each row adds, and
// when. The texts are read by both databases.
var tallied = []struct{ column, adds, when string }{
	{"Resources", "1", "Status = 4 AND Crawled > 0 AND Size > 0 AND (ErrorMask & 4198399) = 0 AND ContentType LIKE 'text/html'"},
	{"Contents", "1", "Status = 7 AND TagsCount > 0 AND Processed > 0"},
	{"CollectedURLs", "1", "ParentMd5 <> '' AND " + own},
	{"NewURLs", "1", "Status = 1"},
	{"Size", "Size", own},
	{"Errors", "1", "ErrorMask <> 0 AND " + own},
	// Whole bytes per second. DIV and / differ between the databases, this does not.
	{"SpeedSum", "CAST((Size * 1000 - Size * 1000 % CrawlingTime) / CrawlingTime AS SIGNED)", "CrawlingTime > 0 AND " + own},
	{"AVGSpeedCounter", "1", "CrawlingTime > 0 AND " + own},
	{"OwnURLs", "1", own},
	{"InFlight", "1", "Status IN (2, 3, 8)"},
	{"InProcess", "1", "Status IN (5, 6)"},
}

// tally is what rows add to the counters of their site.
type tally struct {
	sums [11]int64 // in the order of tallied
	mask int64     // OR of ErrorMask, rows of this node
}

// tallyFields are the fields of a SELECT that gives a tally.
func (t *tx) tallyFields() string {
	var b strings.Builder
	for _, c := range tallied {
		b.WriteString("COALESCE(SUM(CASE WHEN " + c.when + " THEN " + c.adds + " ELSE 0 END), 0), ")
	}
	return b.String() + "COALESCE(" + t.DB.Aggregate("BIT_OR") + "(CASE WHEN " + own + " THEN ErrorMask ELSE 0 END), 0)"
}

func (a *tally) targets() []any {
	list := make([]any, 0, len(a.sums)+1)
	for i := range a.sums {
		list = append(list, &a.sums[i])
	}
	return append(list, &a.mask)
}

// tally adds up rows of a site by key; those that are not there add nothing.
func (t *tx) tally(site string, md5s []string) (tally, error) {
	var all tally
	text := "SELECT " + t.tallyFields() + " FROM " + t.table(sqldb.URLs, site) + " WHERE Site_Id = ? AND URLMd5 IN ("
	err := eachOnce(md5s, func(in string, args []any) error {
		var part tally
		if _, err := t.Row(text+in+")", append([]any{site}, args...), part.targets()...); err != nil {
			return err
		}
		for i, n := range part.sums {
			all.sums[i] += n
		}
		all.mask |= part.mask
		return nil
	})
	return all, err
}

// eachOnce is chunks for keys that may be there twice.
func eachOnce(keys []string, do func(in string, args []any) error) error {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return chunks(slices.Compact(sorted), do)
}

// counted runs a change of rows of a site, and counts what it changed. Md5s are
// the keys of all rows that the change may touch.
func (t *tx) counted(site string, md5s []string, change func() error) error {
	before, err := t.tally(site, md5s)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := t.tally(site, md5s)
	if err != nil {
		return err
	}
	return t.count(site, before, after)
}

// count changes a site's counters by what its rows add now and added before.
func (t *tx) count(site string, before, after tally) error {
	if before == after {
		return nil
	}
	var s statement
	s.add("UPDATE " + t.DB.Table(sqldb.Sites, "sites") + " SET ")
	for i, c := range tallied {
		// Below 0 is where a condition of the site's own counted fewer: it counts
		// anew when the site is read.
		more := after.sums[i] - before.sums[i]
		s.add(c.column+" = CASE WHEN "+c.column+" >= (?) THEN "+c.column+" + (?) ELSE 0 END, ", -more, more)
	}
	stale := 0
	if before.mask&^after.mask != 0 {
		stale = 1
	}
	s.add("ErrorMask = ErrorMask | ?, MaskStale = MaskStale | ? WHERE Id = ?", after.mask, stale, site)
	_, err := t.Exec(s.text.String(), s.args...)
	return err
}

func uncounted(p wire.Patch) wire.Patch {
	p = clone(p)
	for _, name := range countedColumns {
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
	err := s.db.View(ctx, func(dt *sqldb.Tx) error {
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
	return s.update(ctx, "refresh", func(t *tx) error {
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
		if column, ok := counterProperties[name]; ok { // MySQL finds names in other case too
			criteria[column] = value
		}
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
		table := t.table(sqldb.URLs, id)
		if column == "DeletedURLs" {
			table = t.table(sqldb.Deleted, id)
		}
		where, err := scope.Where(condition)
		if err != nil {
			t.s.o.Log.Warn("counter keeps its own condition", "site", id, "column", column, "error", err.Error())
			continue
		}
		var s statement
		s.add("UPDATE " + t.DB.Table(sqldb.Sites, "sites") + " SET " + column + " = (SELECT COUNT(*) FROM " + table + as(id))
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
	// Few different masks are in many rows: each is asked for once, by the index.
	for last := int64(0); ; {
		found, err := t.Of(id).Get("site_mask_above", []any{id, last}, &last)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		mask |= last
	}
	_, err := t.Do("site_set_mask", mask, id)
	return err
}

// recount counts everything anew, but for some columns.
func (t *tx) recount(id string, but ...string) error {
	var all tally
	if _, err := t.Row("SELECT "+t.tallyFields()+" FROM "+t.table(sqldb.URLs, id)+" WHERE Site_Id = ?", []any{id}, all.targets()...); err != nil {
		return err
	}
	var s statement
	s.add("UPDATE " + t.DB.Table(sqldb.Sites, "sites") + " SET ")
	for i, c := range tallied {
		if !slices.Contains(but, c.column) {
			s.add(c.column+" = ?, ", all.sums[i])
		}
	}
	s.add("DeletedURLs = (SELECT COUNT(*) FROM "+t.table(sqldb.Deleted, id)+" WHERE Site_Id = ?) WHERE Id = ?", id, id)
	if _, err := t.Exec(s.text.String(), s.args...); err != nil {
		return err
	}
	if err := t.renewMask(id); err != nil {
		return err
	}
	return t.countByCriteria(id)
}
