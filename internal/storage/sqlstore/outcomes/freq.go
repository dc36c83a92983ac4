package outcomes

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
)

// The Freq of known links is raised later, for many pages together (Options.FreqDelay): the links
// of a page lie all over the table, and each raised row rewrites a page of the database. So
// many additions wait longer than few. They are stored in the order of the rows, a part with each
// FinishCrawl: a page of the database is rewritten once, and no transaction is long.
//
// In SQLite additions are kept by rowid, two bytes for a row. A rowid is that of the same row as long as
// the epoch is the same, which changes when rows of the site are deleted and by VACUUM. After that the
// keys of the rows decide: additions to rows that were deleted or that VACUUM has moved are lost. A row
// that is deleted and made again in the meantime may be raised by pages from before.

// raised is an addition to the Freq of a row.
type raised struct {
	row   uint32  // rowid in SQLite; 0: not known
	check uint8   // of the key, if row is known
	key   linkKey // if row is not known
	n     int64
}

// additionOf is that of n pages with a link.
func (m *metLink) additionOf(n int64) raised {
	if m.row == 0 {
		return raised{key: m.key, n: n}
	}
	return raised{row: m.row, check: checkOf(m.key), n: n}
}

func checkOf(k linkKey) uint8 { return k[len(k)-1] }

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

const blockRows = 32

// freqBlock has additions to rows next to each other.
type freqBlock struct{ n, check [blockRows]uint8 }

// freqSum are additions to the Freq of rows. The zero value has none.
type freqSum struct {
	blocks map[uint32]*freqBlock // by rowid / blockRows
	rows   int                   // in blocks
	more   map[uint32]int64      // by rowid: what a block cannot hold
	keys   map[linkKey]int64     // of rows whose place is not known
	order  []uint32              // of blocks, between two calls of take
	sorted []linkKey             // of keys
}

func (s *freqSum) addAll(list []raised) {
	if s.blocks == nil {
		s.blocks, s.more, s.keys = map[uint32]*freqBlock{}, map[uint32]int64{}, map[linkKey]int64{}
	}
	s.order, s.sorted = nil, nil
	for _, r := range list {
		if r.row == 0 {
			s.keys[r.key] += r.n
			continue
		}
		at, i := r.row/blockRows, r.row%blockRows
		b := s.blocks[at]
		if b == nil {
			b = &freqBlock{}
			s.blocks[at] = b
		}
		if b.n[i] == 0 {
			s.rows++
			b.check[i] = r.check
		}
		n := int64(b.n[i]) + r.n
		b.n[i] = uint8(min(n, math.MaxUint8))
		if n > math.MaxUint8 {
			s.more[r.row] += n - math.MaxUint8
		}
	}
}

// takeFirst removes and returns the first additions, at most that many, in the order of the rows, each row
// once.
func (s *freqSum) takeFirst(most int) (list []raised) {
	for len(list) < most && len(s.blocks) > 0 {
		if len(s.order) == 0 {
			s.order = slices.Sorted(maps.Keys(s.blocks))
		}
		at := s.order[0]
		b := s.blocks[at]
		for i := 0; i < blockRows && len(list) < most; i++ {
			if b.n[i] > 0 {
				row := at*blockRows + uint32(i)
				list = append(list, raised{row: row, check: b.check[i], n: int64(b.n[i]) + s.more[row]})
				delete(s.more, row)
				b.n[i] = 0
			}
		}
		if b.n == [blockRows]uint8{} {
			delete(s.blocks, at)
			s.order = s.order[1:]
		}
	}
	s.rows -= len(list)
	for len(list) < most && len(s.keys) > 0 {
		if len(s.sorted) == 0 {
			s.sorted = slices.SortedFunc(maps.Keys(s.keys), func(a, b linkKey) int { return bytes.Compare(a[:], b[:]) })
		}
		key := s.sorted[0]
		s.sorted = s.sorted[1:]
		list = append(list, raised{key: key, n: s.keys[key]})
		delete(s.keys, key)
	}
	return list
}

// countRows is that of the rows.
func (s *freqSum) countRows() int { return s.rows + len(s.keys) }

// memorySize is about the bytes in memory.
func (s *freqSum) memorySize() int { return 100*len(s.blocks) + 50*len(s.keys) }

// inOrder returns additions with unique keys in the order of the rows.
func inOrder(list []raised) []raised {
	var sum freqSum
	sum.addAll(list)
	return sum.takeFirst(len(list))
}

// FreqLimits say when additions are stored.
type FreqLimits struct {
	Few     int           // a site with at most that many is stored after FreqDelay and by Flush
	Longest time.Duration // a site with more waits that long
	Most    int           // bytes of all sites
	Part    int           // at least that many are stored together
}

// DefaultFreqLimits are those of New.
var DefaultFreqLimits = FreqLimits{Few: 1 << 12, Longest: time.Minute, Most: 32 << 20, Part: 1 << 10}

// freqMemory holds additions to the Freq of rows. Goroutines may share it.
type freqMemory struct {
	FreqLimits
	flushing sync.Mutex // held by FlushAll
	mu       sync.Mutex
	sites    map[string]*siteFreq // those with additions
	epochs   map[string]int64     // of the last additions to a site; see linkMemory
	size     int                  // bytes of all sites
	idle     *time.Timer          // runs FlushAll
}

// siteFreq are the additions of a site.
type siteFreq struct {
	sum   freqSum
	since time.Time // of the oldest in sum
	queue freqSum   // earlier ones
}

// enqueueSum moves the sum to the queue.
func (s *siteFreq) enqueueSum() {
	if s.queue.countRows() == 0 {
		s.sum, s.queue = freqSum{}, s.sum
	} else if n := s.sum.countRows(); n > 0 {
		s.queue.addAll(s.sum.takeFirst(n))
	}
}

func (s *siteFreq) countRows() int { return s.sum.countRows() + s.queue.countRows() }

func (s *siteFreq) memorySize() int { return s.sum.memorySize() + s.queue.memorySize() }

// isStale reports whether the last additions to a site are of another epoch.
func (m *freqMemory) isStale(site string, epoch int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.epochs[site]
	return known && last != epoch
}

// changeSite calls do with the additions of a site.
func (m *freqMemory) changeSite(site string, do func(*siteFreq)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil {
		s = &siteFreq{}
	}
	m.size -= s.memorySize()
	do(s)
	m.size += s.memorySize()
	if s.countRows() == 0 {
		delete(m.sites, site)
		return
	}
	if m.sites == nil {
		m.sites = map[string]*siteFreq{}
	}
	m.sites[site] = s
}

// addWaiting adds to what waits for a site, in an epoch.
func (m *freqMemory) addWaiting(site string, epoch int64, list []raised, now time.Time) {
	m.changeSite(site, func(s *siteFreq) {
		if m.epochs == nil {
			m.epochs = map[string]int64{}
		}
		m.epochs[site] = epoch
		m.addAll(s, list, now)
	})
}

// giveBack adds a list that could not be stored.
func (m *freqMemory) giveBack(site string, list []raised, now time.Time) {
	m.changeSite(site, func(s *siteFreq) { m.addAll(s, list, now) })
}

func (m *freqMemory) addAll(s *siteFreq, list []raised, now time.Time) {
	if m.idle != nil {
		m.idle.Stop()
	}
	if s.sum.countRows() == 0 {
		s.since = now
	}
	s.sum.addAll(list)
}

// takeDue removes and returns additions of a site that should be stored now: a part of the queue, which
// gets the sum when it is empty and the sum is old enough. The more additions wait, the larger is the
// part, so that the memory does not grow without end.
func (m *freqMemory) takeDue(site string, delay time.Duration, now time.Time) (part []raised) {
	m.changeSite(site, func(s *siteFreq) {
		if s.queue.countRows() == 0 {
			if s.sum.countRows() > m.Few {
				delay = m.Longest
			}
			if now.Sub(s.since) < delay && m.size+s.memorySize() < m.Most {
				return
			}
			s.enqueueSum()
		}
		part = s.queue.takeFirst(max(m.Part, s.countRows()/256))
	})
	return part
}

// takeAll removes and returns the first additions of a site, at most that many, each row once.
func (m *freqMemory) takeAll(site string, most int) (list []raised) {
	m.changeSite(site, func(s *siteFreq) {
		s.enqueueSum()
		list = s.queue.takeFirst(most)
	})
	return list
}

// waitingSites lists the sites with at most that many additions; 0: all sites.
func (m *freqMemory) waitingSites(most int) (sites []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, site := range slices.Sorted(maps.Keys(m.sites)) {
		if most == 0 || m.sites[site].countRows() <= most {
			sites = append(sites, site)
		}
	}
	return sites
}

// raiseWaited is raiseFreq for additions of an epoch that is over if stale.
func (t *tx) raiseWaited(site string, list []raised, stale bool) error {
	if stale {
		var err error
		if list, err = t.keepUnmoved(site, list); err != nil {
			return err
		}
	}
	return t.raiseFreq(site, list)
}

// keepUnmoved returns the additions whose rows are where they were.
func (t *tx) keepUnmoved(site string, list []raised) ([]raised, error) {
	var rows []uint32
	for _, r := range list {
		if r.row != 0 {
			rows = append(rows, r.row)
		}
	}
	checks := map[uint32]uint8{}
	err := tables.EachIn(t.tableTx, rows, "SELECT rowid, URLMd5 FROM "+t.SiteTable(sqldb.URLs, site)+" WHERE +Site_Id = ? AND rowid IN ", []any{site}, tables.ScanPair(func(row uint32, md5 string) {
		if key, ok := linkKeyOf(md5); ok {
			checks[row] = checkOf(key)
		}
	}))
	return slices.DeleteFunc(slices.Clone(list), func(r raised) bool {
		check, found := checks[r.row]
		return r.row != 0 && (!found || check != r.check)
	}), err
}

// raiseFreq adds to the Freq of rows, with one UPDATE for each distinct number and list of
// rows. Each row must be in list once. Missing rows are ignored.
func (t *tx) raiseFreq(site string, list []raised) error {
	rows, keys := map[int64][]uint32{}, map[int64][]string{} // by n
	for _, r := range list {
		if r.row != 0 {
			rows[r.n] = append(rows[r.n], r.row)
		} else {
			keys[r.n] = append(keys[r.n], textOf(r.key))
		}
	}
	update := "UPDATE " + t.SiteTable(sqldb.URLs, site) + " SET Freq = Freq + ?"
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		if _, err := tables.ExecIn(t.tableTx, rows[n], update+" WHERE +Site_Id = ? AND rowid IN ", n, site); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(keys)) {
		if _, err := tables.ExecIn(t.tableTx, keys[n], update+tables.OfKeys, n, site); err != nil {
			return err
		}
	}
	return nil
}

// CountWaiting returns how many rows of a site wait for additions to their Freq.
func (s *Store) CountWaiting(site string) int {
	s.freq.mu.Lock()
	defer s.freq.mu.Unlock()
	if waiting := s.freq.sites[site]; waiting != nil {
		return waiting.countRows()
	}
	return 0
}

// Flush stores what FinishCrawl has not yet added to the Freq of rows; see
// Options.FreqDelay. Call it at the end of a batch. What waits for a large site is stored
// by the next FinishCrawl or, if none follows within FreqDelay, in the background.
func (s *Store) Flush(ctx context.Context) error {
	err := s.storeWaiting(ctx, s.freq.Few)
	s.freq.mu.Lock()
	defer s.freq.mu.Unlock()
	switch {
	case len(s.freq.sites) == 0:
	case s.freq.idle != nil:
		s.freq.idle.Reset(s.db.Options.FreqDelay)
	default:
		s.freq.idle = time.AfterFunc(s.db.Options.FreqDelay, func() {
			if err := s.FlushAll(context.Background()); err != nil {
				s.db.Options.Log.Warn("cannot count links", "error", err) // the next batch does
			}
		})
	}
	return err
}

// FlushAll is Flush for all sites. Call it before the database is closed.
func (s *Store) FlushAll(ctx context.Context) error { return s.storeWaiting(ctx, 0) }

// storeWaiting stores what waits for sites with at most few additions; 0: for all sites.
func (s *Store) storeWaiting(ctx context.Context, few int) error {
	s.freq.flushing.Lock()
	defer s.freq.flushing.Unlock()
	for _, id := range s.freq.waitingSites(few) {
		if err := s.flushSite(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) flushSite(ctx context.Context, id string) error {
	for part := s.freq.takeAll(id, s.freq.Few); len(part) > 0; part = s.freq.takeAll(id, s.freq.Few) {
		err := s.run.Update(ctx, "Flush", func(t *tx) error {
			site, err := t.StoredID(id)
			if err != nil || site == "" {
				return err
			}
			c, err := t.ReadCapacity(site)
			if err != nil {
				return err
			}
			epoch, err := t.epochOf(c)
			if err != nil {
				return err
			}
			return t.raiseWaited(site, part, s.freq.isStale(id, epoch))
		})
		if err != nil {
			s.freq.giveBack(id, part, s.db.Options.Now())
			return err
		}
	}
	return nil
}
