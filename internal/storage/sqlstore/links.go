package sqlstore

import (
	"fmt"
	"slices"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// group are the links of a transaction that follow the same rules.
type group struct {
	rules *wire.LinkRules
	links []*wire.Link
}

// keepLinks stores the links of the pages (docs/spec/crawling.md 5.7, 5.8, 5.11, 5.12). All
// of them are looked up and changed together, by lists of keys: most links of a
// site are known, and looking up a key is several times faster than inserting
// into nothing.
func (f *finishing) keepLinks(pages []*wire.Fetched) error {
	var groups []*group
	byRules := map[*wire.LinkRules]*group{}
	freq := map[string]int64{}
	for _, page := range pages {
		g := byRules[page.Rules]
		if g == nil {
			g = &group{rules: page.Rules}
			if g.rules == nil {
				g.rules = wire.DefaultLinkRules()
			}
			byRules[page.Rules], groups = g, append(groups, g)
		}
		met := map[string]bool{page.URLMd5: true} // a page's link to itself does not count
		for i := range page.Links {
			l := &page.Links[i]
			if !storableURL(l.URL.URL) {
				continue
			}
			g.links = append(g.links, l)
			if page.First && !met[l.URL.URLMd5] {
				met[l.URL.URLMd5] = true
				freq[l.URL.URLMd5]++
			}
		}
	}
	known := map[string]bool{}
	for _, g := range groups {
		if len(g.links) == 0 {
			continue
		}
		if err := f.keepGroup(g, freq, known); err != nil {
			return err
		}
	}
	return f.raiseFreq(freq, known)
}

// keepGroup resets the known links and inserts the new ones. It adds to known the
// keys that were there before.
func (f *finishing) keepGroup(g *group, freq map[string]int64, known map[string]bool) error {
	room, err := f.room()
	if err != nil {
		return err
	}
	there, err := f.present(sqldb.URLs, f.site, linkKeys(g.links))
	if err != nil {
		return err
	}
	var fresh, old []*wire.Link
	first := map[string]*wire.Link{} // of each key, the one that stands for all
	for _, l := range g.links {
		if one := first[l.URL.URLMd5]; one != nil {
			one.Chain = one.Chain || l.Chain
			continue
		}
		one := *l // the caller keeps its own
		first[l.URL.URLMd5] = &one
		if there[l.URL.URLMd5] {
			old = append(old, &one)
			known[l.URL.URLMd5] = true
		} else {
			fresh = append(fresh, &one)
		}
	}
	if err := f.chain(old); err != nil {
		return err
	}
	if err := f.reset(g.rules, room.period, old); err != nil {
		return err
	}
	if fresh, err = f.fitting(g.rules, room, fresh); err != nil {
		return err
	}
	rows := make([]*wire.URL, len(fresh))
	for i, l := range fresh {
		l.URL.Freq = max(freq[l.URL.URLMd5], l.URL.Freq)
		delete(freq, l.URL.URLMd5)
		if l.Chain {
			l.URL.Type = wire.TypeChain
		}
		rows[i] = &l.URL
	}
	return f.addURLs(f.site, rows, f.stats)
}

func linkKeys(links []*wire.Link) []string {
	keys := make([]string, len(links))
	for i, l := range links {
		keys[i] = l.URL.URLMd5
	}
	return keys
}

// chain makes known rows parts of a chain.
func (f *finishing) chain(links []*wire.Link) error {
	var keys []string
	for _, l := range links {
		if l.Chain {
			keys = append(keys, l.URL.URLMd5)
		}
	}
	return chunks(keys, func(in string, args []any) error {
		_, err := f.Exec("UPDATE "+f.table(sqldb.URLs, f.site)+" SET Type = ? WHERE Site_Id = ? AND URLMd5 IN ("+in+")",
			append([]any{wire.TypeChain, f.site}, args...)...)
		return err
	})
}

// raiseFreq counts for known rows on how many other pages they were found, one
// UPDATE for each distinct number and list of keys.
func (f *finishing) raiseFreq(freq map[string]int64, known map[string]bool) error {
	byNumber := map[int64][]string{}
	for md5, n := range freq {
		if known[md5] {
			byNumber[n] = append(byNumber[n], md5)
		}
	}
	for n, keys := range byNumber {
		slices.Sort(keys) // neighbours in the index are neighbours in time
		err := chunks(keys, func(in string, args []any) error {
			_, err := f.Exec("UPDATE "+f.table(sqldb.URLs, f.site)+" SET Freq = Freq + ? WHERE Site_Id = ? AND URLMd5 IN ("+in+")",
				append([]any{n, f.site}, args...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resettable are the rows that a link may give back to crawling: this node's, in
// no batch's hands, whose State is not that of a disabled one (docs/spec/DECISIONS.md 3.1).
// The plus signs keep the database to the index of the keys.
const resettable = "Type <> 4 AND +State IN (0, 2) AND +Status IN (0, 1, 4, 7) AND " + own

// reset gives known links back to crawling, as the rules say (docs/spec/crawling.md 5.7). Rows
// that this batch has brought to their end stay, so that a batch ends.
func (f *finishing) reset(rules *wire.LinkRules, period int64, links []*wire.Link) error {
	if rules.KeepKnown || period <= 0 {
		return nil
	}
	byKey := make(map[string]*wire.Link, len(links))
	var keys []string
	for _, l := range links {
		if !l.Chain {
			byKey[l.URL.URLMd5] = l
			keys = append(keys, l.URL.URLMd5)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	young, err := f.young(rules, period)
	if err != nil {
		return err
	}
	due, err := f.due(keys, young)
	if err != nil {
		if rules.Age == "" {
			return err
		}
		return f.refuse("RECRAWL_URL_AGE_EXPRESSION", err)
	}
	set, err := f.resetColumns(rules, period)
	if err != nil {
		return err
	}
	// Links with the same columns of their own change together.
	alike := map[string][]chosen{}
	var order []string
	for _, row := range due {
		name := fmt.Sprintf("%#v", byKey[row.md5].Update)
		if alike[name] == nil {
			order = append(order, name)
		}
		alike[name] = append(alike[name], row)
	}
	for _, name := range order {
		rows := alike[name]
		if err := f.resetAlike(period, rows, f.withColumns(set, byKey[rows[0].md5].Update)); err != nil {
			return err
		}
	}
	return nil
}

// young is the condition of rows that are too young to be crawled again.
func (f *finishing) young(rules *wire.LinkRules, period int64) (expr.SQL, error) {
	if rules.Age != "" {
		condition, err := positive(f.recrawlScope(period), rules.Age)
		if err == nil && condition.Text != "" {
			return condition, nil
		}
		if err := f.refuse("RECRAWL_URL_AGE_EXPRESSION", err); err != nil {
			return expr.SQL{}, err
		}
	}
	since := f.time.Add(-minutes(period)).Format(wire.DateLayout)
	return expr.SQL{Text: "(UDate > ?)", Args: []any{since}}, nil
}

// due finds which of the keys are to be reset.
func (f *finishing) due(keys []string, young expr.SQL) ([]chosen, error) {
	var rows []chosen
	err := eachOnce(keys, func(in string, args []any) error {
		var s statement
		s.add("SELECT URLMd5, Status FROM "+f.table(sqldb.URLs, f.site)+as(f.site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{f.site}, args...)...)
		s.add(" AND " + resettable)
		if f.batchID != 0 {
			s.add(" AND (Status = 1 OR Batch_Id <> ?)", f.batchID)
		}
		s.add(" AND NOT COALESCE("+young.Text+", 0)", young.Args...)
		return f.Each(f.named(f.site, s.text.String()), s.args, func(scan func(...any) error) error {
			var row chosen
			err := scan(&row.md5, &row.status)
			rows = append(rows, row)
			return err
		})
	})
	return rows, err
}

// resetColumns are what a reset sets, but for what a link brings itself. A date
// that is refused is as without its property.
func (f *finishing) resetColumns(rules *wire.LinkRules, period int64) (wire.Patch, error) {
	set := wire.Patch{}
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
		one := wire.Patch{date.column: wire.Expr(date.text)}
		if _, _, err := f.assignments(g, one); err != nil {
			if err := f.refuse(date.property, refusalOf(err)); err != nil {
				return nil, err
			}
			if date.def == "" {
				continue
			}
			one[date.column] = wire.Expr(date.def)
		}
		set[date.column] = one[date.column]
	}
	return set, nil
}

// fixedColumns tell what a row is, or in whose hands.
var fixedColumns = []string{"Site_Id", "URL", "URLMd5", "Batch_Id"}

// withColumns adds the columns that a link sets itself (RECRAWL_URL_UPDATE).
func (f *finishing) withColumns(set, more wire.Patch) wire.Patch {
	if len(more) == 0 {
		return set
	}
	set = clone(set)
	for _, c := range wire.URLColumns {
		value, given := more[c.Name]
		if !given || slices.Contains(fixedColumns, c.Name) {
			continue
		}
		if status, ok := value.(int64); ok && c.Name == "Status" && status != wire.StatusUndefined && !wire.FreeStatus(status) {
			f.say("RECRAWL_URL_UPDATE", fmt.Sprintf("has Status %d, which only batches set", status))
			continue
		}
		set[c.Name] = c.Fit(value)
	}
	return set
}

// resetAlike resets rows by the same columns. Where a value cannot be stored the
// rows stay.
func (f *finishing) resetAlike(period int64, rows []chosen, set wire.Patch) error {
	if len(set) == 0 {
		return nil
	}
	err := f.Try(func() error { return f.setURLs(f.resetTarget(period), rows, set) })
	if err != nil {
		return f.refuse("RECRAWL_URL_UPDATE", refusalOf(err))
	}
	f.saved.Reset += len(rows)
	return f.stats.updated(rows, set)
}

// resetTarget is the table of URLs, in whose expressions the macros of recrawling
// are known.
func (f *finishing) resetTarget(period int64) target {
	g := f.urlsTarget("link", f.site)
	g.scope = f.recrawlScope(period)
	return g
}
