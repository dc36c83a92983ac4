package outcomes

import (
	"encoding/hex"
	"sync"
	"time"

	"hce/dc/internal/keyset"
	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/wire"
)

// epochOf is the epoch of the rows of a site (linkMemory). In SQLite it is another one after VACUUM, which
// gives the schema a new version, since it may move rows.
func (t *tx) epochOf(c limits.Capacity) (int64, error) {
	if t.schema == 0 && t.DB.Dialect() != expr.MySQL {
		if _, err := t.Row("PRAGMA schema_version", nil, &t.schema); err != nil {
			return 0, err
		}
	}
	return c.Rows ^ t.schema, nil
}

// linkMemory holds links that FinishCrawl met, with the places of their rows: most links of a page were
// on another page before. A link that is remembered has a row, or is queued for its owner, so it is not
// looked up again. Each site has an epoch in its row, which changes when rows are deleted: what was remembered
// in another epoch is not used. The zero value has no bound. Goroutines may share it.
type linkMemory struct {
	mu   sync.Mutex
	keys keyset.Set
}

// MaxRemembered bounds the links of all sites: 40 MB.
const MaxRemembered = 1 << 21

// SetMemory sets how many links a Store remembers at most, and how Freq waits. Call it before the first
// FinishCrawl.
func (s *Store) SetMemory(links int, freq FreqLimits) {
	s.links.keys.Max, s.freq.FreqLimits = links, freq
}

// linkKey is a URLMd5.
type linkKey = keyset.Key

func linkKeyOf(md5 string) (key linkKey, ok bool) {
	if len(md5) != hex.EncodedLen(len(key)) {
		return key, false
	}
	_, err := hex.Decode(key[:], []byte(md5))
	return key, err == nil
}

func textOf(k linkKey) string { return hex.EncodeToString(k[:]) }

// scopeOf returns that of an epoch of a site.
func (m *linkMemory) scopeOf(site string, epoch int64) keyset.Scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys.Scope(site, epoch)
}

func (m *linkMemory) findRow(scope keyset.Scope, key linkKey) (row uint32, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys.Number(scope, key)
}

func (m *linkMemory) keepLinks(scope keyset.Scope, known []*metLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range known {
		m.keys.Add(scope, l.key, l.row)
	}
}

// metLink is what one transaction knows of a link. Its key, which is that of its row, may be on many pages.
type metLink struct {
	key   linkKey
	valid bool      // key
	kept  bool      // the memory has it
	has   bool      // there is a row, or it was queued for its owner before
	fresh bool      // the row is new
	row   uint32    // see raised
	freq  int64     // on how many pages that are crawled for the first time
	page  int       // number of the last page that has it
	away  *wire.URL // queued for its owner
}

// linkOf returns what is known of the link of a key. first is true for the first call with this key.
func (f *finishing) linkOf(md5 string) (m *metLink, first bool) {
	if m = f.links[md5]; m != nil {
		return m, false
	}
	if len(f.slab) == 0 {
		f.slab = make([]metLink, 256)
	}
	m, f.slab = &f.slab[0], f.slab[1:]
	m.key, m.valid = linkKeyOf(md5)
	if f.links == nil {
		f.links = make(map[string]*metLink, 1024)
	}
	f.links[md5] = m
	return m, true
}

// hasRow reports whether the link of a key has a row.
func (f *finishing) hasRow(md5 string) bool {
	m := f.links[md5]
	return m != nil && m.has
}

// rememberLinks keeps the links of a transaction that is committed.
func (f *finishing) rememberLinks(now time.Time) {
	var known []*metLink
	for _, m := range f.links {
		if m.valid && !m.kept && (m.has || m.away != nil) { // one that is queued is not looked up again either
			known = append(known, m)
		}
	}
	f.s.links.keepLinks(f.known, known)
	f.s.freq.addWaiting(f.id, f.epoch, f.raise, now)
}
