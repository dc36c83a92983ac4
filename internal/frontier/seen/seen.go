// Package seen remembers which links of a batch have passed all checks, in bounded memory.
package seen

import (
	"crypto/md5"
	"sync"

	"hce/dc/internal/keyset"
)

// maxSeen bounds the remembered links of a batch: 2 MB. Those that it forgets are checked again.
const maxSeen = 1 << 17

// Links holds the links of a batch that have passed all checks, by site and key. The zero
// value is ready to use. It is safe for concurrent use.
type Links struct {
	mu     sync.Mutex
	keys   keyset.Set
	scopes map[string]keyset.Scope // by site
}

// Has reports whether a link of a site was added.
func (s *Links) Has(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.Has(s.siteScope(site), key)
}

// Add adds a link of a site. With maxSeen of them, it replaces others.
func (s *Links) Add(site string, key [md5.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Add(s.siteScope(site), key, 0)
}

func (s *Links) siteScope(site string) keyset.Scope {
	scope, known := s.scopes[site]
	if !known {
		if s.scopes == nil {
			s.scopes, s.keys.Max = map[string]keyset.Scope{}, maxSeen
		}
		scope = s.keys.Scope(site, 0)
		s.scopes[site] = scope
	}
	return scope
}
