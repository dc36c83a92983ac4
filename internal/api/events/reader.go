package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

const (
	rowsAtOnce = 500
	sweepShare = 20               // pause after a sweep of a site that changes, in times of its duration
	slowLook   = 30 * time.Second // between questions that are asked without a change
	noRows     = "1000-01-01 00:00:00"
)

// reader turns the change stream into events. It belongs to one goroutine.
type reader struct {
	store   *store
	service service.Service
	pauses  func(ctx context.Context) string // why the managers pause; "": they do not
	overlap time.Duration
	now     func() time.Time
	log     *slog.Logger
	notify  func() // is called when there are events

	states  map[string]siteState // nil: not read
	watched map[string]watched
	begun   bool
	listing time.Duration // of the sites, in the last round
	paused  string
	asked   time.Time // about pauses
}

// watched is what is known of a site since the start of this process.
type watched struct {
	counters string
	until    time.Time // a site without a change of its counters is read until then
	swept    time.Time
	took     time.Duration // by the last sweep
	asked    time.Time     // whether it is finished
}

// load reads what the log knows.
func (r *reader) load(ctx context.Context) (err error) {
	if r.states != nil {
		return nil
	}
	if r.begun, err = r.store.hasBegun(ctx); err != nil {
		return err
	}
	r.states, err = r.store.states(ctx)
	return err
}

// readSites makes one round. An error of one site does not keep the others from their turn. ready: there is no site whose pages are being
// recorded without events.
func (r *reader) readSites(ctx context.Context) (ready bool, err error) {
	if err := r.load(ctx); err != nil {
		return false, err
	}
	start := time.Now()
	sites, err := subcommand.Sites(ctx, r.service)
	r.listing = time.Since(start)
	if err != nil {
		return false, fmt.Errorf("list sites: %w", err)
	}
	known := map[string]bool{}
	for _, site := range sites {
		known[site.ID] = true
	}
	if !r.begun {
		if err := r.beginLog(ctx, sites); err != nil {
			return false, err
		}
	}
	r.askPauses(ctx, sites)
	var failed []error
	for i := range sites {
		if err := r.readSite(ctx, &sites[i]); err != nil {
			failed = append(failed, fmt.Errorf("site %s: %w", sites[i].ID, err))
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	ready = true
	for id, state := range r.states {
		ready = ready && !state.Silent
		if !known[id] {
			failed = append(failed, r.removeSite(ctx, id))
		}
	}
	return ready, errors.Join(failed...)
}

// beginLog records the sites that are there.
func (r *reader) beginLog(ctx context.Context, sites []wire.Site) error {
	var ids []string
	for i := range sites {
		ids = append(ids, sites[i].ID)
		r.states[sites[i].ID] = siteState{Silent: true}
	}
	err := r.store.begin(ctx, ids)
	if err != nil {
		r.states = nil
	}
	r.begun = err == nil
	return err
}

func (r *reader) removeSite(ctx context.Context, id string) error {
	if err := r.store.removeSite(ctx, id, Event{Type: SiteDeleted, Time: r.now().UTC(), Data: EventData{Site: id}}); err != nil {
		return err
	}
	delete(r.states, id)
	delete(r.watched, id)
	r.notify()
	return nil
}

// countersOf changes with each change of a site or its rows that counters show.
func countersOf(s *wire.Site) string {
	return fmt.Sprint(s.State, s.Resources, s.Contents, s.CollectedURLs, s.NewURLs, s.CrawlingURLs, s.ProcessingURLs, s.DeletedURLs, s.Size, s.Errors, s.TcDate, s.TcDateProcess, s.UDate, s.AVGSpeedCounter)
}

// readSite reads one site.
func (r *reader) readSite(ctx context.Context, site *wire.Site) error {
	w, state, counters, now := r.watched[site.ID], r.states[site.ID], countersOf(site), r.now()
	changed := w.counters != counters
	if changed {
		w.until = now.Add(r.overlap)
	}
	v := visit{reader: r, site: site, state: state, changed: changed}
	if changed || state.Worked && (state.Finished || now.Sub(w.asked) >= slowLook) {
		if err := v.askFinished(ctx); err != nil { // before the rows: those that it knows are read
			return err
		}
		w.asked = now
	}
	if !state.Silent && (changed || now.Before(w.until)) {
		if err := v.readChanges(ctx); err != nil {
			return err
		}
	}
	if state.Silent || v.state.Swept != counters && now.Sub(w.swept) >= sweepShare*w.took {
		if err := v.sweep(ctx, counters); err != nil {
			return err
		}
		w.swept = r.now()
		w.took = w.swept.Sub(now)
	}
	if err := v.tellSite(ctx); err != nil {
		return err
	}
	w.counters = counters
	r.watched[site.ID] = w
	return nil
}

// visit is one look at a site.
type visit struct {
	*reader
	site    *wire.Site
	state   siteState
	changed bool
	failed  bool // the last request of the stream
	asked   bool // whether the site is finished: state.Finished is of this visit
}

// write writes a change with the state.
func (v *visit) write(ctx context.Context, c change) error {
	if v.state.Silent {
		c.events = nil
	}
	if c.hasNone() && v.state == v.states[v.site.ID] {
		return nil
	}
	if err := v.store.apply(ctx, v.site.ID, c, v.state); err != nil {
		return err
	}
	v.states[v.site.ID] = v.state
	if len(c.events) > 0 {
		v.notify()
	}
	return nil
}

// readChanges reads the rows that have changed since the watermark.
func (v *visit) readChanges(ctx context.Context) error {
	from, key := v.overlapStart(), ""
	for {
		where := "`UDate` > '" + from + "' OR (`UDate` = '" + from + "' AND `URLMd5` > '" + key + "')"
		rows, err := pages.Rows(ctx, v.service, v.site.ID, where, "`UDate` ASC, `URLMd5` ASC", rowsAtOnce)
		if err != nil || len(rows) == 0 {
			return err
		}
		var keys []string
		for i := range rows {
			keys = append(keys, rows[i].URLMd5)
		}
		last, err := v.store.versions(ctx, v.site.ID, keys)
		if err != nil {
			return err
		}
		var c change
		for i := range rows {
			c.addRow(&rows[i], last[rows[i].URLMd5], v.now().UTC())
			if rows[i].Crawled > 0 || rows[i].Retries > 0 {
				v.failed = isFailed(&rows[i])
			}
		}
		end := rows[len(rows)-1]
		from, key = string(end.UDate), end.URLMd5
		v.state.Worked = v.state.Worked || len(c.events) > 0 || from > v.state.Watermark
		v.state.Watermark = max(v.state.Watermark, from)
		if err := v.write(ctx, c); err != nil {
			return err
		}
		if len(rows) < rowsAtOnce {
			return nil
		}
	}
}

// overlapStart returns the date before the watermark at which the stream is read.
func (v *visit) overlapStart() string {
	at, ok := schema.Date(v.state.Watermark).Time()
	if !ok {
		return noRows
	}
	return string(schema.DateOf(at.Add(-v.overlap)))
}

// sweep compares all keys of a site with the versions that were told. counters are those before it. After a kill it begins again.
func (v *visit) sweep(ctx context.Context, counters string) error {
	newest, err := pages.Rows(ctx, v.service, v.site.ID, "`UDate` IS NOT NULL", "`UDate` DESC", 1)
	if err != nil {
		return err
	}
	for after := ""; ; {
		c, last, err := v.compareKeys(ctx, after)
		if err != nil {
			return err
		}
		if after = last; last != "" {
			if err := v.write(ctx, c); err != nil {
				return err
			}
			continue
		}
		if v.state.Swept = counters; len(newest) > 0 {
			v.state.Watermark = max(v.state.Watermark, string(newest[0].UDate))
		}
		err = v.write(ctx, c)
		if err == nil && v.state.Silent {
			v.state.Silent, v.state.Worked = false, !v.state.Finished
			err = v.write(ctx, change{})
		}
		return err
	}
}

// compareKeys compares a portion of the keys behind a key. It returns the last key, "" if there are no more.
func (v *visit) compareKeys(ctx context.Context, after string) (c change, last string, err error) {
	rows, err := pages.Rows(ctx, v.service, v.site.ID, "`URLMd5` > '"+after+"'", "`URLMd5` ASC", rowsAtOnce)
	if err != nil {
		return c, "", err
	}
	if len(rows) == rowsAtOnce {
		last = rows[len(rows)-1].URLMd5
	}
	before, err := v.store.versionsBetween(ctx, v.site.ID, after, last)
	if err != nil {
		return c, "", err
	}
	for i := range rows {
		c.addRow(&rows[i], before[rows[i].URLMd5], v.now().UTC())
		delete(before, rows[i].URLMd5)
	}
	v.state.Worked = v.state.Worked || len(c.events) > 0
	for _, one := range before {
		c.addDeleted(v.site.ID, one, v.now().UTC())
	}
	return c, last, nil
}
