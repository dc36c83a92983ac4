//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
)

// Two sites are crawled at once. The requests to the slow one keep its delay and do not
// overlap, and the fast one is done first.
func TestSlowSiteIsPoliteAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond
	slow, fast := newWitness(t, tree(40)), newWitness(t, tree(100))
	r := start(t, t.TempDir())
	slowID := newSite(t, r, rig.Site{Root: slow.URL + "/", RequestDelay: int(delay.Milliseconds())})
	fastID := newSite(t, r, rig.Site{Root: fast.URL + "/"})
	finish(t, r, fastID, slowID)
	if n := len(rows(t, r, slowID)); n != 41 {
		t.Errorf("the slow site has %d rows, want 41", n)
	}
	if n := len(rows(t, r, fastID)); n != 101 {
		t.Errorf("the fast site has %d rows, want 101", n)
	}
	slowVisits, fastVisits := slow.requests(), fast.requests()
	checkGaps(t, slowVisits, delay)
	checkGaps(t, fastVisits, 0)
	last := fastVisits[len(fastVisits)-1].End
	left := 0
	for _, v := range slowVisits {
		if v.Start.After(last) {
			left++
		}
	}
	if left == 0 {
		t.Errorf("the fast site of 100 pages was not done before the slow one of 40")
	}
	t.Logf("when the fast site was done, %d of %d requests to the slow one were left", left, len(slowVisits))
}

// checkGaps reports requests that overlap or follow too early.
func checkGaps(t *testing.T, visits []visit, delay time.Duration) {
	t.Helper()
	slices.SortFunc(visits, func(a, b visit) int { return a.Start.Compare(b.Start) })
	for i := 1; i < len(visits); i++ {
		a, b := visits[i-1], visits[i]
		if gap := b.Start.Sub(a.End); gap < delay {
			t.Errorf("%s came %v after the end of %s, the delay is %v", b.URL, gap, a.URL, delay)
		}
	}
}
