package sqlstore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
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
	b.saved(b.FinishCrawl(ctx, "s", batch, []wire.Fetched{{URLMd5: u.URLMd5, First: true, Set: schema.Patch{"Status": int64(4)}, Links: linksOf(rows...)}}))
}

// FinishCrawl raises Freq at once, after FreqDelay or at Flush; a transaction that failed
// raises it the next time.
func TestFreqIsRaisedLater(t *testing.T) {
	b := newBench(t)
	b.db.Options.FreqDelay = 5 * time.Second
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
	b.restart()
	b.must(b.Flush(ctx))
	freq("lost once", 5)
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
		b.db.Options.FreqDelay = delay
		b.SetMemory(outcomes.MaxRemembered, outcomes.FreqLimits{Few: 3, Longest: time.Minute, Most: 10000, Part: 2})
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
		b.SetMemory(outcomes.MaxRemembered, outcomes.FreqLimits{Few: 3, Longest: time.Minute, Most: 5, Part: 2})
		b.linkingPage(3)
		same(t, "waiting", b.CountWaiting("s"), 3)
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
