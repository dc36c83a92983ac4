package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
)

// The Freq of known links is raised later, for many pages together (Options.FreqDelay): the links
// of a page lie all over the table, and each raised row rewrites a page of the database. So
// many additions wait longer than few. They are stored in the order of the rows, a part with each
// FinishCrawl: a page of the database is rewritten once, and no transaction is long.
//
// A row that is deleted, or reset by SITE_CLEANUP, and made again in the meantime may be raised
// by pages from before.

// raised is an addition to the Freq of a row.
type raised struct {
	key linkKey
	row uint32 // rowid in SQLite, to be checked by the key; 0: not known
	n   int64
}

// placeColumn is the column with the place of a row; 0 in MySQL, which orders rows by their keys.
func (t *tx) placeColumn() string {
	if t.DB.Dialect() == expr.MySQL {
		return "0"
	}
	return "rowid"
}

// placeOf is a rowid as raised has it. A larger one counts as not known.
func placeOf(rowid int64) uint32 {
	if rowid < 0 || rowid > math.MaxUint32 {
		return 0
	}
	return uint32(rowid)
}

// freqSum are the additions to the Freq of rows by key.
type freqSum map[linkKey]addition

type addition struct {
	row uint32
	n   int64
}

func (s freqSum) add(list []raised) {
	for _, r := range list {
		s[r.key] = addition{r.row, s[r.key].n + r.n}
	}
}

// freqLimits say when additions are stored.
type freqLimits struct {
	few     int           // a site with at most that many is stored after FreqDelay and by Flush
	longest time.Duration // a site with more waits that long
	most    int           // of all sites
	part    int           // at least that many are stored together
}

var defaultFreqLimits = freqLimits{few: 1 << 12, longest: time.Minute, most: 1 << 19, part: 1 << 10}

// freqMemory holds additions to the Freq of rows. Goroutines may share it.
type freqMemory struct {
	freqLimits
	flushing sync.Mutex // held by FlushAll
	mu       sync.Mutex
	sites    map[string]*siteFreq // those with additions
	epochs   map[string]int64     // of the last additions to a site; see linkMemory
	size     int                  // of all sites
	idle     *time.Timer          // runs FlushAll
}

// siteFreq are the additions of a site.
type siteFreq struct {
	sum   freqSum
	since time.Time // of the oldest in sum
	queue []raised  // earlier ones in the order of the rows
}

func (s *siteFreq) size() int { return len(s.sum) + len(s.queue) }

// stale reports whether the last additions to a site are of another epoch.
func (m *freqMemory) stale(site string, epoch int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.epochs[site]
	return known && last != epoch
}

// add adds to what waits for a site, in an epoch.
func (m *freqMemory) add(site string, epoch int64, list []raised, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epochs == nil {
		m.epochs = map[string]int64{}
	}
	m.epochs[site] = epoch
	m.addAll(site, list, now)
}

// giveBack adds a list that could not be stored.
func (m *freqMemory) giveBack(site string, list []raised, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addAll(site, list, now)
}

func (m *freqMemory) addAll(site string, list []raised, now time.Time) {
	if m.idle != nil {
		m.idle.Stop()
	}
	if len(list) == 0 {
		return
	}
	s := m.site(site)
	m.size -= s.size()
	if len(s.sum) == 0 {
		s.sum, s.since = freqSum{}, now
	}
	s.sum.add(list)
	m.size += s.size()
}

func (m *freqMemory) site(id string) *siteFreq {
	s := m.sites[id]
	if s == nil {
		if m.sites == nil {
			m.sites = map[string]*siteFreq{}
		}
		s = &siteFreq{}
		m.sites[id] = s
	}
	return s
}

// ripe removes and returns the sum of a site whose queue is empty, if it should be stored now.
func (m *freqMemory) ripe(site string, delay time.Duration, now time.Time) freqSum {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil || len(s.queue) > 0 {
		return nil
	}
	n, age := len(s.sum), now.Sub(s.since)
	if n > m.few {
		delay = m.longest
	}
	if age < delay && m.size < m.most {
		return nil
	}
	return m.remove(site, s)
}

// remove removes and returns all additions of a site.
func (m *freqMemory) remove(site string, s *siteFreq) freqSum {
	m.size -= s.size()
	delete(m.sites, site)
	if s.sum == nil {
		s.sum = freqSum{}
	}
	s.sum.add(s.queue)
	return s.sum
}

// all removes and returns all additions of a site.
func (m *freqMemory) all(site string) freqSum {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sites[site]; s != nil {
		return m.remove(site, s)
	}
	return freqSum{}
}

// put adds a list in the order of the rows to the queue of a site.
func (m *freqMemory) put(site string, list []raised) {
	if len(list) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.site(site)
	s.queue = append(s.queue, list...)
	m.size += len(list)
}

// next removes and returns the first part of a site's queue, of least additions if it has as
// many. The more additions wait, the larger is the part, so that the memory does not grow without
// end.
func (m *freqMemory) next(site string, least int) []raised {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil || len(s.queue) == 0 {
		return nil
	}
	n := min(max(least, m.size/64), len(s.queue))
	part := s.queue[:n]
	s.queue = s.queue[n:]
	m.size -= n
	if s.size() == 0 {
		delete(m.sites, site)
	}
	return part
}

// waiting lists the sites with at most that many additions; 0: all sites.
func (m *freqMemory) waiting(most int) (sites []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, site := range slices.Sorted(maps.Keys(m.sites)) {
		if most == 0 || m.sites[site].size() <= most {
			sites = append(sites, site)
		}
	}
	return sites
}

// listOf is sum in the order of the rows.
func listOf(sum freqSum) []raised {
	list := make([]raised, 0, len(sum))
	for key, a := range sum {
		list = append(list, raised{key, a.row, a.n})
	}
	return inOrder(list)
}

// inOrder sorts a list by its rows, and those that are not known by their keys.
func inOrder(list []raised) []raised {
	slices.SortFunc(list, func(a, b raised) int {
		if a.row != b.row {
			return cmp.Compare(a.row, b.row)
		}
		return bytes.Compare(a.key[:], b.key[:])
	})
	return list
}

// duePart removes and returns additions that the next transaction should store.
func (s *Store) duePart(site string, now time.Time) []raised {
	s.freq.put(site, listOf(s.freq.ripe(site, s.o.FreqDelay, now)))
	return s.freq.next(site, s.freq.part)
}

// raiseFreq adds to the Freq of rows, with one UPDATE for each distinct number and list of
// keys. Each key must be in list once. Missing rows are ignored.
func (t *tx) raiseFreq(site string, list []raised) error {
	groups := map[raised][]*raised{} // by n, and whether row is known
	for i := range list {
		r := &list[i]
		g := raised{n: r.n, row: min(r.row, 1)}
		groups[g] = append(groups[g], r)
	}
	for _, g := range slices.SortedFunc(maps.Keys(groups), func(a, b raised) int { return cmp.Compare(a.n, b.n) }) {
		raise := t.raiseKeys
		if g.row != 0 {
			raise = t.raiseRows
		}
		if err := raise(site, g.n, groups[g]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) raiseText(site string) string {
	return "UPDATE " + t.table(sqldb.URLs, site) + " SET Freq = Freq + ?"
}

func (t *tx) raiseKeys(site string, n int64, list []*raised) error {
	_, err := execIn(t, mapped(list, func(r *raised) string { return textOf(r.key) }), t.raiseText(site)+ofKeys, n, site)
	return err
}

// raiseRows is raiseKeys without a look-up of the keys, if the rows are still at their rowids.
func (t *tx) raiseRows(site string, n int64, list []*raised) error {
	return chunks(list, func(in string, links []any) error {
		rows, keys, distinct := make([]any, len(links)), make([]any, len(links)), int64(0)
		for i, l := range links {
			if i > 0 && l == links[i-1] { // it fills the list
				rows[i], keys[i] = rows[i-1], keys[i-1]
				continue
			}
			r := l.(*raised)
			rows[i], keys[i], distinct = r.row, textOf(r.key), distinct+1
		}
		found, err := t.Exec(t.raiseText(site)+" WHERE rowid IN "+in+" AND +Site_Id = ? AND +URLMd5 IN "+in, slices.Concat([]any{n}, rows, []any{site}, keys)...)
		if err != nil || found == distinct {
			return err
		}
		_, err = t.Exec(t.raiseText(site)+ofKeys+in+" AND +rowid NOT IN "+in, slices.Concat([]any{n, site}, keys, rows)...)
		return err
	})
}

// Flush stores what FinishCrawl has not yet added to the Freq of rows; see
// Options.FreqDelay. Call it at the end of a batch. What waits for a large site is stored
// by the next FinishCrawl or, if none follows within FreqDelay, in the background.
func (s *Store) Flush(ctx context.Context) error {
	err := s.flush(ctx, s.freq.few)
	s.freq.mu.Lock()
	defer s.freq.mu.Unlock()
	switch {
	case len(s.freq.sites) == 0:
	case s.freq.idle != nil:
		s.freq.idle.Reset(s.o.FreqDelay)
	default:
		s.freq.idle = time.AfterFunc(s.o.FreqDelay, func() {
			if err := s.FlushAll(context.Background()); err != nil {
				s.o.Log.Warn("cannot count links", "error", err) // the next batch does
			}
		})
	}
	return err
}

// FlushAll is Flush for all sites. Call it before the database is closed.
func (s *Store) FlushAll(ctx context.Context) error { return s.flush(ctx, 0) }

// flush stores what waits for sites with at most few additions; 0: for all sites.
func (s *Store) flush(ctx context.Context, few int) error {
	s.freq.flushing.Lock()
	defer s.freq.flushing.Unlock()
	for _, id := range s.freq.waiting(few) {
		if err := s.flushSite(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) flushSite(ctx context.Context, id string) error {
	s.freq.put(id, listOf(s.freq.all(id)))
	for part := s.freq.next(id, s.freq.few); len(part) > 0; part = s.freq.next(id, s.freq.few) {
		err := s.update(ctx, "Flush", func(t *tx) error {
			site, err := t.storedID(id)
			if err != nil || site == "" {
				return err
			}
			return t.raiseFreq(site, part)
		})
		if err != nil {
			s.freq.giveBack(id, part, s.o.Now())
			return err
		}
	}
	return nil
}
