package follow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// Nothing changes: the follower waits for its limits, and says why.
func TestStall(t *testing.T) {
	f := Follower{Roots: 1}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.addCounters(wire.Site{CollectedURLs: 300, NewURLs: 240, CrawlingURLs: 5}, start)
	if f.now.Done != 56 || f.checkStall() != nil {
		t.Errorf("%+v, %v", f.now, f.checkStall())
	}
	f.addCounters(wire.Site{CollectedURLs: 300, NewURLs: 240, CrawlingURLs: 5}, start.Add(stallLimit))
	f.now.Why = "robots.txt unreachable"
	if err := f.checkStall(); err == nil || err.Error() != "nothing has changed for 15m0s, and 240 URLs wait: robots.txt unreachable" {
		t.Error(err)
	}
	f.now = Look{At: start.Add(beginLimit), Changed: start, Site: wire.Site{NewURLs: 1}} // no page yet
	if err := f.checkStall(); err == nil || !strings.Contains(err.Error(), "for 2m0s, and 1 URL waits: the host may be down") {
		t.Error(err)
	}
}

// script answers SITE_STATUS, and URL_FETCH with nothing.
type script struct {
	service.Service
	sites []wire.Site
	cause error
}

func (s *script) Ask(_ context.Context, op wire.Op, _, answer any) error {
	if s.cause != nil {
		return s.cause
	}
	if op == wire.SiteStatus {
		*answer.(*wire.Site) = s.sites[0]
		s.sites = s.sites[min(1, len(s.sites)-1):]
		return nil
	}
	return nil
}

// A crawl is not stalled while a URL waits for its next request.
func TestPaused(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := pausedOf([]wire.URL{{RetryCause: "503", RetryDate: "2026-01-01 12:10:00"}, {RetryCause: "cut", RetryDate: "2026-01-01 12:00:03"}, {RetryCause: "503", RetryDate: "2026-01-01 12:00:04"}})
	if got := p.Line(now); got != "3 asked again later (503: 2, cut: 1), the next in 3s" || (Paused{}).Line(now) != "" {
		t.Error(got)
	}
	f := Follower{now: Look{At: now, Changed: now.Add(-stallLimit), Site: wire.Site{NewURLs: 3, State: wire.SiteActive}, Done: 1, Paused: p}, looked: now}
	if err := f.findPaused(t.Context()); err != nil || f.checkStall() != nil {
		t.Errorf("%v, %v", err, f.checkStall())
	}
	f.now.At, f.looked = now.Add(10*time.Minute), now.Add(10*time.Minute)
	if err := f.findPaused(t.Context()); err != nil || f.now.Changed.Equal(f.now.At) {
		t.Errorf("%v: a pause that is over counts", err)
	}
}

func TestRun(t *testing.T) {
	yes, no := true, false
	finished := wire.Site{State: wire.SiteActive, Finished: &yes}
	working := wire.Site{State: wire.SiteActive, Finished: &no}
	fault := errors.New("fault")
	for name, tt := range map[string]struct {
		script      *script
		unprocessed bool
		looks       int // after which Show ends Run
		want        error
	}{
		"no work left":                {&script{sites: []wire.Site{finished}}, false, 9, nil},
		"work is left, then none":     {&script{sites: []wire.Site{working, finished}}, false, 9, nil},
		"a page waits":                {&script{sites: []wire.Site{working}}, false, 2, fault},
		"a page is never processed":   {&script{sites: []wire.Site{working}}, true, 9, nil},
		"a batch runs":                {&script{sites: []wire.Site{{State: wire.SiteActive, CrawlingURLs: 1}}}, true, 2, fault},
		"new URLs":                    {&script{sites: []wire.Site{{State: wire.SiteActive, NewURLs: 1}}}, true, 2, fault},
		"suspended, batches run":      {&script{sites: []wire.Site{{State: wire.SiteSuspended, NewURLs: 7, ProcessingURLs: 1}}}, true, 2, fault},
		"suspended, no batch runs":    {&script{sites: []wire.Site{{State: wire.SiteSuspended, NewURLs: 7}}}, true, 9, nil},
		"deleted":                     {&script{sites: []wire.Site{{State: wire.SiteNotFound}}}, false, 9, ErrDeleted},
		"no connection":               {&script{cause: fault}, false, 9, fault},
		"a node of a cluster is away": {&script{cause: &service.Incomplete{Missing: []string{"node b"}}}, false, 1, fault},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			f := Follower{Service: tt.script, Site: "s", Unprocessed: tt.unprocessed, Show: func(look Look, done bool) error {
				if looks++; looks == tt.looks {
					return fault
				}
				return nil
			}}
			if err := f.Run(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}
