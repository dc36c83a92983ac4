package livescreen

import (
	"cmp"
	"slices"
	"time"

	"hce/dc/internal/wire"
)

// SitesReading is the counters of the sites at one time.
type SitesReading struct {
	At      time.Time
	Service string // name of the daemon or of the data folder
	Away    string // why the service did not answer; empty if it did
	Missing string // nodes of a cluster whose part is missing in Sites, and why; empty if none is
	Idle    string // why nothing is crawled; empty if a daemon runs
	Sites   []SiteCounters
	More    bool // more sites exist than are in Sites
	// Managers is the sample of the daemon's managers; nil if NoManagers says why it is unknown.
	Managers   *ManagersSample
	NoManagers string
}

// SiteCounters are the counters of one site.
type SiteCounters struct {
	wire.Site                  // without lists
	StateName string           // such as "active"
	Root      string           // its first root URL; empty if unknown
	Roots     int64            // number of root URLs
	Causes    map[string]int64 // error bits of failed URLs; nil if unknown
	SlowHost  string           // with the slowest pages of a sample; empty if unknown
	SlowTime  time.Duration    // mean time of a page of SlowHost
}

// doneCount is the number of URLs that were fetched or failed.
func (s SiteCounters) doneCount() int64 {
	return max(0, s.CollectedURLs+s.Roots-s.NewURLs-s.CrawlingURLs)
}

// SitesSample is one reading of the sites, with rates since the reading before. Its JSON is a line of
// `hce top --json`.
type SitesSample struct {
	Time       string          `json:"time"` // UTC
	Service    string          `json:"service"`
	Away       string          `json:"away,omitempty"`
	Missing    string          `json:"missing,omitempty"` // nodes whose part is missing in the numbers
	Idle       string          `json:"idle,omitempty"`    // why nothing is crawled
	Totals     SitesTotals     `json:"totals"`
	Sites      []Site          `json:"sites"`    // active ones first, then by their rate
	Managers   *ManagersSample `json:"managers"` // null if unknown
	NoManagers string          `json:"noManagers,omitempty"`
}

// SitesTotals are sums over the sites of a sample.
type SitesTotals struct {
	Sites      int      `json:"sites"`
	More       bool     `json:"more"` // more sites exist than are in the sums
	Active     int      `json:"active"`
	Done       int64    `json:"done"`
	Waiting    int64    `json:"waiting"`
	InFlight   int64    `json:"inFlight"`
	Processing int64    `json:"processing"`
	Pages      int64    `json:"pages"`
	Errors     int64    `json:"errors"`
	Rate       *float64 `json:"rate"` // null in the first sample
}

// Site is a line of the sites.
type Site struct {
	ID         string           `json:"id"`
	Root       string           `json:"root"`  // the first root URL
	Roots      int64            `json:"roots"` // number of root URLs
	State      string           `json:"state"`
	Done       int64            `json:"done"`       // URLs that were fetched or failed
	Waiting    int64            `json:"waiting"`    // URLs
	InFlight   int64            `json:"inFlight"`   // URLs in crawl batches
	Processing int64            `json:"processing"` // pages in processing batches
	Pages      int64            `json:"pages"`      // processed
	Rate       *float64         `json:"rate"`       // URLs done per second; null without a sample before
	Errors     int64            `json:"errors"`
	Causes     map[string]int64 `json:"causes"`   // failed URLs by error bit; null if unknown
	SlowHost   string           `json:"slowHost"` // with the slowest pages of a sample
	SlowMs     int64            `json:"slowMs"`   // mean time of a page of slowHost

	active bool
}

// CompareSites computes the sample of a reading. before is an earlier reading, or zero.
func CompareSites(before, now SitesReading) SitesSample {
	s := SitesSample{Time: now.At.UTC().Format(dateLayout), Service: now.Service, Away: now.Away, Missing: now.Missing, Idle: now.Idle, Sites: []Site{},
		Managers: now.Managers, NoManagers: now.NoManagers, Totals: SitesTotals{Sites: len(now.Sites), More: now.More}}
	was := map[string]int64{}
	seconds := now.At.Sub(before.At).Seconds()
	if before.Away == "" && before.Missing == now.Missing && !before.At.IsZero() && seconds > 0 {
		for _, c := range before.Sites {
			was[c.ID] = c.doneCount()
		}
	}
	for _, c := range now.Sites {
		line := lineOf(c)
		if done, known := was[c.ID]; known { // of the same nodes
			rate := max(0, float64(line.Done-done)) / seconds
			line.Rate = &rate
		}
		s.Sites = append(s.Sites, line)
		s.Totals.addSite(line)
	}
	slices.SortStableFunc(s.Sites, compareBusy)
	return s
}

func lineOf(c SiteCounters) Site {
	return Site{ID: c.ID, Root: cleanText(c.Root), Roots: c.Roots, State: c.StateName, Done: c.doneCount(), Waiting: c.NewURLs, InFlight: c.CrawlingURLs,
		Processing: c.ProcessingURLs, Pages: c.Contents, Errors: c.Errors, Causes: c.Causes, SlowHost: cleanText(c.SlowHost), SlowMs: c.SlowTime.Milliseconds(),
		active: c.State == wire.SiteActive}
}

// rateOrZero is 0 if it is unknown.
func (s Site) rateOrZero() float64 {
	if s.Rate == nil {
		return 0
	}
	return *s.Rate
}

// compareBusy orders active sites first, then by rate, work under way, and URLs that wait.
func compareBusy(a, b Site) int {
	switch {
	case a.active != b.active && a.active:
		return -1
	case a.active != b.active:
		return 1
	}
	return cmp.Or(cmp.Compare(b.rateOrZero(), a.rateOrZero()), cmp.Compare(b.InFlight+b.Processing, a.InFlight+a.Processing), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.ID, b.ID))
}

func (t *SitesTotals) addSite(s Site) {
	if s.active {
		t.Active++
	}
	t.Done += s.Done
	t.Waiting += s.Waiting
	t.InFlight += s.InFlight
	t.Processing += s.Processing
	t.Pages += s.Pages
	t.Errors += s.Errors
	if s.Rate != nil {
		sum := s.rateOrZero()
		if t.Rate != nil {
			sum += *t.Rate
		}
		t.Rate = &sum
	}
}

// Reached returns ErrUnreachable if the service did not answer.
func (s SitesSample) Reached() error {
	if s.Away != "" {
		return ErrUnreachable
	}
	return nil
}
