package sqlstore

import (
	"encoding/hex"
	"sync"
)

// linkMemory holds links that FinishCrawl met: most links of a page were on another page
// before. A link that is remembered has a row, so it is not looked up again. Each site has an
// epoch in its row, which changes when rows are deleted: a memory of another epoch is not used.
// The zero value is ready to use. Goroutines may share it.
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

// maxRemembered bounds the links in known of all sites; then older is forgotten and known becomes
// older.
const maxRemembered = 1 << 19

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

// keep remembers links that have rows in an epoch.
func (m *linkMemory) keep(site string, epoch int64, known []linkKey) {
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
