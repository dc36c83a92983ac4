// Package feed keeps the index as the cluster is: it reads the change stream of each site.
//
//	f := feed.New(feed.Config{Index: x, Service: service})
//	changed, err := f.Round(ctx) // once
//	err = f.Run(ctx)             // for ever
//
// # The stream
//
// Each crawl and each processing of a URL sets UDate of its row. The feed asks for the rows whose UDate
// is not older than the watermark of the site, in the order of UDate and key, and moves the watermark.
// UDate has whole seconds, and a task sets it before it stores the row. So each round begins Overlap
// before the watermark. Rows that were seen there cost no further request: their version is known. A
// put of a document that is in the index already changes nothing but its text.
//
// # The sweep
//
// A deleted URL leaves no row, so no stream can tell. The first time, when the counters of a site have
// changed, and then every SweepEvery, the feed walks through all keys of a site, in their order, and
// compares them with the keys in the index: what is missing or has another version is read, what has no
// row is removed. That also finds a row that was stored later than Overlap after its UDate. While a site
// changes, sweeps take at most a twentieth of the time. A sweep continues after a kill where it was. When
// a node of a cluster is away the answer is incomplete, and the round of the site ends with an error
// before anything is removed.
//
// Watermark and position of a site are in the same transaction of the index as the documents: a kill
// loses nothing and doubles nothing.
//
// # Documents from elsewhere
//
// The journal of a Web Store, which the crawlers of hce-webserver fill, is read to its end in each
// round, with the position in the transaction of its documents.
//
// # What is in the index
//
// HTML pages after their processing; images and other files once they are fetched. A page that fails
// now, such as 404, stays with its last good version, as its cached copy does. It goes when its URL is
// deleted in the cluster, when it says noindex or its time is over (unavailable_after), or by expiry: with Expire the documents of a host that no crawler has visited
// for that time leave the index. Expire is off unless it is set: without recrawls every host would go.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Config are the settings of a feed. Zero values are the defaults.
type Config struct {
	Index      *index.Index
	Service    service.Service
	Every      time.Duration // between rounds; default 2 s
	SweepEvery time.Duration // between sweeps of a site; default 6 h
	Overlap    time.Duration // default 2 min
	Expire     time.Duration // 0: never
	WebStore   string        // journal of a Web Store (package webstore), which is read too; "": none
	Log        *slog.Logger
	Now        func() time.Time
}

const (
	rowsAtOnce   = 500
	pagesAtOnce  = 50               // contents of one request
	publishEvery = 20 * time.Second // during a long round
	maxRecent    = 100_000          // versions that are remembered
	manyRows     = 1 << 20
)

// Feed is the reader of the change stream. It belongs to one goroutine.
type Feed struct {
	Config
	recent    map[string]string // version by site and key
	sites     map[string]watched
	published time.Time
	expired   time.Time
	checked   time.Time
	skipped   []Skipped // by the last round
}

// watched is what is known of a site since the last round.
type watched struct {
	counters string
	until    time.Time     // a site without a change of its counters is read until then
	took     time.Duration // by the last sweep
}

// checkEvery is the time between two checks of all files of the index.
const checkEvery = 24 * time.Hour

// sweepShare is the pause after a sweep of a site that changes, in times of its duration.
const sweepShare = 20

// New returns a feed.
func New(c Config) *Feed {
	c.Every = cmp.Or(c.Every, 2*time.Second)
	c.SweepEvery = cmp.Or(c.SweepEvery, 6*time.Hour)
	c.Overlap = cmp.Or(c.Overlap, 2*time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Feed{Config: c, recent: map[string]string{}, sites: map[string]watched{}, published: c.Now(), checked: c.Now()}
}

// Run makes rounds until ctx is done. A round that fails is logged, and the next one tries again. A damaged
// index (index.ErrDamaged) and one that must be opened again (index.ErrBroken) end it.
func (f *Feed) Run(ctx context.Context) error {
	if err := f.Index.Publish(); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	skipped := map[string]int{} // that the log has, by reason
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		n, err := f.Round(ctx)
		switch text := fmt.Sprint(err); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrBroken):
			return err
		case err != nil && text != last:
			f.Log.Warn("round failed; trying again", "error", err)
			last = text
		case err == nil:
			last = ""
		}
		if n > 0 {
			f.Log.Info("indexed", "documents", n)
		}
		for _, s := range f.skipped {
			if known := skipped[s.Reason]; known != s.Count {
				f.Log.Warn("not indexed", "reason", s.Reason, "count", s.Count, "urls", s.URLs)
				skipped[s.Reason] = s.Count
			}
		}
		timer.Reset(f.Every)
	}
}

// checkIndex looks for damage of the index.
func (f *Feed) checkIndex() error {
	if now := f.Now(); now.Sub(f.checked) >= checkEvery {
		f.checked = now
		return f.Index.Check()
	}
	return nil
}

// Round reads what has changed, publishes it, and returns the number of documents that were stored or
// removed. An error of one site does not keep the others from their turn.
func (f *Feed) Round(ctx context.Context) (changed int, err error) {
	f.skipped = nil
	changed, err = f.webStore(ctx)
	failed := []error{err}
	sites, err := subcommand.Sites(ctx, f.Service)
	if err != nil {
		return changed, errors.Join(append(failed, fmt.Errorf("list sites: %w", err), f.publishChanges(0))...)
	}
	known := map[string]bool{webStoreSite: true}
	for _, site := range sites {
		known[site.ID] = true
		n, err := f.readSite(ctx, site)
		changed += n
		if ctx.Err() != nil {
			return changed, ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("index site %s: %w", site.ID, err))
		}
	}
	n, err := f.removeSites(ctx, known)
	changed, failed = changed+n, append(failed, err)
	n, err = f.removeHosts(ctx)
	changed, failed = changed+n, append(failed, err, f.publishChanges(0), f.checkIndex())
	return changed, errors.Join(failed...)
}

// readSite reads one site.
func (f *Feed) readSite(ctx context.Context, site wire.Site) (int, error) {
	now := f.Now()
	state, err := f.Index.Site(site.ID)
	if err != nil {
		return 0, err
	}
	counters := fmt.Sprint(site.Resources, site.Contents, site.CollectedURLs, site.NewURLs, site.DeletedURLs, site.Size, site.Errors, site.TcDate, site.TcDateProcess, site.UDate, site.AVGSpeedCounter)
	last, known := f.sites[site.ID]
	since := now.Sub(state.Swept)
	if state.Swept.IsZero() || state.Sweep != "" || since >= f.SweepEvery || state.Counters != counters && since >= sweepShare*last.took {
		n, err := f.sweepSite(ctx, site.ID, counters, state)
		last.took = f.Now().Sub(now)
		f.sites[site.ID] = last
		return n, err
	}
	if known && last.counters == counters && now.After(last.until) {
		return 0, nil
	}
	n, err := f.readChanges(ctx, site.ID, state)
	if err == nil && (!known || last.counters != counters) {
		last.counters, last.until = counters, now.Add(f.Overlap)
		f.sites[site.ID] = last
	}
	return n, err
}

// noRows is the sweep mark of a site without a changed row.
const noRows = "1000-01-01 00:00:00"

// sweepSite compares all keys of a site. counters are those before it.
func (f *Feed) sweepSite(ctx context.Context, site, counters string, state index.SiteState) (changed int, err error) {
	if state.Sweep == "" {
		newest, err := pages.Rows(ctx, f.Service, site, "`UDate` IS NOT NULL", "`UDate` DESC", 1)
		if err != nil {
			return 0, err
		}
		state.Sweep, state.Key = noRows, ""
		if len(newest) > 0 {
			state.Sweep = string(newest[0].UDate)
		}
	}
	for {
		rows, err := pages.Rows(ctx, f.Service, site, "`URLMd5` > '"+state.Key+"'", "`URLMd5` ASC", rowsAtOnce)
		if err != nil {
			return changed, err
		}
		last := ""
		if len(rows) == rowsAtOnce {
			last = rows[len(rows)-1].URLMd5
		}
		indexed, err := f.Index.Rows(ctx, site, state.Key, last, manyRows)
		if err != nil {
			return changed, err
		}
		c := f.compareRows(site, rows, indexed)
		if state.Key = last; last == "" {
			state = index.SiteState{Watermark: max(state.Watermark, state.Sweep), Swept: f.Now().UTC().Truncate(time.Second), Counters: counters}
		}
		n, err := f.storeDifference(ctx, site, c, state)
		if changed += n; err != nil || last == "" {
			return changed, err
		}
	}
}

// difference is what has to be done for some rows.
type difference struct {
	read   []wire.URL // rows with another version
	remove []string   // UUIDs
	hosts  []index.HostState
}

// compareRows compares rows with the documents in the same range of keys.
func (f *Feed) compareRows(site string, rows []wire.URL, indexed []index.Row) (d difference) {
	have, now := map[string]index.Row{}, f.Now()
	for _, one := range indexed {
		have[one.Key] = one
	}
	for i := range rows {
		row := &rows[i]
		one, found := have[row.URLMd5]
		delete(have, row.URLMd5)
		if found && mustRemove(row, now) { // such as a resource that was indexed before it was processed
			d.remove = append(d.remove, one.UUID)
			delete(f.recent, site+row.URLMd5)
		}
		if !isUsable(row, now) {
			f.skipRow(row, now)
			continue
		}
		d.hosts = appendHost(d.hosts, row)
		if !found || one.Version != rowVersion(row) {
			d.read = append(d.read, *row)
		}
	}
	for _, one := range have {
		d.remove = append(d.remove, one.UUID)
		delete(f.recent, site+one.Key)
	}
	return d
}

// readChanges reads the rows that have changed since the watermark.
func (f *Feed) readChanges(ctx context.Context, site string, state index.SiteState) (changed int, err error) {
	from, key, now := f.overlapStart(state.Watermark), "", f.Now()
	for {
		where := "`UDate` > '" + from + "' OR (`UDate` = '" + from + "' AND `URLMd5` > '" + key + "')"
		rows, err := pages.Rows(ctx, f.Service, site, where, "`UDate` ASC, `URLMd5` ASC", rowsAtOnce)
		if err != nil || len(rows) == 0 {
			return changed, err
		}
		var d difference
		for i := range rows {
			row := &rows[i]
			if mustRemove(row, now) {
				f.skipRow(row, now)
				delete(f.recent, site+row.URLMd5)
				if stored, err := f.Index.Version(search.UUIDOf(row.URL)); err != nil {
					return changed, err
				} else if stored != "" {
					d.remove = append(d.remove, search.UUIDOf(row.URL))
				}
				continue
			}
			if !isUsable(row, now) {
				f.skipRow(row, now)
				continue
			}
			if f.recent[site+row.URLMd5] == rowVersion(row) {
				continue
			}
			d.hosts = appendHost(d.hosts, row)
			stored, err := f.Index.Version(search.UUIDOf(row.URL))
			if err != nil {
				return changed, err
			}
			if stored != rowVersion(row) {
				d.read = append(d.read, *row)
			} else {
				f.rememberVersion(site, row)
			}
		}
		last := rows[len(rows)-1]
		from, key = string(last.UDate), last.URLMd5
		reached := state
		reached.Watermark = max(state.Watermark, from)
		if len(d.read)+len(d.remove) > 0 || reached != state {
			n, err := f.storeDifference(ctx, site, d, reached)
			if changed += n; err != nil {
				return changed, err
			}
			state = reached
		}
		if len(rows) < rowsAtOnce {
			return changed, nil
		}
	}
}

// overlapStart returns the date Overlap before a watermark.
func (f *Feed) overlapStart(watermark string) string {
	at, ok := schema.Date(watermark).Time()
	if !ok {
		return noRows
	}
	return string(schema.DateOf(at.Add(-f.Overlap)))
}

func (f *Feed) rememberVersion(site string, row *wire.URL) {
	if len(f.recent) >= maxRecent {
		clear(f.recent)
	}
	f.recent[site+row.URLMd5] = rowVersion(row)
}
