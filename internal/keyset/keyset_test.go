package keyset

import (
	"crypto/md5"
	"strconv"
	"testing"
)

func key(i int) Key { return md5.Sum([]byte(strconv.Itoa(i))) }

// numberOf is 0 for the first keys, which a set holds without numbers.
func numberOf(i int) uint32 { return uint32(max(i-100, 0)) }

// A set has most of the keys that fit, with their numbers, and none that was not added in the same scope.
func TestSet(t *testing.T) {
	for _, most := range []int{0, 1000, 1 << 14} {
		s := Set{Max: most}
		a, b, later := s.Scope("a", 1), s.Scope("b", 1), s.Scope("a", 2)
		const added = 40_000
		for i := range added {
			if s.Has(a, key(i)) {
				t.Fatalf("max %d: has key %d before it was added", most, i)
			}
			s.Add(a, key(i), numberOf(i))
			if number, has := s.Number(a, key(i)); !has || number != numberOf(i) {
				t.Fatalf("max %d: the newest key %d: %t, number %d", most, i, has, number)
			}
		}
		n := 0
		for i := range added {
			if s.Has(b, key(i)) || s.Has(later, key(i)) {
				t.Fatalf("max %d: key %d is in another scope", most, i)
			}
			number, has := s.Number(a, key(i))
			if has {
				n++
			}
			if has && number != numberOf(i) {
				t.Fatalf("max %d: key %d has the number %d", most, i, number)
			}
		}
		least, slots := added*9/10, 2*added*2
		if most > 0 {
			least, slots = most*9/10, 2*most
		}
		if n != s.Len() || n < least || len(s.buckets)*width > slots {
			t.Errorf("max %d: %d keys, Len %d, %d places", most, n, s.Len(), len(s.buckets)*width)
		}
	}
}

// A key that is added again takes no second place, and has its last number.
func TestAddAgain(t *testing.T) {
	var s Set
	scope := s.Scope("", 0)
	for i := range 100 {
		s.Add(scope, key(1), uint32(i))
	}
	if number, _ := s.Number(scope, key(1)); s.Len() != 1 || number != 99 {
		t.Errorf("%d keys, number %d", s.Len(), number)
	}
}

// Scopes are secrets of their set.
func TestScopes(t *testing.T) {
	var a, b Set
	scope := a.Scope("x", 1)
	if scope == b.Scope("x", 1) || scope != a.Scope("x", 1) {
		t.Error("scopes of two sets are equal, or of one set are not")
	}
}

func BenchmarkHas(b *testing.B) {
	s := Set{}
	scope := s.Scope("a", 1)
	for i := range 1 << 19 {
		s.Add(scope, key(i), 0)
	}
	k := key(7)
	for i := range b.N {
		k[0], k[1], k[2] = byte(i), byte(i>>3), byte(i>>7)
		s.Has(scope, k)
	}
}
