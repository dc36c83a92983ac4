// Package keyset remembers keys in bounded memory, such as those of links that were met before. A set
// may forget a key, and never invents one.
package keyset

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/binary"
)

// Key is an MD5, or another number of 128 bits that nobody can choose freely. The zero key is never
// remembered.
type Key [md5.Size]byte

// Scope separates the keys of one owner, such as a site, from those of others.
type Scope Key

// width is the number of keys in a bucket: a cache line.
const width = 4

type bucket [width]Key

// Set is a set of keys. It grows with its keys up to Max of them, of which a few are forgotten; then new
// keys replace old ones. Goroutines may not share it. The zero value is empty and has no bound.
type Set struct {
	Max int // most keys, 16 bytes each; rounded up to a power of two; 0: no bound

	secret  Key
	buckets []bucket // a power of two, or none
	size    int
	next    uint32 // place of the next key in a full bucket
}

// Scope returns the scope of an owner at a number, such as that of its version. Sets do not share
// scopes. Different owners or numbers have scopes that are different and that nobody can foresee: so
// a key of one owner does not become a key of another.
func (s *Set) Scope(owner string, number int64) Scope {
	if s.secret == (Key{}) {
		_, _ = rand.Read(s.secret[:]) // it never fails
	}
	text := make([]byte, 0, 64)
	text = append(text, s.secret[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(number))
	return md5.Sum(append(text, owner...))
}

// in is the key as the set holds it.
func (k Key) in(scope Scope) Key {
	var out Key
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(out[i:], binary.LittleEndian.Uint64(k[i:])^binary.LittleEndian.Uint64(scope[i:]))
	}
	return out
}

// bucketOf returns where a key is if the set has it.
func (s *Set) bucketOf(k Key) *bucket {
	return &s.buckets[binary.LittleEndian.Uint64(k[:])&uint64(len(s.buckets)-1)]
}

func (b *bucket) has(k Key) bool { return b[0] == k || b[1] == k || b[2] == k || b[3] == k }

// Has reports whether the set has a key of a scope.
func (s *Set) Has(scope Scope, key Key) bool {
	k := key.in(scope)
	return len(s.buckets) > 0 && s.bucketOf(k).has(k)
}

// Add remembers a key of a scope.
func (s *Set) Add(scope Scope, key Key) {
	if s.size >= len(s.buckets)*width/2 {
		s.grow()
	}
	s.add(key.in(scope))
}

func (s *Set) add(k Key) {
	b := s.bucketOf(k)
	if b.has(k) {
		return
	}
	for i := range b {
		if b[i] == (Key{}) {
			b[i] = k
			s.size++
			return
		}
	}
	b[s.next%width] = k
	s.next++
}

// grow doubles the set up to its bound.
func (s *Set) grow() {
	n := max(2*len(s.buckets), 16)
	if s.Max > 0 && n*width >= 2*s.Max && len(s.buckets) > 0 {
		return
	}
	old := s.buckets
	s.buckets, s.size = make([]bucket, n), 0
	for i := range old {
		for _, k := range old[i] {
			if k != (Key{}) {
				s.add(k)
			}
		}
	}
}

// Len returns the number of remembered keys.
func (s *Set) Len() int { return s.size }
