package overview

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// requestsPerSample is what hce top promises for one interval.
const requestsPerSample = 4

// A sample has the counters, causes and the slowest host of each site, and costs few requests, however
// many sites there are.
func TestSitesSource(t *testing.T) {
	const n = 60
	stores := storestest.Open(t)
	for i := range n {
		root := fmt.Sprintf("https://h%d.example/", i)
		site := stores.NewSite(root)
		stores.AddPage(site, root+"a", "A title", "a text")
		stores.AddFailed(site, root+"gone", 404, errormask.HTTP)
	}
	s := &subcommand.Session{Ctx: t.Context(), Service: stores, Out: io.Discard, Talk: io.Discard}
	source, err := newSitesSource(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer source.close()
	asked := func() (sum int) {
		for _, n := range stores.Asked {
			sum += n
		}
		return sum
	}
	detailed := func(sample livescreen.SitesSample) (n int) {
		for _, site := range sample.Sites {
			if site.Causes["HTTP_ERROR"] == 1 && strings.HasSuffix(site.SlowHost, ".example") && site.SlowMs == 12 {
				n++
			}
		}
		return n
	}
	for i := range lookedAt/looksAtOnce + 3 {
		before := asked()
		sample := source.readSample(t.Context()).(livescreen.SitesSample)
		if cost := asked() - before; cost > requestsPerSample {
			t.Errorf("sample %d: %d requests", i, cost)
		}
		if i > 0 && sample.Totals.Rate == nil || len(sample.Sites) != n {
			t.Errorf("sample %d: %+v", i, sample.Totals)
		}
		if got, want := detailed(sample), min(lookedAt, (i+1)*looksAtOnce); got < want {
			t.Errorf("sample %d: %d sites with details, want %d", i, got, want)
		}
		site := sample.Sites[0]
		if site.Done != 3 || site.Pages != 1 || site.Errors != 1 || site.State != "active" || site.Root == "" || !strings.Contains(sample.NoManagers, "--admin FILE") {
			t.Fatalf("%+v, %s", site, sample.NoManagers)
		}
	}
	before := stores.Asked[wire.URLFetch]
	source.readSample(t.Context())
	if n := stores.Asked[wire.URLFetch] - before; n != 0 {
		t.Errorf("%d looks at sites that have not changed", n)
	}
}
