package counters

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// The counters of a site (docs/spec/storage.md 4.0.4) change in the transaction that
// changes the URLs: [tx.updateCounted] around a change and [tx.CountAdded] after an insert ask the
// database; [tx.CountedRows] computes the same from rows that the caller has read.
//
// Two counters are updated lazily, when a client reads the site. A bit that one row lost
// may be set in another row, so ErrorMask is only marked as stale. And a property
// COUNTER_CRIT_* has its own condition.

// CountedColumns of a site cannot be set by a request.
var CountedColumns = []string{"Resources", "Contents", "CollectedURLs", "NewURLs", "DeletedURLs", "Size", "Errors", "ErrorMask",
	"AVGSpeed", "AVGSpeedCounter"}

// OwnRows is the condition of rows of this node. The other rows mark pages that another
// node crawled.
const OwnRows = "(Status <> 4 OR Crawled <> 0)"

// tallied are the counters that are sums over rows: the value that a row adds, and the
// condition. Both databases can read the texts.
var tallied = []struct{ column, adds, when string }{
	{"Resources", "1", "Status = 4 AND Crawled > 0 AND Size > 0 AND (ErrorMask & 4198399) = 0 AND ContentType LIKE 'text/html'"},
	{"Contents", "1", "Status = 7 AND TagsCount > 0 AND Processed > 0"},
	{"CollectedURLs", "1", "ParentMd5 <> '' AND " + OwnRows},
	{"NewURLs", "1", "Status = 1"},
	{"Size", "Size", OwnRows},
	{"Errors", "1", "ErrorMask <> 0 AND " + OwnRows},
	// Whole bytes per second. DIV and / differ between the databases.
	{"SpeedSum", "CAST((Size * 1000 - Size * 1000 % CrawlingTime) / CrawlingTime AS SIGNED)", "CrawlingTime > 0 AND " + OwnRows},
	{"AVGSpeedCounter", "1", "CrawlingTime > 0 AND " + OwnRows},
	{"OwnURLs", "1", OwnRows},
	{"InFlight", "1", "Status IN (2, 3, 8)"},
	{"InProcess", "1", "Status IN (5, 6)"},
}

// newURLsSum is the place of NewURLs in tallied.
const newURLsSum = 3

// Tally is the contribution of rows to the counters of their site.
type Tally struct {
	sums [11]int64 // in the order of tallied
	mask int64     // OR of ErrorMask of OwnRows
}

// selectTally begins a SELECT of one tally.
func (t *Tx) selectTally(site string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for _, c := range tallied {
		b.WriteString("COALESCE(SUM(CASE WHEN " + c.when + " THEN " + c.adds + " ELSE 0 END), 0), ")
	}
	return b.String() + "COALESCE(" + t.DB.BitOr() + "(CASE WHEN " + OwnRows + " THEN ErrorMask ELSE 0 END), 0) FROM " + t.SiteTable(sqldb.URLs, site)
}

func (a *Tally) scanTargets() []any {
	list := make([]any, 0, len(a.sums)+1)
	for i := range a.sums {
		list = append(list, &a.sums[i])
	}
	return append(list, &a.mask)
}

// TallyRows adds up rows of a site by key. It ignores missing and repeated keys.
func (t *Tx) TallyRows(site string, md5s []string) (Tally, error) {
	var all Tally
	err := tables.EachIn(t.tableTx, tables.SortUnique(md5s), t.selectTally(site)+tables.OfKeys, []any{site}, func(scan func(...any) error) error {
		var part Tally
		err := scan(part.scanTargets()...)
		for i, n := range part.sums {
			all.sums[i] += n
		}
		all.mask |= part.mask
		return err
	})
	return all, err
}

// TallyColumns are the columns of a URL that the counters depend on.
var TallyColumns = slices.DeleteFunc(slices.Clone(wire.URLColumns), func(c schema.Column) bool {
	return !slices.Contains([]string{"Status", "Crawled", "Processed", "Size", "ErrorMask", "ContentType", "ParentMd5", "TagsCount", "CrawlingTime"}, c.Name)
})

// TallyOf is tally for rows that the caller has as they are stored. Only the database can
// compare a ContentType that is not ASCII.
func (t *Tx) TallyOf(site string, rows []*wire.URL) (all Tally, err error) {
	for _, u := range rows {
		if strings.IndexFunc(u.ContentType, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			return t.TallyRows(site, tables.MapSlice(rows, tables.URLKey))
		}
		all.addRow(u)
	}
	return all, nil
}

// addRow adds a row; it computes what tallied says.
func (a *Tally) addRow(u *wire.URL) {
	own := u.Status != wire.StatusCrawled || u.Crawled != 0
	add := func(i int, when bool, n int64) {
		if when {
			a.sums[i] += n
		}
	}
	add(0, u.Status == wire.StatusCrawled && u.Crawled > 0 && u.Size > 0 && u.ErrorMask&4198399 == 0 && strings.EqualFold(u.ContentType, "text/html"), 1)
	add(1, u.Status == wire.StatusProcessed && u.TagsCount > 0 && u.Processed > 0, 1)
	add(2, u.ParentMd5 != "" && own, 1)
	add(3, u.Status == wire.StatusNew, 1)
	add(4, own, u.Size)
	add(5, u.ErrorMask != 0 && own, 1)
	if u.CrawlingTime > 0 {
		add(6, own, u.Size*1000/u.CrawlingTime)
		add(7, own, 1)
	}
	add(8, own, 1)
	add(9, u.Status == wire.StatusSelectedCrawling || u.Status == wire.StatusCrawling || u.Status == wire.StatusSelectedIncremental, 1)
	add(10, u.Status == wire.StatusSelectedProcessing || u.Status == wire.StatusProcessing, 1)
	if own {
		a.mask |= int64(u.ErrorMask)
	}
}

// IsPlainChange reports whether a change by p can be followed without the database.
func IsPlainChange(p schema.Patch) bool {
	return !slices.ContainsFunc(TallyColumns, func(c schema.Column) bool {
		_, is := p[c.Name].(schema.Expr)
		return is
	})
}

// CountedRows is counted for rows that the caller has as they are stored. Change changes
// them too. Known is false if only the database knows the rows after the change.
func (t *Tx) CountedRows(site string, rows []*wire.URL, change func() (known bool, err error)) error {
	if len(rows) == 0 {
		return nil
	}
	before, err := t.TallyOf(site, rows)
	if err != nil {
		return err
	}
	known, err := change()
	if err != nil {
		return err
	}
	var after Tally
	if known {
		after, err = t.TallyOf(site, rows)
	} else {
		after, err = t.TallyRows(site, tables.MapSlice(rows, tables.URLKey))
	}
	if err != nil {
		return err
	}
	return t.addDifference(site, before, after)
}

// RunCounted runs a change of rows of a site and updates the counters. Md5s are the keys of
// all rows that the change may touch.
func (t *Tx) RunCounted(site string, md5s []string, change func() error) error {
	before, err := t.TallyRows(site, md5s)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := t.TallyRows(site, md5s)
	if err != nil {
		return err
	}
	return t.addDifference(site, before, after)
}

// CountAdded updates the counters after an insert of rows.
func (t *Tx) CountAdded(site string, md5s []string) error {
	added, err := t.TallyRows(site, md5s)
	if err != nil {
		return err
	}
	return t.addDifference(site, Tally{}, added)
}

// addDifference adds the difference of two tallies to a site's counters.
func (t *Tx) addDifference(site string, before, after Tally) error {
	if before == after {
		return nil
	}
	var s tables.Statement
	s.AppendText("UPDATE " + t.SitesTable() + " SET ")
	for i, c := range tallied {
		// A COUNTER_CRIT_* property may count fewer rows. Its counter is set when a client
		// reads the site, and must not go below 0 until then.
		more := after.sums[i] - before.sums[i]
		s.AppendText(c.column+" = CASE WHEN "+c.column+" >= (?) THEN "+c.column+" + (?) ELSE 0 END, ", -more, more)
	}
	stale := 0
	if before.mask&^after.mask != 0 {
		stale = 1
	}
	if t.Place.Active() && after.sums[newURLsSum] > before.sums[newURLsSum] {
		s.AppendText(limits.WantsWork)
	}
	s.AppendText("ErrorMask = ErrorMask | ?, MaskStale = MaskStale | ? WHERE Id = ?", after.mask, stale, site)
	_, err := t.Exec(s.Text.String(), s.Args...)
	return err
}

// WithoutCounted returns p without the columns that the counters set.
func WithoutCounted(p schema.Patch) schema.Patch {
	p = tables.ClonePatch(p)
	for _, name := range CountedColumns {
		delete(p, name)
	}
	return p
}

// counterProperties are the properties that replace the condition of a counter.
var counterProperties = map[string]string{
	"COUNTER_CRIT_RESOURCES": "Resources", "COUNTER_CRIT_CONTENTS": "Contents", "COUNTER_CRIT_CLURLS": "CollectedURLs",
	"COUNTER_CRIT_NURLS": "NewURLs", "COUNTER_CRIT_DURLS": "DeletedURLs", "COUNTER_CRIT_ERRORS": "Errors",
}

// RefreshCounters updates the lazy counters of a site. It writes only if the site has some.
func (s *Store) RefreshCounters(ctx context.Context, id string) error {
	lazy, err := tables.RunForResult(ctx, s.run.Read, "refresh", func(t *Tx) (lazy bool, err error) {
		if _, err := t.Get("site_stale", []any{id}, &lazy); err != nil || lazy {
			return lazy, err
		}
		criteria, err := t.CounterCriteria(id)
		return len(criteria) > 0, err
	})
	if err != nil || !lazy {
		return err
	}
	return s.run.Update(ctx, "refresh", func(t *Tx) error {
		id, err := t.StoredID(id)
		if err != nil || id == "" {
			return err
		}
		if err := t.renewMask(id); err != nil {
			return err
		}
		return t.countByCriteria(id)
	})
}

// CounterCriteria returns the conditions of COUNTER_CRIT_* properties by column.
func (t *Tx) CounterCriteria(id string) (map[string]string, error) {
	criteria := map[string]string{}
	err := t.All("site_counter_properties", []any{id}, tables.ScanPair(func(name, value string) {
		if column, ok := counterProperties[name]; ok { // the comparison of MySQL ignores case
			criteria[column] = value
		}
	}))
	return criteria, err
}

func (t *Tx) countByCriteria(id string) error {
	criteria, err := t.CounterCriteria(id)
	if err != nil {
		return err
	}
	for column, condition := range criteria {
		table := t.SiteTable(sqldb.URLs, id)
		if column == "DeletedURLs" {
			table = t.SiteTable(sqldb.Deleted, id)
		}
		where, err := t.URLScope(id).Where(condition)
		if err != nil {
			t.Options.Log.Warn("invalid COUNTER_CRIT property; using the built-in condition", "site", id, "column", column, "error", err.Error())
			continue
		}
		var s tables.Statement
		s.AppendText("UPDATE " + t.SitesTable() + " SET " + column + " = (SELECT COUNT(*) FROM " + table + tables.AliasURLs(id))
		s.AddConditions(tables.OfSite(id), where)
		s.AppendText(") WHERE Id = ?", id)
		if _, err := t.Exec(t.WithNamedTables(id, s.Text.String()), s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// renewMask computes ErrorMask from the masks of the rows and the site's own bits.
func (t *Tx) renewMask(id string) error {
	var mask int64
	if _, err := t.Get("site_own_mask", []any{id}, &mask); err != nil {
		return err
	}
	// Many rows share few different masks: the index gives each mask once.
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

// RecountSite computes all counters from the rows, except the given columns.
func (t *Tx) RecountSite(id string, except ...string) error {
	var all Tally
	if _, err := t.Row(t.selectTally(id)+" WHERE Site_Id = ?", []any{id}, all.scanTargets()...); err != nil {
		return err
	}
	var s tables.Statement
	s.AppendText("UPDATE " + t.SitesTable() + " SET ")
	for i, c := range tallied {
		if !slices.Contains(except, c.column) {
			s.AppendText(c.column+" = ?, ", all.sums[i])
		}
	}
	s.AppendText("DeletedURLs = (SELECT COUNT(*) FROM "+t.SiteTable(sqldb.Deleted, id)+" WHERE Site_Id = ?) WHERE Id = ?", id, id)
	if _, err := t.Exec(s.Text.String(), s.Args...); err != nil {
		return err
	}
	if err := t.renewMask(id); err != nil {
		return err
	}
	return t.countByCriteria(id)
}

// Recalculate recounts the counters of sites (docs/spec/storage.md 4.20), each site in its
// own transaction. The counters change only if another program wrote to the database.
// Statuses has the ids of the elements, then those that their criterions select.
// ErrorMessage names an unknown site. An invalid criterion is an error with its clause.
func (s *Store) Recalculate(ctx context.Context, list []wire.RecalcRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	sites, err := tables.RunForResult(ctx, s.run.Read, "Recalculate", func(t *Tx) ([]recount, error) {
		var named, selected []recount
		for i, r := range list {
			if r.SiteID != "" {
				named = append(named, recount{r.SiteID, r.Partial})
			}
			if r.Criterion.Empty() {
				continue
			}
			ids, err := t.SelectSites(tables.ElementName("FieldRecalculator", i)+".criterions", r.Criterion, expr.SQL{})
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				selected = append(selected, recount{id, r.Partial})
			}
		}
		return append(named, selected...), nil
	})
	if err != nil {
		return answer, err
	}
	for _, r := range sites {
		found, err := s.recalculateCounters(ctx, r)
		if err != nil {
			return answer, err
		}
		if !found {
			tables.ReportFirst(&answer, tables.UnknownSite("FieldRecalculator", "siteId", r.site))
		}
		answer.Statuses = append(answer.Statuses, r.site)
	}
	return answer, nil
}

// recount is a site to recount.
type recount struct {
	site    string
	partial bool // without CollectedURLs
}

func (s *Store) recalculateCounters(ctx context.Context, r recount) (found bool, err error) {
	return tables.RunForResult(ctx, s.run.Update, "Recalculate", func(t *Tx) (bool, error) {
		site, err := t.StoredID(r.site)
		if err != nil || site == "" {
			return false, err
		}
		if r.partial {
			return true, t.RecountSite(site, "CollectedURLs")
		}
		return true, t.RecountSite(site)
	})
}
