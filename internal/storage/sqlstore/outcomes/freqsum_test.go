package outcomes

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A sum returns what was added, each row once and in order, whatever is added between two parts.
func TestFreqSum(t *testing.T) {
	r := rand.New(rand.NewPCG(20261126, 1))
	var sum freqSum
	rows, keys := map[uint32]int64{}, map[linkKey]int64{}
	for step := range 3000 {
		var list []raised
		for range r.IntN(20) {
			one := raised{row: uint32(r.IntN(500)), n: []int64{1, 2, 255, 256, 100_000}[r.IntN(5)]}
			if one.row == 0 {
				one.key = linkKey{1: byte(1 + r.IntN(20))}
				keys[one.key] += one.n
			} else {
				one.check = uint8(one.row)
				rows[one.row] += one.n
			}
			list = append(list, one)
		}
		sum.addAll(list)
		most := r.IntN(30)
		if step%100 == 99 {
			most = math.MaxInt
		}
		taken := sum.takeFirst(most)
		if len(taken) > most || most == math.MaxInt && sum.countRows() > 0 {
			t.Fatalf("%d of at most %d, %d left", len(taken), most, sum.countRows())
		}
		for _, one := range taken {
			want := keys[one.key]
			if one.row != 0 {
				want = rows[one.row]
			}
			if one.n != want || one.check != uint8(one.row) {
				t.Fatalf("%+v, want %d", one, want)
			}
			delete(rows, one.row)
			delete(keys, one.key)
		}
		if sum.countRows() != len(rows)+len(keys) || most == math.MaxInt && (sum.memorySize() > 0 || len(sum.more) > 0) {
			t.Fatalf("%d rows, %d bytes, want %d rows", sum.countRows(), sum.memorySize(), len(rows)+len(keys))
		}
		if !slices.IsSortedFunc(taken, func(a, b raised) int { return cmp.Compare(a.row-1, b.row-1) }) {
			t.Fatalf("order of %+v", taken)
		}
	}
}
