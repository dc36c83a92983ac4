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
	sites map[string]map[[md5.Size]byte]struct{}
	count int
}

func (s *seenLinks) has(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sites[site][key]
	return ok
}

// add records a link and reports whether it is new.
func (s *seenLinks) add(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sites[site][key]; ok {
		return false
	}
	if s.sites == nil || s.count >= maxSeen {
		s.sites, s.count = map[string]map[[md5.Size]byte]struct{}{}, 0
	}
	keys := s.sites[site]
	if keys == nil {
		keys = map[[md5.Size]byte]struct{}{}
		s.sites[site] = keys
	}
	keys[key] = struct{}{}
	s.count++
	return true
}
