package outcomes

import (
	"fmt"
	"slices"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// linkGroup are the links of one FinishCrawl that follow the same rules.
type linkGroup struct {
	rules *wire.LinkRules
	links []*wire.Link
}

// DefaultRules are those of a page without rules.
var DefaultRules = wire.DefaultLinkRules()

// keepLinks stores the links of the pages (docs/spec/crawling.md 5.7, 5.8, 5.11, 5.12). It
// looks up and changes links by lists of keys, because most links are known and a look-up
// is several times faster than an INSERT without effect. Links that the memory knows are
// not looked up.
func (f *finishing) keepLinks(pages []*wire.Fetched) error {
	if err := f.raiseWaited(f.site, f.waited, f.stale); err != nil {
		return err
	}
	var groups []*linkGroup
	byRules := map[wire.LinkRules]*linkGroup{}
	for i, page := range pages {
		rules := page.Rules
		if rules == nil {
			rules = DefaultRules
		}
		g := byRules[*rules]
		if g == nil {
			g = &linkGroup{rules: rules}
			byRules[*rules], groups = g, append(groups, g)
		}
		settled := !f.removes && !g.rules.Resets(f.limits.Period)
		for j := range page.Links {
			l := &page.Links[j]
			if !tables.StorableURL(l.URL.URL) {
				continue
			}
			m, first := f.linkOf(l.URL.URLMd5)
			if first && m.valid {
				m.row, m.kept = f.s.links.findRow(f.known, m.key)
				m.has = m.kept
			}
			counts := page.First && m.page != i+1 && l.URL.URLMd5 != page.URLMd5 // a link of a page to itself does not
			m.page = i + 1
			if f.IsForeign(l) {
				f.leaveForOthers(l, m, counts)
				continue
			}
			if counts {
				m.freq++
			}
			if !settled || l.Chain || !m.has {
				g.links = append(g.links, l)
			}
		}
	}
	if err := f.QueueLinks(f.site, f.away); err != nil {
		return err
	}
	for _, g := range groups {
		if len(g.links) == 0 {
			continue
		}
		if err := f.keepGroup(g); err != nil {
			return err
		}
	}
	return f.keepFreq()
}

// leaveForOthers adds a link to those of other nodes. Its Freq is the number of pages with it that were
// never crawled before.
func (f *finishing) leaveForOthers(l *wire.Link, m *metLink, counts bool) {
	if m.has {
		return // queued before
	}
	if m.away == nil {
		row := l.URL // the caller's link is not changed
		m.away, f.away = &row, append(f.away, &row)
	}
	if counts {
		m.away.Freq++
	}
}

// keepGroup resets the known links and inserts the new ones.
func (f *finishing) keepGroup(g *linkGroup) error {
	limits, err := f.currentCapacity()
	if err != nil {
		return err
	}
	err = tables.EachIn(f.tx.tableTx, f.unknownKeys(g.links), "SELECT URLMd5, "+f.placeColumn()+" FROM "+f.SiteTable(sqldb.URLs, f.site)+tables.OfKeys, []any{f.site}, tables.ScanPair(func(md5 string, row int64) {
		m, _ := f.linkOf(md5)
		m.has, m.row = true, placeOf(row)
	}))
	if err != nil {
		return err
	}
	var fresh, old []*wire.Link
	first := map[string]*wire.Link{} // by key
	for _, l := range g.links {
		if one := first[l.URL.URLMd5]; one != nil {
			one.Chain = one.Chain || l.Chain
			continue
		}
		one := *l // the caller's link is not changed
		first[l.URL.URLMd5] = &one
		if f.hasRow(l.URL.URLMd5) {
			old = append(old, &one)
		} else {
			fresh = append(fresh, &one)
		}
	}
	if err := f.setChainTypes(old); err != nil {
		return err
	}
	if err := f.resetKnownLinks(g.rules, limits.Period, old); err != nil {
		return err
	}
	if fresh, err = f.selectFittingLinks(g.rules, limits, fresh); err != nil {
		return err
	}
	rows := tables.MapSlice(fresh, func(l *wire.Link) *wire.URL {
		m, _ := f.linkOf(l.URL.URLMd5)
		l.URL.Freq = max(m.freq, l.URL.Freq)
		if l.Chain {
			l.URL.Type = wire.TypeChain
		}
		return &l.URL
	})
	if err := f.AddURLs(f.site, rows); err != nil {
		return err
	}
	return f.noteNewRows(rows)
}

// noteNewRows notes that links have new rows, which were inserted one after the other.
func (f *finishing) noteNewRows(rows []*wire.URL) error {
	if len(rows) == 0 {
		return nil
	}
	var last int64
	if f.DB.Dialect() != expr.MySQL {
		if _, err := f.Row("SELECT MAX(rowid) FROM "+f.SiteTable(sqldb.URLs, f.site), nil, &last); err != nil {
			return err
		}
	}
	for i, u := range rows {
		m, _ := f.linkOf(u.URLMd5)
		m.has, m.fresh, m.row = true, true, placeOf(last-int64(len(rows)-1-i))
	}
	return nil
}

// unknownKeys returns the keys of links that are not known, each once.
func (f *finishing) unknownKeys(links []*wire.Link) (keys []string) {
	for _, l := range links {
		if !f.hasRow(l.URL.URLMd5) {
			keys = append(keys, l.URL.URLMd5)
		}
	}
	return tables.SortUnique(keys)
}

// setChainTypes sets the Type of known rows that are part of a chain.
func (f *finishing) setChainTypes(links []*wire.Link) error {
	var keys []string
	for _, l := range links {
		if l.Chain {
			keys = append(keys, l.URL.URLMd5)
		}
	}
	_, err := tables.ExecIn(f.tx.tableTx, keys, "UPDATE "+f.SiteTable(sqldb.URLs, f.site)+" SET Type = ?"+tables.OfKeys, wire.TypeChain, f.site)
	return err
}

// keepFreq raises the Freq of known links, or lets the memory do it later.
func (f *finishing) keepFreq() error {
	for _, m := range f.links {
		if m.valid && m.has && !m.fresh && m.freq > 0 {
			f.raise = append(f.raise, m.additionOf(m.freq))
		}
	}
	if f.Options.FreqDelay > 0 {
		return nil
	}
	err := f.raiseFreq(f.site, inOrder(f.raise))
	f.raise = nil
	return err
}

// Resettable is the condition of rows that a link may reset: rows of this node that no
// batch holds and that are not disabled (docs/spec/DECISIONS.md 3.1), and rows that robots.txt forbade. The plus signs keep
// the database on the index of the keys.
const Resettable = "Type <> 4 AND +State IN (0, 2) AND +Status IN (0, 1, 4, 7) AND (" + counters.OwnRows + " OR ErrorMask = 2048)"

// resetKnownLinks makes known links due for crawling by their rules (docs/spec/crawling.md 5.7). It
// does not reset rows that this batch has finished, so that the batch ends.
func (f *finishing) resetKnownLinks(rules *wire.LinkRules, period int64, links []*wire.Link) error {
	if !rules.Resets(period) {
		return nil
	}
	byKey := make(map[string]*wire.Link, len(links))
	var keys []string
	for _, l := range links {
		if !l.Chain && !l.URL.Unasked() {
			byKey[l.URL.URLMd5] = l
			keys = append(keys, l.URL.URLMd5)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	young, err := f.tooYoungCondition(rules, period)
	if err != nil {
		return err
	}
	due, err := f.selectDue(keys, young)
	if err != nil {
		if rules.Age == "" {
			return err
		}
		return f.recordInvalid("RECRAWL_URL_AGE_EXPRESSION", err)
	}
	set, err := f.resetColumns(rules, period)
	if err != nil {
		return err
	}
	// Links with equal columns change together.
	groups := map[string][]tables.URLStatus{}
	var order []string
	for _, row := range due {
		name := fmt.Sprintf("%#v", byKey[row.MD5].Update)
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], row)
	}
	for _, name := range order {
		rows := groups[name]
		if err := f.resetRows(period, rows, f.withColumns(set, byKey[rows[0].MD5].Update)); err != nil {
			return err
		}
	}
	return nil
}

// tooYoungCondition is the condition of rows that are too young for the next crawl.
func (f *finishing) tooYoungCondition(rules *wire.LinkRules, period int64) (expr.SQL, error) {
	if rules.Age != "" {
		condition, err := tables.PositiveCondition(f.recrawlScope(f.site, period), rules.Age)
		if err == nil && condition.Text != "" {
			return condition, nil
		}
		if err := f.recordInvalid("RECRAWL_URL_AGE_EXPRESSION", err); err != nil {
			return expr.SQL{}, err
		}
	}
	since := f.Time.Add(-minutesOf(period)).Format(schema.DateLayout)
	return expr.SQL{Text: "(UDate > ?)", Args: []any{since}}, nil
}

// selectDue returns the rows of the keys that must be reset.
func (f *finishing) selectDue(keys []string, young expr.SQL) ([]tables.URLStatus, error) {
	var rows []tables.URLStatus
	err := tables.ForEachChunk(tables.SortUnique(keys), func(in string, args []any) error {
		var s tables.Statement
		s.AppendText("SELECT URLMd5, Status FROM "+f.SiteTable(sqldb.URLs, f.site)+tables.AliasURLs(f.site)+tables.OfKeys+in, slices.Concat([]any{f.site}, args)...)
		s.AppendText(" AND " + Resettable)
		if f.batchID != 0 {
			s.AppendText(" AND (Status = 1 OR Batch_Id <> ?)", f.batchID)
		}
		s.AppendText(" AND NOT COALESCE("+young.Text+", 0)", young.Args...)
		return f.Each(f.WithNamedTables(f.site, s.Text.String()), s.Args, tables.AppendTo(&rows, (*tables.URLStatus).ScanTargets))
	})
	return rows, err
}

// resetColumns are the columns that a reset sets, without those of a link. An invalid
// date property has its default.
func (f *finishing) resetColumns(rules *wire.LinkRules, period int64) (schema.Patch, error) {
	set := schema.Patch{}
	if rules.Status != wire.KeepStatus {
		set["Status"], set["State"] = rules.Status, int64(wire.URLEnabled)
	}
	g := f.resetTarget(period)
	defaults := wire.DefaultLinkRules()
	for _, date := range []struct{ column, property, text, def string }{
		{"TcDate", "RECRAWL_URL_UPDATE_TCDATE", rules.TcDate, defaults.TcDate},
		{"UDate", "RECRAWL_URL_UPDATE_UDATE", rules.UDate, defaults.UDate},
		{"CDate", "RECRAWL_URL_UPDATE_CDATE", rules.CDate, defaults.CDate},
	} {
		if date.text == "" {
			continue
		}
		one := schema.Patch{date.column: schema.Expr(date.text)}
		if _, _, err := f.BuildAssignments(g, one); err != nil {
			if err := f.recordInvalid(date.property, refusalOf(err)); err != nil {
				return nil, err
			}
			if date.def == "" {
				continue
			}
			one[date.column] = schema.Expr(date.def)
		}
		set[date.column] = one[date.column]
	}
	return set, nil
}

// fixedColumns identify a row or its batch. Properties cannot set them.
var fixedColumns = []string{"Site_Id", "URL", "URLMd5", "Batch_Id"}

// withColumns adds the columns of a link's RECRAWL_URL_UPDATE.
func (f *finishing) withColumns(set, more schema.Patch) schema.Patch {
	if len(more) == 0 {
		return set
	}
	set = tables.ClonePatch(set)
	for _, c := range wire.URLColumns {
		value, given := more[c.Name]
		if !given || slices.Contains(fixedColumns, c.Name) {
			continue
		}
		if status, ok := value.(int64); ok && c.Name == "Status" && status != wire.StatusUndefined && !wire.FreeStatus(status) {
			f.recordRefusal("RECRAWL_URL_UPDATE", fmt.Sprintf("has Status %d, which only batches set", status))
			continue
		}
		set[c.Name] = c.Fit(value)
	}
	return set
}

// resetRows sets the same columns of rows. If a value is refused the rows are unchanged.
func (f *finishing) resetRows(period int64, rows []tables.URLStatus, set schema.Patch) error {
	if len(set) == 0 {
		return nil
	}
	err := f.Try(func() error { return f.SetURLs(f.resetTarget(period), rows, set) })
	if err != nil {
		return f.recordInvalid("RECRAWL_URL_UPDATE", refusalOf(err))
	}
	f.saved.Reset += len(rows)
	return f.StatisticsOf(f.site).RecordUpdates(rows, set)
}

// resetTarget is the table of URLs with the macros of recrawl properties.
func (f *finishing) resetTarget(period int64) tables.Target {
	g := f.URLsTarget("link", f.site)
	g.Scope = f.recrawlScope(f.site, period)
	return g
}
