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
	patience    = 2 * time.Second  // for the answers of one reading
	totalsEvery = 10 * time.Second // sums over all sites cost the database more
	maxSites    = 1000             // that are summed up
)

// Reading is what the managers said at one moment.
type Reading struct {
	At       time.Time
	Away     string // why nothing was answered; "" when the daemon is there
	Managers []client.Stat
	Sites    *Totals // nil while they are not known
}

// Totals are sums over the sites.
type Totals struct {
	Sites     int   `json:"sites"`
	More      bool  `json:"more"` // there are more sites than are summed up
	Resources int64 `json:"resources"`
	Contents  int64 `json:"contents"`
	New       int64 `json:"newURLs"`
	Collected int64 `json:"collectedURLs"`
	Errors    int64 `json:"errors"`
	Size      int64 `json:"size"` // bytes
}

// Source reads a daemon. It belongs to one goroutine at a time.
type Source struct {
	bus     *bus.Bus
	admin   client.Server
	clients client.Server
	classes []string
	totals  *Totals
	asked   time.Time // of the totals
}

// Open makes a source of the managers classes of the daemon whose operators'
// port is admin and whose clients' port is clients. Their time-outs are cut to
// what a screen can wait for. It opens no connection yet.
func Open(admin, clients client.Server, classes []string) (*Source, error) {
	b, err := bus.New()
	if err != nil {
		return nil, fmt.Errorf("top.Open: %w", err)
	}
	admin.Timeout, clients.Timeout = min(admin.Timeout, patience), min(clients.Timeout, patience)
	return &Source{bus: b, admin: admin, clients: clients, classes: classes}, nil
}

// Close ends the source.
func (s *Source) Close() { _ = s.bus.Term(patience) }

// Read asks all managers at once.
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
	if r.Away == "" && r.At.Sub(s.asked) >= totalsEvery {
		s.asked = r.At
		s.totals = s.sum(ctx)
	}
	r.Sites = s.totals
	return r
}

// sum adds up the counters of the sites; nil when nobody answers.
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
