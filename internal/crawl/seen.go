package crawl

import (
	"crypto/md5"
	"sync"
)

// maxSeen bounds the remembered links of a batch. Beyond it, links are offered to the repository
// again, which is harmless.
const maxSeen = 1 << 20

// seenLinks holds the links that a batch has offered to the repository, by site and key. The zero
// value is ready to use. It is safe for concurrent use.
type seenLinks struct {
	mu    sync.Mutex
	sites map[string]map[[md5.Size]byte]bool
	count int
}

func (s *seenLinks) has(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sites[site][key]
}

// add records a link.
func (s *seenLinks) add(site string, key [md5.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sites[site][key] {
		return
	}
	if s.sites == nil || s.count >= maxSeen {
		s.sites, s.count = map[string]map[[md5.Size]byte]bool{}, 0
	}
	if s.sites[site] == nil {
		s.sites[site] = map[[md5.Size]byte]bool{}
	}
	s.sites[site][key] = true
	s.count++
}
