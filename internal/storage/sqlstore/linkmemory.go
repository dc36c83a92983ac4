package sqlstore

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// linkMemory holds links that FinishCrawl met: most links of a page were on another page
// before. A link that is remembered has a row, so it is not looked up again; and its Freq is
// raised later, together with that of other pages. Each site has an epoch in its row, which
// changes when rows are deleted: a memory of another epoch is not used. The zero value is
// ready to use. Goroutines may share it.
//
// A row that is deleted, or reset by SITE_CLEANUP, and made again within Options.FreqDelay
// may be raised by pages from before.
type linkMemory struct {
	mu    sync.Mutex
	sites map[string]*siteLinks
	size  int // of all sites
}

// siteLinks are the links of a site.
type siteLinks struct {
	epoch int64
	known map[linkKey]struct{}
	older map[linkKey]struct{} // known before the memory was full
	raise map[linkKey]int64    // what is to be added to Freq
	since time.Time            // of the oldest in raise
}

// linkKey is a URLMd5.
type linkKey [16]byte

func linkKeyOf(md5 string) (key linkKey, ok bool) {
	if len(md5) != hex.EncodedLen(len(key)) {
		return key, false
	}
	_, err := hex.Decode(key[:], []byte(md5))
	return key, err == nil
}

func (k linkKey) text() string { return hex.EncodeToString(k[:]) }

const (
	maxRemembered = 1 << 19 // links in known of all sites; then older is forgotten and known becomes older
	maxRaised     = 1 << 16 // links of a site whose Freq waits
)

// known reports which of the keys have a row in an epoch of a site.
func (m *linkMemory) known(site string, epoch int64, keys []linkKey) (known []bool) {
	known = make([]bool, len(keys))
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sites[site]; s != nil && s.epoch == epoch {
		for i, key := range keys {
			if _, known[i] = s.known[key]; !known[i] {
				_, known[i] = s.older[key]
			}
		}
	}
	return known
}

// stale reports whether the memory of a site is of another epoch.
func (m *linkMemory) stale(site string, epoch int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	return s != nil && s.epoch != epoch
}

// keep remembers links that have rows in an epoch, and what is to be added to their Freq.
func (m *linkMemory) keep(site string, epoch int64, known []linkKey, raise map[linkKey]int64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.site(site)
	if s.epoch != epoch {
		m.size -= len(s.known)
		s.epoch, s.known, s.older = epoch, map[linkKey]struct{}{}, nil
	}
	if m.size+len(known) > maxRemembered {
		for _, other := range m.sites {
			other.older, other.known = other.known, map[linkKey]struct{}{}
		}
		m.size = 0
	}
	for _, key := range known {
		if _, twice := s.known[key]; !twice {
			s.known[key] = struct{}{}
			m.size++
		}
	}
	s.add(raise, now)
}

func (m *linkMemory) site(id string) *siteLinks {
	s := m.sites[id]
	if s == nil {
		if m.sites == nil {
			m.sites = map[string]*siteLinks{}
		}
		s = &siteLinks{known: map[linkKey]struct{}{}}
		m.sites[id] = s
	}
	return s
}

func (s *siteLinks) add(raise map[linkKey]int64, now time.Time) {
	if len(s.raise) == 0 {
		s.since = now
	}
	s.raise = added(s.raise, raise)
}

// added adds b to a, which may be nil.
func added(a, b map[linkKey]int64) map[linkKey]int64 {
	if len(a) == 0 {
		return b
	}
	for key, n := range b {
		a[key] += n
	}
	return a
}

// take removes and returns what is to be added to Freq, if it has waited for delay.
func (m *linkMemory) take(site string, delay time.Duration, now time.Time) map[linkKey]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[site]
	if s == nil || len(s.raise) == 0 || now.Sub(s.since) < delay && len(s.raise) < maxRaised {
		return nil
	}
	raise := s.raise
	s.raise = nil
	return raise
}

// giveBack undoes take.
func (m *linkMemory) giveBack(site string, raise map[linkKey]int64, now time.Time) {
	if len(raise) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.site(site).add(raise, now)
}

// waiting lists the sites with rows whose Freq waits.
func (m *linkMemory) waiting() (sites []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, site := range slices.Sorted(maps.Keys(m.sites)) {
		if len(m.sites[site].raise) > 0 {
			sites = append(sites, site)
		}
	}
	return sites
}

// Flush stores what FinishCrawl has not yet added to the Freq of rows; see
// Options.FreqDelay. Call it at the end of a batch.
func (s *Store) Flush(ctx context.Context) error {
	for _, id := range s.links.waiting() {
		now := s.o.Now()
		raise := s.links.take(id, 0, now)
		err := s.update(ctx, "Flush", func(t *tx) error {
			site, err := t.storedID(id)
			if err != nil || site == "" {
				return err
			}
			return t.raiseFreq(site, raise)
		})
		if err != nil {
			s.links.giveBack(id, raise, now)
			return err
		}
	}
	return nil
}
