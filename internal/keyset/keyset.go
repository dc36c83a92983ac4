// Package keyset remembers keys in bounded memory, such as those of links that were met before, and a
// number with each. A set may forget a key, and never invents one.
package keyset

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/binary"
	"slices"
)

// Key is an MD5, or another number of 128 bits that no peer can choose freely. The zero key is never
// remembered.
type Key [md5.Size]byte

// Scope separates the keys of one owner, such as a site, from those of others.
type Scope Key

// width is the number of keys in a bucket: a cache line.
const width = 4

type (
	bucket  [width]Key
	numbers [width]uint32
)

// Set is a set of keys. It grows with its keys up to Max of them, of which a few are forgotten; then new
// keys replace old ones. Goroutines may not share it. The zero value is empty and has no bound.
type Set struct {
	Max int // most keys, 16 bytes each, 20 with numbers; rounded up to a power of two; 0: no bound

	secret  Key
	buckets []bucket  // a power of two, or none
	numbers []numbers // of the keys in buckets; nil: all are 0
	size    int
	next    uint32 // place of the next key in a full bucket
}

// Scope returns the scope of an owner at a number, such as that of its version. Sets do not share
// scopes. Different owners or numbers have scopes that are different and that no peer can foresee: so
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

// scopedKey is the key as the set holds it.
func (k Key) scopedKey(scope Scope) Key {
	var out Key
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(out[i:], binary.LittleEndian.Uint64(k[i:])^binary.LittleEndian.Uint64(scope[i:]))
	}
	return out
}

// bucketOf returns the bucket that holds a key if the set has it.
func (s *Set) bucketOf(k Key) uint64 {
	return binary.LittleEndian.Uint64(k[:]) & uint64(len(s.buckets)-1)
}

// indexOf returns where a key is, or -1.
func (b *bucket) indexOf(k Key) int { return slices.Index(b[:], k) }

// Has reports whether the set has a key of a scope.
func (s *Set) Has(scope Scope, key Key) bool {
	_, has := s.Number(scope, key)
	return has
}

// Number returns the number that was added with a key of a scope, if the set has the key.
func (s *Set) Number(scope Scope, key Key) (number uint32, has bool) {
	if len(s.buckets) == 0 {
		return 0, false
	}
	k := key.scopedKey(scope)
	at := s.bucketOf(k)
	i := s.buckets[at].indexOf(k)
	if i >= 0 && s.numbers != nil {
		number = s.numbers[at][i]
	}
	return number, i >= 0
}

// Add remembers a key of a scope with a number. A key that the set has gets the new number.
func (s *Set) Add(scope Scope, key Key, number uint32) {
	if s.size >= len(s.buckets)*width/2 {
		s.grow()
	}
	if number != 0 && s.numbers == nil {
		s.numbers = make([]numbers, len(s.buckets))
	}
	s.addKey(key.scopedKey(scope), number)
}

func (s *Set) addKey(k Key, number uint32) {
	at := s.bucketOf(k)
	b := &s.buckets[at]
	i := b.indexOf(k)
	if i < 0 {
		if i = b.indexOf(Key{}); i >= 0 {
			s.size++
		} else {
			i = int(s.next % width)
			s.next++
		}
		b[i] = k
	}
	if s.numbers != nil {
		s.numbers[at][i] = number
	}
}

// grow doubles the set up to its bound.
func (s *Set) grow() {
	n := max(2*len(s.buckets), 16)
	if s.Max > 0 && n*width >= 2*s.Max && len(s.buckets) > 0 {
		return
	}
	keys, old := s.buckets, s.numbers
	s.buckets, s.size = make([]bucket, n), 0
	if old != nil {
		s.numbers = make([]numbers, n)
	}
	for at := range keys {
		for i, k := range keys[at] {
			switch {
			case k == (Key{}):
			case old == nil:
				s.addKey(k, 0)
			default:
				s.addKey(k, old[at][i])
			}
		}
	}
}

// Len returns the number of remembered keys.
func (s *Set) Len() int { return s.size }
