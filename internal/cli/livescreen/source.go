package livescreen

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

const (
	maxTimeout  = 2 * time.Second  // for the answers of one reading
	totalsEvery = 10 * time.Second // sums over all sites load the database
	maxSites    = 1000             // of one request
)

// Reading is the answers of the managers at one time.
type Reading struct {
	At       time.Time
	Away     string // why the daemon did not answer; empty if it did
	Managers []client.Stat
	Sites    *Totals // nil while unknown
}

// Totals are sums over the sites.
type Totals struct {
	Sites     int   `json:"sites"`
	More      bool  `json:"more"` // more sites exist than are in the sums
	Resources int64 `json:"resources"`
	Contents  int64 `json:"contents"`
	New       int64 `json:"newURLs"`
	Collected int64 `json:"collectedURLs"`
	Errors    int64 `json:"errors"`
	Size      int64 `json:"size"` // bytes
}

// Source reads the managers of a daemon. Not safe for concurrent use.
type Source struct {
	bus     *bus.Bus
	admin   client.Server
	classes []string
	asks    bool            // the daemon says which classes it has
	clients service.Service // for the totals; nil: none
	before  Reading
	totals  *Totals
	summed  time.Time // time of the totals
}

// Open returns a source that reads the managers classes, nil for those that the daemon has, through
// the admin port of a daemon. It limits the timeout to two seconds and opens no connection. Close the
// source after use.
func Open(admin client.Server, classes []string) (*Source, error) {
	b, err := bus.New()
	if err != nil {
		return nil, fmt.Errorf("open the message bus: %w", err)
	}
	admin.Timeout = min(admin.Timeout, maxTimeout)
	s := &Source{bus: b, admin: admin, classes: classes}
	if s.asks = classes == nil; s.asks {
		s.classes = client.Managers
	}
	return s, nil
}

// SumSites lets the samples have totals of the sites, which clients is asked for.
func (s *Source) SumSites(clients client.Server) {
	clients.Timeout = min(clients.Timeout, maxTimeout)
	s.clients = clients
}

// Close releases the source.
func (s *Source) Close() { _ = s.bus.Term(maxTimeout) }

// Read returns a sample, with rates since the one before.
func (s *Source) Read(ctx context.Context) ManagersSample {
	now := s.readStats(ctx)
	sample := Compare(s.before, now)
	s.before = now
	return sample
}

// readStats requests the statistics of all managers at once.
func (s *Source) readStats(ctx context.Context) Reading {
	r := Reading{}
	stats, err := s.admin.Stats(ctx, s.bus, s.classes, nil)
	if err == nil && s.asks {
		if list := client.ManagersIn(stats); list != nil && !slices.Equal(list, s.classes) {
			s.classes = list
			stats, err = s.admin.Stats(ctx, s.bus, s.classes, nil)
		}
	}
	r.At, r.Managers = time.Now(), stats
	if err != nil {
		r.Away = err.Error()
		return r
	}
	r.Away = fmt.Sprintf("no answer from %s:%d", s.admin.Host, s.admin.Port)
	for _, m := range stats {
		if m.Err == nil {
			r.Away = ""
		}
	}
	if r.Away == "" && s.clients != nil && r.At.Sub(s.summed) >= totalsEvery {
		s.summed = r.At
		s.totals = s.sumCounters(ctx)
	}
	r.Sites = s.totals
	return r
}

// sumCounters adds up the counters of the sites. It returns nil if the daemon does not answer.
func (s *Source) sumCounters(ctx context.Context) *Totals {
	sites, more, err := Sites(ctx, s.clients)
	if err != nil {
		return nil
	}
	sum := &Totals{Sites: len(sites), More: more}
	for _, site := range sites {
		sum.Resources += site.Resources
		sum.Contents += site.Contents
		sum.New += site.NewURLs
		sum.Collected += site.CollectedURLs
		sum.Errors += site.Errors
		sum.Size += site.Size
	}
	return sum
}

// Sites returns the counters of the sites without lists, active ones first, then those that were
// crawled last: at most maxSites, in one request. more is set if there are others.
func Sites(ctx context.Context, service service.Service) (sites []wire.Site, more bool, err error) {
	err = service.Ask(ctx, wire.SiteFind, map[string]any{
		"excludeList": []string{"urls", "properties", "filters"},
		"criterions":  map[string]any{"WHERE": "`Id`<>'" + wire.GeneralSite + "'", "ORDER BY": "`State` ASC, `TcDate` DESC, `Id` ASC", "LIMIT": maxSites + 1},
	}, &sites)
	more = len(sites) > maxSites
	return sites[:min(len(sites), maxSites)], more, err
}
