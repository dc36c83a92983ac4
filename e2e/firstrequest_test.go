//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"hce/dc/examples/rig"
)

// A new site gets its first request at once, by an event. The test prints the time from the answer
// of SITE_NEW to the first request; the time decides nothing.
func TestFirstRequest(t *testing.T) {
	r := start(t, t.TempDir())
	for i := range 6 {
		w := newWitnessAt(t, fmt.Sprintf("127.0.0.%d", 10+i), tree(1))
		began := time.Now()
		id := newSite(t, r, rig.Site{Root: w.URL + "/"})
		created := time.Now()
		w.awaitRequests(t, 1)
		first := w.requests()[0]
		t.Logf("site %d: SITE_NEW took %v, the first request (%s) came %v after its answer", i+1, created.Sub(began).Round(time.Millisecond), first.URL, first.Start.Sub(created).Round(time.Millisecond))
		finish(t, r, id)
	}
}
