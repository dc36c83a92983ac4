package livescreen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// counters are those of a site n seconds after noon: 4 URLs a second, 1 of which fails.
func counters(id string, state int64, n int64) SiteCounters {
	c := SiteCounters{Site: wire.Site{ID: id, State: state, CollectedURLs: 1000, NewURLs: 900 - 4*n, CrawlingURLs: 20, ProcessingURLs: 3, Contents: 3 * n, Errors: n},
		StateName: "paused", Root: "https://" + id + ".example/", Roots: 1}
	if state == wire.SiteActive {
		c.StateName = "active"
	}
	return c
}

// sitesReading has a paused site, a busy one with details, and one with an unknown root URL.
func sitesReading(n int64) SitesReading {
	busy := counters("town", wire.SiteActive, 2*n)
	busy.Roots, busy.Causes = 3, map[string]int64{"HTTP_ERROR": 7, "REQUEST_TIMEOUT": 2, "BAD_REDIRECTION": 2, "ROBOTS": 1}
	busy.SlowHost, busy.SlowTime = "www.town.\x1b[31mexample", 812*time.Millisecond
	hostile := counters("hostile", wire.SiteActive, n)
	hostile.Root = "https://\x1b]0;owned\x07.example/\u202e" + strings.Repeat("long/", 50)
	nameless := counters("caf03214581cc0e03763977516e379b7", wire.SiteActive, 0)
	nameless.Root = ""
	managers := Compare(Reading{At: noon}, Reading{At: noon.Add(time.Second)})
	return SitesReading{At: noon.Add(time.Duration(n) * time.Second), Service: "the daemon at 127.0.0.1:5504", Managers: &managers,
		Sites: []SiteCounters{counters("mill", wire.SiteSuspended, n), nameless, hostile, busy}}
}

func TestSitesScreens(t *testing.T) {
	away := SitesReading{At: noon.Add(time.Second), Service: "x", Away: "SITE_FIND: no answer: 127.0.0.1:5504: connection refused"}
	idle := sitesReading(10)
	idle.Managers, idle.Idle, idle.NoManagers = nil, "hce crawl does not run in /home/me/hce", "hce crawl does not run in /home/me/hce"
	many := SitesReading{At: noon.Add(time.Second), Service: "x", More: true}
	for i := range 100 {
		many.Sites = append(many.Sites, counters(fmt.Sprintf("site%02d", i), wire.SiteActive, 1))
	}
	ofCluster := sitesReading(10)
	ofCluster.Managers = &ManagersSample{Time: "2026-11-22 12:00:10", Managers: []Manager{{Class: "Cluster", State: "running"}}, Nodes: []cluster.Node{
		{Name: "n1", State: "ready", Member: true, Load: 0.5, Busy: 2, Slots: 22, Seen: "2026-11-22 12:00:07.250", Version: "0.2.0"},
		{Name: "n2", State: "silent", Member: true, Load: -1, Lag: 3, Slots: 22, Seen: "2026-11-22 11:58:00.000", Version: "0.2.0"},
		{Name: "n3", State: "added", Load: -1, Lag: -1},
	}}
	part := ofCluster
	part.Missing = "node n2 gave no answer: it is not connected; its part of the answer, 1 of 3, is missing"
	for name, c := range map[string]struct {
		before, now SitesReading
		style       Style
		offset      int // afterwards
	}{
		"sites-incomplete": {sitesReading(0), part, Style{Plain: true}, 0},
		"sites-nodes":      {sitesReading(0), ofCluster, Style{Page: 2}, 0},
		"sites-head":       {sitesReading(0), ofCluster, Style{Plain: true, Page: 1}, 0},
		"sites-nodes-few":  {sitesReading(0), ofCluster, Style{Plain: true, Page: 2, Height: 8, Offset: 9}, 2},
		"sites":            {sitesReading(0), sitesReading(10), Style{Width: 100, Height: 30, Plain: true}, 0},
		"sites-colours":    {sitesReading(0), sitesReading(10), Style{Width: 100, Height: 30}, 0},
		"sites-first":      {SitesReading{}, sitesReading(10), Style{Plain: true}, 0},
		"sites-small":      {sitesReading(0), sitesReading(10), Style{Width: 30, Height: 10, Plain: true}, 0},
		"sites-many":       {SitesReading{}, many, Style{Plain: true}, 0},
		"sites-scrolled":   {SitesReading{}, many, Style{Plain: true, Offset: 20}, 20},
		"sites-end":        {SitesReading{}, many, Style{Plain: true, Offset: 1000}, 85},
		"sites-away":       {sitesReading(0), away, Style{Plain: true}, 0},
		"sites-idle":       {sitesReading(0), idle, Style{Plain: true}, 0},
		"sites-page-2":     {sitesReading(0), sitesReading(10), Style{Plain: true, Page: 1, Paused: true}, 0},
		"sites-no-page":    {sitesReading(0), idle, Style{Plain: true, Page: 1}, 0},
		"sites-tiny":       {sitesReading(0), sitesReading(10), Style{Width: 1, Height: 1, Plain: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.style.Program, c.style.Title, c.style.Keys, c.style.Pages = "hce top", c.now.Service, true, SitesPages
			got := CompareSites(c.before, c.now).Draw(&c.style)
			checkScreen(t, got, c.style)
			if c.style.Offset != c.offset {
				t.Errorf("offset %d, want %d", c.style.Offset, c.offset)
			}
			testgolden.Equal(t, filepath.Join("testdata", name+".txt"), got+"\n")
		})
	}
}

// Rates are those of the interval; a site that was not there before has none.
func TestSiteRates(t *testing.T) {
	before, now := sitesReading(0), sitesReading(10)
	before.Sites = before.Sites[:3] // without town
	s := CompareSites(before, now)
	got := map[string]string{}
	for _, site := range s.Sites {
		got[site.ID] = perSecond(site.Rate)
	}
	want := map[string]string{"mill": "4.0", "hostile": "4.0", "town": "-", "caf03214581cc0e03763977516e379b7": "0.0"}
	for id, rate := range want {
		if got[id] != rate {
			t.Errorf("%s: %s, want %s", id, got[id], rate)
		}
	}
	if perSecond(s.Totals.Rate) != "8.0" || s.Totals.Active != 3 || s.Totals.Errors != 40 {
		t.Errorf("%+v", s.Totals)
	}
	before.Away = "no answer"
	if s := CompareSites(before, now); s.Totals.Rate != nil || s.Sites[0].Rate != nil {
		t.Error("a rate without counters before")
	}
}

func TestSitesJSON(t *testing.T) {
	var out bytes.Buffer
	readings := []SitesReading{sitesReading(0), sitesReading(10), {At: noon.Add(20 * time.Second), Service: "x", Away: "no answer"}}
	var samples []Sample
	for i, now := range readings {
		samples = append(samples, CompareSites(readings[max(0, i-1)], now))
	}
	next := func(samples []Sample) Reader {
		return func(context.Context) Sample {
			s := samples[0]
			samples = samples[1:]
			return s
		}
	}
	if err := JSON(t.Context(), &out, next(samples), time.Nanosecond, 3); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines", n)
	}
	testgolden.Equal(t, filepath.Join("testdata", "sites.json"), out.String())
	out.Reset()
	if err := OnceJSON(t.Context(), &out, next(samples[:2]), time.Nanosecond); err != nil || strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), `"rate":8`) {
		t.Errorf("%v %s", err, out.String())
	}
}
