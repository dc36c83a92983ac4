package livescreen

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

const (
	maxTimeout  = 2 * time.Second  // for the answers of one reading
	totalsEvery = 10 * time.Second // sums over all sites load the database
	maxSites    = 1000             // in the sums
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

// Source reads a daemon. Not safe for concurrent use.
type Source struct {
	bus     *bus.Bus
	admin   client.Server
	clients client.Server
	classes []string
	totals  *Totals
	summed  time.Time // time of the totals
}

// Open returns a source that reads the managers classes through the ports admin and clients
// of a daemon. It limits their timeouts to two seconds and opens no connection. Close the
// source after use.
func Open(admin, clients client.Server, classes []string) (*Source, error) {
	b, err := bus.New()
	if err != nil {
		return nil, fmt.Errorf("open the message bus: %w", err)
	}
	admin.Timeout, clients.Timeout = min(admin.Timeout, maxTimeout), min(clients.Timeout, maxTimeout)
	return &Source{bus: b, admin: admin, clients: clients, classes: classes}, nil
}

// Close releases the source.
func (s *Source) Close() { _ = s.bus.Term(maxTimeout) }

// Read requests the statistics of all managers at once.
func (s *Source) Read(ctx context.Context) Reading {
	r := Reading{}
	stats, err := s.admin.Stats(ctx, s.bus, s.classes, nil)
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
	if r.Away == "" && r.At.Sub(s.summed) >= totalsEvery {
		s.summed = r.At
		s.totals = s.sum(ctx)
	}
	r.Sites = s.totals
	return r
}

// sum adds up the counters of the sites. It returns nil if the daemon does not answer.
func (s *Source) sum(ctx context.Context) *Totals {
	request := fmt.Sprintf("{\"criterions\":{\"WHERE\":\"`Id`<>'0'\",\"LIMIT\":\"%d\"},\"excludeList\":[\"urls\",\"properties\",\"filters\"]}", maxSites)
	out := client.Call{Op: wire.SiteFind, Object: json.RawMessage(request), Server: s.clients}.Do(ctx)
	raw, ok := out.JSON.(json.RawMessage)
	if !ok {
		return nil
	}
	var answer struct {
		ItemsList []struct {
			Object []struct {
				Totals
			} `json:"itemObject"`
		} `json:"itemsList"`
	}
	if json.Unmarshal(raw, &answer) != nil || len(answer.ItemsList) == 0 {
		return nil
	}
	sum := &Totals{}
	for _, item := range answer.ItemsList {
		for _, site := range item.Object {
			sum.Sites++
			sum.Resources += site.Resources
			sum.Contents += site.Contents
			sum.New += site.New
			sum.Collected += site.Collected
			sum.Errors += site.Errors
			sum.Size += site.Size
		}
	}
	sum.More = sum.Sites >= maxSites
	return sum
}
