package outcomes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/keyset"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// FinishCrawl stores results of a batch, each site once, in one transaction. It changes only rows
// that the batch still holds (Status 3) and ignores the other results. It resets known links by
// their rules and inserts new links while the site has room; see links.go and capacity.go. The
// site's TcDate becomes the current time. An unknown site is an error with CodeNotFound, and
// nothing is stored. PutElsewhere stores the links to other sites. also runs at the end of the
// transaction, perhaps several times. Saved are those of the elements of list.
func (s *Store) FinishCrawl(ctx context.Context, batchID int64, list []wire.SiteFetched, also func(*sqldb.Tx) error) ([]wire.Saved, error) {
	now := s.db.Options.Now()
	done := make([]*finishing, len(list))
	waited := make([][]raised, len(list))
	saved := make([]wire.Saved, len(list))
	order := make([]int, len(list)) // of the sites' locks, the same for all processes
	for i := range list {
		order[i], waited[i] = i, s.freq.takeDue(list[i].Site, s.db.Options.FreqDelay, now)
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(list[i].Site, list[j].Site) })
	err := s.run.Update(ctx, "FinishCrawl", func(t *tx) error {
		for _, i := range order {
			site := list[i].Site
			f := &finishing{hold: hold{tx: t, batchID: batchID, status: wire.StatusCrawling, counter: "Crawled"}, expressions: wire.CrawlerExpressions}
			if err := f.lockAndLoadSite(site); err != nil {
				return err
			}
			f.removes = slices.ContainsFunc(list[i].Results, func(r wire.Fetched) bool { return r.Rules != nil && r.Rules.RemoveMost > 0 })
			if f.stale = s.freq.isStale(site, f.epoch); f.removes || f.stale { // before a deleted row is inserted again
				s.freq.giveBack(site, waited[i], now)
				waited[i] = s.freq.takeAll(site, math.MaxInt)
			}
			f.waited, done[i] = waited[i], f
			if err := f.finishResults(list[i].Results); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(t.Tx)
	})
	if err != nil {
		if !errors.Is(err, sqldb.ErrUncertain) { // then it may be stored
			for i := range list {
				s.freq.giveBack(list[i].Site, waited[i], now)
			}
		}
		return saved, err
	}
	for i, f := range done {
		f.rememberLinks(now)
		saved[i] = f.saved
	}
	return saved, nil
}

// finishing is the state of one FinishCrawl.
type finishing struct {
	hold
	saved   wire.Saved
	refused map[string]bool // texts of saved.Refused
	removes bool            // AUTO_REMOVE_* may remove rows
	removed bool            // autoRemove has run
	full    errormask.Mask  // limits of the site that left links out
	held    int             // links that wait for a larger lease
	// expressions is the property with the expressions of the results.
	expressions string

	id     string              // of the site in the request
	limits limits.Capacity     // of the site at the start
	epoch  int64               // see linkMemory
	known  keyset.Scope        // of epoch, in the memory of links
	links  map[string]*metLink // by key
	slab   []metLink           // for more of them
	waited []raised            // additions to Freq of earlier calls
	stale  bool                // they are of another epoch
	raise  []raised            // additions to Freq that are left for later calls
	away   []*wire.URL         // links of other nodes
}

// lockAndLoadSite locks the site and reads what the links need. An unknown site is an error with
// CodeNotFound.
func (f *finishing) lockAndLoadSite(id string) error {
	site, err := f.OpenSite(id)
	if err != nil {
		return err
	}
	f.id, f.site = id, site
	if f.limits, err = f.ReadCapacity(site); err == nil {
		f.epoch, err = f.epochOf(f.limits)
	}
	f.known = f.s.links.scopeOf(id, f.epoch)
	return err
}

// currentCapacity is the capacity of the site now.
func (f *finishing) currentCapacity() (limits.Capacity, error) {
	if f.limits.MaxURLs <= 0 && f.limits.MaxResources <= 0 {
		return f.limits, nil
	}
	return f.ReadCapacity(f.site)
}

func (f *finishing) finishResults(results []wire.Fetched) error {
	var mask errormask.Mask
	var held []*wire.Fetched
	keys := tables.MapSlice(results, func(r wire.Fetched) string { return r.URLMd5 })
	err := f.changeRows(keys, func() (known bool, err error) {
		for i := range results {
			r := &results[i]
			found, err := f.finishRow(r.URLMd5, r.Set, r.Crawled)
			if err != nil {
				return false, err
			}
			if found {
				held = append(held, r)
				mask |= r.SiteBits
			}
		}
		if err := f.writeChanges(); err != nil {
			return false, err
		}
		return len(withExpressions(held, wire.ObjectURL)) == 0, f.evaluateURLs(held)
	})
	if err != nil {
		return err
	}
	for _, r := range results {
		if f.rows[r.URLMd5] == nil {
			f.saved.Gone = append(f.saved.Gone, r.URLMd5)
		}
	}
	for _, step := range []func([]*wire.Fetched) error{f.keepAttributes, f.keepFormFields, f.keepLinks, f.renewEntries, f.evaluateSite} {
		if err := step(held); err != nil {
			return err
		}
	}
	if len(f.saved.Refused) > 0 {
		mask |= errormask.Initialization
	}
	mask |= f.full
	if err := f.TouchSite(f.site, mask); err != nil {
		return err
	}
	return f.holdSite(held)
}

// maxHold bounds the delay of a site. One host that asks for an hour must not delay the
// other hosts of the site and rows that an operator adds.
const maxHold = time.Minute

// holdSite delays the next selection of the site if its hosts asked for a delay and no
// page was crawled: up to the earliest HeldUntil. Otherwise an idle daemon would select
// the same rows again and again.
func (f *finishing) holdSite(results []*wire.Fetched) error {
	var until schema.Date
	for _, r := range results {
		if r.Crawled {
			return nil
		}
		if r.HeldUntil != "" && (until == "" || r.HeldUntil < until) {
			until = r.HeldUntil
		}
	}
	if until == "" {
		return nil
	}
	_, err := f.Do("site_hold", string(min(until, schema.DateOf(f.Time.Add(maxHold)))), f.site)
	return err
}

// maxRefused bounds the number of messages about invalid properties.
const maxRefused = 20

// recordInvalid records that a property is invalid. It returns an error that the property did
// not cause.
func (f *finishing) recordInvalid(property string, err error) error {
	if err == nil || !tables.IsRefusal(err) {
		return err
	}
	f.recordRefusal(property, "cannot be followed: "+tables.ClientMessage(err))
	return nil
}

func (f *finishing) recordRefusal(property, reason string) {
	err := fmt.Errorf("property %s %s", property, reason)
	if f.refused[err.Error()] || len(f.refused) >= maxRefused {
		return
	}
	if f.refused == nil {
		f.refused = map[string]bool{}
	}
	f.refused[err.Error()] = true
	f.saved.Refused = append(f.saved.Refused, err)
}

// hold is the claim of a batch on the rows of a site in one status.
type hold struct {
	*tx
	site            string
	batchID, status int64
	counter         string               // the column that counts finished rows
	rows            map[string]*wire.URL // the rows of the results; only their heldColumns are known
	unknown         bool                 // only the database knows the rows after a change
	changes         []*rowChange         // of rows that are not written yet
}

// rowChange is the same change of several rows with values of their own.
type rowChange struct {
	columns, extra []string // that are set, and more assignments
	rows           [][]any  // Site_Id, URLMd5, and the values of columns
}

// heldColumns are the columns that the counters and the claim of a batch depend on.
var heldColumns = slices.DeleteFunc(slices.Clone(wire.URLColumns), func(c schema.Column) bool {
	return c.Name != "Batch_Id" && !slices.ContainsFunc(counters.TallyColumns, func(t schema.Column) bool { return t.Name == c.Name })
})

// changeRows reads the rows of keys and counts what change does to them. Known is false if
// change did more than finishRow.
func (h *hold) changeRows(keys []string, change func() (known bool, err error)) error {
	h.rows = make(map[string]*wire.URL, len(keys))
	rows := make([]*wire.URL, 0, len(keys))
	read := tables.EachRow(func(u *wire.URL) []any { return append([]any{&u.URLMd5}, schema.Targets(u, heldColumns)...) }, func(u wire.URL) error {
		h.rows[u.URLMd5] = &u
		rows = append(rows, &u)
		return nil
	})
	err := tables.ForEachChunk(tables.SortUnique(keys), func(in string, args []any) error {
		text := "SELECT URLMd5, " + tables.ColumnList(heldColumns) + " FROM " + h.SiteTable(sqldb.URLs, h.site) + tables.OfKeys + in + h.DB.ForUpdate()
		return h.Each(text, slices.Concat([]any{h.site}, args), read)
	})
	if err != nil {
		return err
	}
	return h.CountedRows(h.site, rows, func() (bool, error) {
		known, err := change()
		return known && !h.unknown, err
	})
}

// finishRow changes a row that the batch holds, and reports whether it holds the row; write must
// follow. A row at the end of its stage has its Attempts reset; an unfinished one does not. Values
// are adapted to their columns, because they come from pages and servers.
func (h *hold) finishRow(md5 string, set schema.Patch, count bool) (held bool, err error) {
	row := h.rows[md5]
	if row == nil || row.Status != h.status || row.BatchID != h.batchID {
		return false, nil
	}
	set = schema.Fit(set, wire.URLColumns)
	for _, column := range []string{"Site_Id", "URL", "URLMd5"} {
		delete(set, column)
	}
	var extra []string
	if count {
		delete(set, h.counter)
		extra = []string{h.counter + " = " + h.counter + " + 1"}
	}
	status, given := set["Status"].(int64)
	if given && status >= wire.StatusCrawled && status > h.status {
		extra = append(extra, "Attempts = 0")
	}
	if tables.HasExpressions(set) {
		if err := h.SetRow(h.URLsTarget("result", h.site), md5, set, extra...); err != nil {
			return false, err
		}
	} else if len(set)+len(extra) > 0 { // otherwise the result may still have links
		h.noteChange(md5, set, extra)
	}
	h.unknown = h.unknown || !counters.IsPlainChange(set)
	schema.Apply(row, heldColumns, set, "")
	switch {
	case count && h.counter == "Crawled":
		row.Crawled++
	case count:
		row.Processed++
	}
	if given {
		err = h.StatisticsOf(h.site).RecordStatus(md5, status, set)
	}
	return true, err
}

// noteChange notes a change without expressions.
func (h *hold) noteChange(md5 string, set schema.Patch, extra []string) {
	columns := tables.SortedColumns(set)
	values := make([]any, 0, len(columns)+3)
	values = append(values, h.site, md5)
	for _, name := range columns {
		values = append(values, h.ValueOf(name, set[name]))
	}
	for _, c := range h.changes {
		if slices.Equal(c.columns, columns) && slices.Equal(c.extra, extra) {
			c.rows = append(c.rows, values)
			return
		}
	}
	h.changes = append(h.changes, &rowChange{columns, extra, [][]any{values}})
}

// writeChanges writes what finish has changed, many rows with one statement.
func (h *hold) writeChanges() error {
	for _, c := range h.changes {
		if err := h.setRows(h.site, c); err != nil {
			return err
		}
	}
	h.changes = nil
	return nil
}

// setRows changes rows that exist and are locked. One INSERT for them all, which finds its rows in
// the table, is several times faster on MySQL than an UPDATE of each.
func (t *tx) setRows(site string, c *rowChange) error {
	clause, given := t.DB.Upsert("Site_Id", "URLMd5")
	columns := slices.Concat([]string{"Site_Id", "URLMd5"}, c.columns)
	if !slices.Contains(columns, "CDate") { // an INSERT needs it
		columns = append(columns, "CDate")
		for i := range c.rows {
			c.rows[i] = append(c.rows[i], t.Now)
		}
	}
	assign := tables.MapSlice(c.columns, func(name string) string { return "`" + name + "` = " + given(name) })
	return t.WriteRows("INSERT INTO "+t.SiteTable(sqldb.URLs, site)+" (`"+strings.Join(columns, "`, `")+"`)", c.rows, clause+strings.Join(append(assign, c.extra...), ", "))
}

// FinishProcess stores results of a batch for the rows that it still holds (Status 6).
// The site's TcDateProcess becomes the current time. It returns the expressions of the results
// that cannot be followed, in at most maxRefused messages; the site gets their bit. An unknown site is an error with
// CodeNotFound.
func (s *Store) FinishProcess(ctx context.Context, site string, batchID int64, results []wire.Extracted) (refused []error, err error) {
	err = s.run.Update(ctx, "FinishProcess", func(t *tx) error {
		f := &finishing{
			hold:        hold{tx: t, batchID: batchID, status: wire.StatusProcessing, counter: "Processed"},
			expressions: wire.ProcessorExpressions,
		}
		if f.site, err = t.OpenSite(site); err != nil {
			return err
		}
		var held []*wire.Fetched // those with expressions
		keys := tables.MapSlice(results, func(r wire.Extracted) string { return r.URLMd5 })
		err = f.changeRows(keys, func() (bool, error) {
			for _, r := range results {
				found, err := f.finishRow(r.URLMd5, r.Set, r.Processed)
				if err != nil {
					return false, err
				}
				if found && len(r.Expressions) > 0 {
					held = append(held, &wire.Fetched{URLMd5: r.URLMd5, Expressions: r.Expressions})
				}
			}
			if err := f.writeChanges(); err != nil {
				return false, err
			}
			return len(withExpressions(held, wire.ObjectURL)) == 0, f.evaluateURLs(held)
		})
		if err == nil {
			err = f.evaluateSite(held)
		}
		if err != nil {
			return err
		}
		if refused = f.saved.Refused; len(refused) > 0 {
			if err := f.TouchSite(f.site, errormask.Initialization); err != nil {
				return err
			}
		}
		_, err = t.Do("site_touch_process", t.Now, f.site)
		return err
	})
	return refused, err
}

// Fields of forms become properties of their site (docs/spec/crawling.md 5.2). Pages
// choose them, so their number and length are limited.
const (
	formPrefix    = "HTTP_POST_FORM_"
	MaxFormFields = 200  // per site
	maxFormValue  = 4096 // bytes
)

// keepFormFields adds the fields that the site does not have; the first of a name wins.
func (f *finishing) keepFormFields(pages []*wire.Fetched) error {
	if !slices.ContainsFunc(pages, func(p *wire.Fetched) bool { return len(p.FormFields) > 0 }) {
		return nil
	}
	stored, err := tables.NamedColumn[string](f.tx.tableTx, "site_property_names", f.site)
	if err != nil {
		return err
	}
	known := map[string]bool{} // in upper case, because keys of MySQL ignore case
	for _, name := range stored {
		if name = strings.ToUpper(name); strings.HasPrefix(name, formPrefix) {
			known[name] = true
		}
	}
	var rows []schema.Patch
	for _, page := range pages {
		for _, name := range slices.Sorted(maps.Keys(page.FormFields)) {
			value, upper := page.FormFields[name], strings.ToUpper(name)
			if !strings.HasPrefix(name, formPrefix) || known[upper] || len(known) >= MaxFormFields || len(value) > maxFormValue {
				continue
			}
			row := schema.Patch{"Name": name, "Value": value, "URLMd5": ""}
			if fitted := schema.Fit(row, wire.PropertyColumns); fitted["Name"] != name || fitted["Value"] != value {
				continue // a changed field is another field
			}
			known[upper] = true
			rows = append(rows, row)
		}
	}
	return f.PutList("form", tables.PropertiesInfo, f.site, rows)
}
