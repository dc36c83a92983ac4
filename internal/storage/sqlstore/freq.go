package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
)

// The Freq of known links is raised later, for many pages together (Options.FreqDelay): the links
// of a page lie all over the table, and each raised row rewrites a page of the database. So
// many additions wait longer than few. They are stored in the order of the rows, which is looked up in
// the background, a part with each FinishCrawl: a page of the database is rewritten once, and no
// transaction is long.
//
// A row that is deleted, or reset by SITE_CLEANUP, and made again in the meantime may be raised
// by pages from before.

// raised is an addition to the Freq of a row.
type raised struct {
	key linkKey
	row int64 // rowid in SQLite, to be checked by the key; 0: not known
	n   int64
}

// sumOf is the sum of a list by key.
func sumOf(list []raised) map[linkKey]int64 {
	sum := make(map[linkKey]int64, len(list))
	for _, r := range list {
		sum[r.key] += r.n
	}
	return sum
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
	sum    map[linkKey]int64
	since  time.Time // of the oldest in sum
	lookup *lookup   // earlier ones, whose order is being looked up; nil: none
	queue  []raised  // earlier ones in the order of the rows
}

// lookup are additions whose order is being looked up. They belong to a siteFreq as long as it refers
// to them.
type lookup struct{ sum map[linkKey]int64 }

func (s *siteFreq) size() int {
	n := len(s.sum) + len(s.queue)
	if s.lookup != nil {
		n += len(s.lookup.sum)
	}
	return n
}

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
		s.sum, s.since = map[linkKey]int64{}, now
	}
	for _, r := range list {
		s.sum[r.key] += r.n
	}
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

// ripe returns the sum of a site as a lookup, if it should be stored now and no earlier ones wait.
func (m *freqMemory) ripe(site string, delay time.Duration, now time.Time) *lookup {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil || s.lookup != nil || len(s.queue) > 0 {
		return nil
	}
	if len(s.sum) > m.few {
		delay = m.longest
	}
	if now.Sub(s.since) < delay && m.size < m.most {
		return nil
	}
	s.lookup, s.sum = &lookup{s.sum}, nil
	return s.lookup
}

// found makes the ordered list of a lookup the queue of its site. It does nothing if the additions were removed
// meanwhile.
func (m *freqMemory) found(site string, l *lookup, list []raised) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil || s.lookup != l {
		return
	}
	m.size -= s.size()
	s.lookup, s.queue = nil, list
	m.size += s.size()
	if s.size() == 0 {
		delete(m.sites, site)
	}
}

// remove removes and returns all additions of a site.
func (m *freqMemory) remove(site string, s *siteFreq) map[linkKey]int64 {
	m.size -= s.size()
	delete(m.sites, site)
	if len(s.queue) == 0 && s.lookup == nil {
		return s.sum
	}
	sum := sumOf(s.queue)
	add := func(more map[linkKey]int64) {
		for key, n := range more {
			sum[key] += n
		}
	}
	add(s.sum)
	if s.lookup != nil {
		add(s.lookup.sum)
	}
	return sum
}

// all removes and returns all additions of a site.
func (m *freqMemory) all(site string) map[linkKey]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sites[site]; s != nil {
		return m.remove(site, s)
	}
	return nil
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

// listOf is sum in the order of its keys.
func listOf(sum map[linkKey]int64) []raised {
	list := make([]raised, 0, len(sum))
	for key, n := range sum {
		list = append(list, raised{key: key, n: n})
	}
	return inOrder(list)
}

// inOrder sorts a list by its keys.
func inOrder(list []raised) []raised {
	slices.SortFunc(list, func(a, b raised) int { return bytes.Compare(a.key[:], b.key[:]) })
	return list
}

// ordered reports whether the order of n keys serves as that of their rows. MySQL orders rows by
// their keys, and the pages of a few rows fit into the cache in any order.
func (s *Store) ordered(n int) bool { return s.db.Dialect() == expr.MySQL || n <= s.freq.few }

// byRow is sum in the order of the rows of a site, without missing rows.
func (s *Store) byRow(ctx context.Context, id string, sum map[linkKey]int64) ([]raised, error) {
	list := listOf(sum)
	if s.ordered(len(list)) {
		return list, nil
	}
	return result(ctx, s.view, "FreqRows", func(t *tx) ([]raised, error) {
		site, err := t.storedID(id)
		if err != nil || site == "" {
			return nil, err
		}
		return t.places(site, list)
	})
}

// places returns a list, which is in the order of its keys, in the order of the rows. It leaves out
// those that do not exist.
func (t *tx) places(site string, list []raised) ([]raised, error) {
	placed := make([]raised, 0, len(list))
	for part := range slices.Chunk(list, chunkSizes[len(chunkSizes)-1]) {
		keys := mapped(part, func(r raised) string { return textOf(r.key) })
		err := eachIn(t, keys, "SELECT URLMd5, rowid FROM "+t.table(sqldb.URLs, site)+ofKeys, []any{site}, pair(func(md5 string, row int64) {
			if i, found := slices.BinarySearch(keys, md5); found {
				placed = append(placed, raised{part[i].key, row, part[i].n})
			}
		}))
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(placed, func(a, b raised) int { return cmp.Compare(a.row, b.row) })
	return placed, nil
}

// duePart removes and returns additions that the next transaction should store. Where the order of the
// rows must be looked up, the transactions after that have them.
func (s *Store) duePart(site string, now time.Time) []raised {
	switch l := s.freq.ripe(site, s.o.FreqDelay, now); {
	case l == nil:
	case s.ordered(len(l.sum)):
		s.freq.found(site, l, listOf(l.sum))
	default:
		go func() {
			list, err := s.byRow(context.Background(), site, l.sum)
			if err != nil {
				s.o.Log.Warn("cannot look up the rows of links; they are stored in the order of their keys", "site", site, "error", err)
				list = listOf(l.sum)
			}
			s.freq.found(site, l, list)
		}()
	}
	return s.freq.next(site, s.freq.part)
}

// raiseFreq adds to the Freq of rows, with one UPDATE for each distinct number and list of
// keys. Missing rows are ignored.
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

// raiseRows is raiseKeys without a look-up of the keys. It skips rowids that now belong to other
// keys.
func (t *tx) raiseRows(site string, n int64, list []*raised) error {
	return chunks(list, func(in string, links []any) error {
		args := make([]any, 0, 2*len(links)+2)
		args = append(args, n)
		for _, r := range links {
			args = append(args, r.(*raised).row)
		}
		args = append(args, site)
		for _, r := range links {
			args = append(args, textOf(r.(*raised).key))
		}
		_, err := t.Exec(t.raiseText(site)+" WHERE rowid IN "+in+" AND +Site_Id = ? AND +URLMd5 IN "+in, args...)
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
	sum := s.freq.all(id)
	list, err := s.byRow(ctx, id, sum)
	if err != nil {
		s.freq.giveBack(id, listOf(sum), s.o.Now())
		return err
	}
	s.freq.put(id, list)
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
