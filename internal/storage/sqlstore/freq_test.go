package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// linkingPage crawls a page of site s with links.
func (b *bench) linkingPage(number int, links ...string) {
	b.Helper()
	u, batch := wire.NewURL("s", fmt.Sprint("page", number)), int64(number)
	_, err := b.MarkCrawling(ctx, "s", batch, []wire.URL{u})
	b.must(err)
	var rows []wire.URL
	for _, text := range links {
		rows = append(rows, wire.NewURL("s", text))
	}
	b.saved(b.FinishCrawl(ctx, "s", batch, []wire.Fetched{{URLMd5: u.URLMd5, First: true, Set: wire.Patch{"Status": int64(4)}, Links: linksOf(rows...)}}))
}

// FinishCrawl raises Freq at once, after FreqDelay or at Flush; a transaction that failed
// raises it the next time.
func TestFreqIsRaisedLater(t *testing.T) {
	b := newBench(t)
	b.db.options.FreqDelay = 5 * time.Second
	b.newSite(`{"id":"s"}`)
	number := 0
	page := func() {
		number++
		b.linkingPage(number, "x", "y")
	}
	freq := func(what string, want int64) {
		t.Helper()
		same(t, what, []int64{b.row("s", "x").Freq, b.row("s", "y").Freq}, []int64{want, want})
	}
	page()
	freq("new", 1)
	page()
	page()
	freq("kept", 1)
	b.now = b.now.Add(5 * time.Second)
	page()
	freq("those that waited", 3)
	b.must(b.Flush(ctx))
	freq("flushed", 4)
	b.must(b.Flush(ctx))
	freq("nothing is left", 4)
	page()
	b.must(b.db.Close())
	if err := b.Flush(ctx); !errors.Is(err, sqldb.ErrClosed) && err == nil {
		t.Error("no error")
	}
	d, err := sqldb.Open(ctx, b.config)
	b.must(err)
	defer d.Close()
	b.db.DB = d
	_, err = b.FinishCrawl(ctx, "nobody", 1, nil)
	same(t, "unknown site", wire.CodeOf(err), wire.CodeNotFound)
	b.must(b.Flush(ctx))
	freq("after a failure", 5)
	page()
	b.freq = freqMemory{freqLimits: defaultFreqLimits} // the process is killed
	b.must(b.Flush(ctx))
	freq("lost once", 5)
}

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

// The Freq of a large site waits for a minute, in parts for each FinishCrawl, and not after the
// crawl. Each part stores the rows next to each other.
func TestFreqOfALargeSite(t *testing.T) {
	links := []string{"a", "b", "c", "d", "e"}
	var others []string
	for i := range 20 {
		others = append(others, fmt.Sprint("other", i))
	}
	open := func(t *testing.T, delay time.Duration) (*bench, func() []int64) {
		b := newBench(t)
		b.db.options.FreqDelay = delay
		b.freq.freqLimits = freqLimits{few: 3, longest: time.Minute, most: 10000, part: 2}
		b.newSite(`{"id":"s"}`)
		b.linkingPage(1, append(links, others...)...)
		b.linkingPage(2, links...)
		return b, func() (list []int64) {
			for _, text := range links {
				list = append(list, b.row("s", text).Freq)
			}
			return list
		}
	}
	t.Run("a part with each page", func(t *testing.T) {
		b, freq := open(t, 5*time.Second)
		b.now = b.now.Add(59 * time.Second)
		b.must(b.Flush(ctx))
		b.linkingPage(3)
		same(t, "before the minute is over", freq(), []int64{1, 1, 1, 1, 1})
		b.now = b.now.Add(time.Second)
		for number, stored := range []int{2, 4, 5} {
			b.linkingPage(4 + number)
			sum := 0
			for _, n := range freq() {
				sum += int(n) - 1
			}
			same(t, "rows that are raised", sum, stored)
		}
	})
	t.Run("too many for the memory", func(t *testing.T) {
		b, _ := open(t, 5*time.Second)
		b.freq.most = 5
		b.linkingPage(3)
		same(t, "waiting", b.freq.sites["s"].countRows(), 3)
	})
	t.Run("rows that moved", func(t *testing.T) {
		b, freq := open(t, 5*time.Second)
		if b.db.Dialect() == expr.MySQL {
			return // rows have no places
		}
		table := b.db.SiteTable(sqldb.URLs, "s")
		run := func(text string) {
			t.Helper()
			if out, err := exec.Command("sqlite3", "-bail", "-init", os.DevNull, b.config.Path, text).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", text, err, out)
			}
		}
		run("VACUUM")
		b.linkingPage(3, links...)
		same(t, "rows that stay", freq(), []int64{2, 2, 2, 2, 2})
		// VACUUM may do this.
		run("UPDATE " + table + " SET rowid = rowid + 1000; UPDATE " + table + " SET rowid = rowid - 999; VACUUM")
		b.linkingPage(4, links...)
		same(t, "rows that move", freq(), []int64{2, 2, 2, 2, 2})
		b.must(b.FlushAll(ctx))
		same(t, "all", freq(), []int64{3, 3, 3, 3, 3})
	})
	t.Run("a deleted row", func(t *testing.T) {
		b, freq := open(t, 5*time.Second)
		b.now = b.now.Add(time.Minute)
		b.linkingPage(3)
		_, err := b.URLDelete(ctx, []wire.URLDeleteRequest{{SiteID: "s", URLMd5: wire.Md5("c"), DelayedType: wire.Immediate}})
		b.must(err)
		b.linkingPage(4, "c")
		b.must(b.FlushAll(ctx))
		same(t, "all", freq(), []int64{2, 2, 1, 2, 2})
	})
	t.Run("without another page", func(t *testing.T) {
		b, freq := open(t, time.Millisecond)
		b.must(b.Flush(ctx))
		testwait.Until(t, "the idle store raises Freq", func() bool { return fmt.Sprint(freq()) == "[2 2 2 2 2]" })
	})
}
