package hce

import (
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// Progress over a minute of counters, as an owner of the clock sees it.
func TestProgress(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &follower{hosts: causes.Hosts{}}
	for i := range 61 {
		n := int64(i)
		site := wire.Site{Contents: 2 * n, Errors: n, NewURLs: 240}
		f.addLook(follow.Look{Site: site, Done: 3 * n, At: start.Add(time.Duration(i) * time.Second)})
	}
	for _, row := range []wire.URL{
		{URL: "https://fast.example/", CrawlingTime: 10}, {URL: "https://slow.example/", CrawlingTime: 900}, {URL: "https://slow.example/b", CrawlingTime: 700}, {URL: "https://fast.example/b", CrawlingTime: 1500},
	} {
		f.hosts.AddPage(row)
	}
	f.now.SlowHost, f.now.SlowTime = f.hosts.Slowest()
	f.now.Causes = causes.Count([]wire.URL{{ErrorMask: errormask.HTTP}, {ErrorMask: errormask.HTTP | errormask.Forbidden}, {ErrorMask: errormask.Timeout}})
	want := "180 done, 120 pages, 240 waiting, 3.0/s, 60 errors (FETCH_FORBIDDEN 1, HTTP_ERROR 1, REQUEST_TIMEOUT 1), slowest slow.example 800ms, about 1m0s left"
	if got := f.now.describeLine(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := (progress{Look: follow.Look{Site: wire.Site{NewURLs: 1}, Why: "disk full"}, Rate: 1}).describeLine(); !strings.HasSuffix(got, ", 1.0/s, waiting because: disk full") {
		t.Error(got)
	}
}

// URLs that are asked again later are shown, and bound the time that is left.
func TestProgressOfPauses(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	paused := follow.Paused{URLs: 3, Causes: map[string]int64{"503": 2, "cut": 1}, Next: now.Add(4 * time.Second), Last: now.Add(40 * time.Second)}
	for _, c := range []struct {
		name    string
		waiting int64
		rate    float64
		want    string
	}{
		{"only they", 3, 0, "3 waiting, 0.0/s, 3 asked again later (503: 2, cut: 1), the next in 4s, about 40s left"},
		{"others take longer", 103, 1, "the next in 4s, about 1m40s left"},
		{"others of an unknown rate", 103, 0, "the next in 4s"},
	} {
		p := progress{Look: follow.Look{At: now, Site: wire.Site{NewURLs: c.waiting}, Paused: paused}, Rate: c.rate}
		if got := p.describeLine(); !strings.HasSuffix(got, strings.Replace(c.want, "1m40s", "2m0s", 1)) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestSummaryText(t *testing.T) {
	base := summary{Site: "s", Root: "https://example.org/\x1b", URLs: 3, Pages: 1, Bytes: 12345, Seconds: 2.5, State: "active"}
	with := func(change func(*summary)) summary {
		s := base
		change(&s)
		return s
	}
	for want, s := range map[string]summary{
		"https://example.org/: complete\n  3 URLs, 1 page, 12.3 kB in 2.5s\n":    base,
		"3 URLs, 1 page, 2 resources, 12.3 kB":                                   with(func(s *summary) { s.Resources = 2 }),
		"complete, with errors\n":                                                with(func(s *summary) { s.Failed, s.Causes = 2, map[string]int64{"HTTP_ERROR": 2} }),
		"no page could be fetched":                                               with(func(s *summary) { s.Failed, s.Pages = 1, 0 }),
		"       2  HTTP_ERROR: the server answered":                              with(func(s *summary) { s.Failed, s.Causes = 2, map[string]int64{"HTTP_ERROR": 2} }),
		"not complete: the site is paused, 1 URL waits":                          with(func(s *summary) { s.Left, s.State = 1, "paused" }),
		"the site as a whole has: MAX_ITEMS":                                     with(func(s *summary) { s.SiteBits = []string{"MAX_ITEMS"} }),
		"by the last cause: cut 2, 503 1; the same command asks again\n":         with(func(s *summary) { s.Failed, s.GivenUp = 3, map[string]int64{"503": 1, "cut": 2} }),
		"4 left out by robots.txt":                                               with(func(s *summary) { s.LeftOut = 4 }),
		"/: no page could be fetched and processed\n":                            with(func(s *summary) { s.LeftOut, s.Pages = 1, 0 }),
		"3 forbidden by robots.txt; list them with: hce url ls s --forbidden":    with(func(s *summary) { s.LeftOut, s.Forbidden = 4, 3 }),
		"2 pages: noindex asks robots not to index them; exports leave them out": with(func(s *summary) { s.NoIndex = 2 }),
		"if you may, ignore it with: hce site edit s --property ROBOTS_META=0 ":  with(func(s *summary) { s.alone, s.NoFollow = true, true }),
		"list the others with: hce url ls s --outside --reasons":                 with(func(s *summary) { s.alone = true }),
		"the last error: no route to host\n":                                     with(func(s *summary) { s.Failed, s.Pages, s.cause = 1, 0, "no route to host" }),
	} {
		if got := s.summaryText(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
