package webstore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
)

// requests is how many servers are asked at once.
const requests = 4

// Schedule sends crawlers to web servers: to the first one when it is told to begin, and then every
// Period to the hosts of the expiry directory whose time is older than Age.
type Schedule struct {
	First    string // host of the first web server, with the port of HTTP
	Period   time.Duration
	Age      time.Duration
	PortStep int // of crawler ports above the ports of HTTP
	Dial     handshake.Dial
	Expiry   *Expiry
	Log      *slog.Logger
	Now      func() time.Time
}

// Run waits for begin, which may come again at any time, and works until ctx ends.
func (s *Schedule) Run(ctx context.Context, begin <-chan struct{}) {
	var ticks <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-begin:
			s.Log.Info("crawling begins", "first", s.First)
			s.requestCrawler(ctx, s.First)
			if ticks == nil {
				ticker := time.NewTicker(s.Period)
				defer ticker.Stop()
				ticks = ticker.C
			}
			s.askDueHosts(ctx)
		case <-ticks:
			s.askDueHosts(ctx)
		}
	}
}

// askDueHosts asks all due hosts.
func (s *Schedule) askDueHosts(ctx context.Context) {
	places := make(chan struct{}, requests)
	var all sync.WaitGroup
	for _, host := range s.Expiry.Due(s.Now(), s.Age) {
		places <- struct{}{}
		all.Go(func() {
			s.requestCrawler(ctx, host)
			<-places
		})
	}
	all.Wait()
}

// requestCrawler asks a host for a crawler. Then its time is now, whatever the answer: it is asked again when
// that is old.
func (s *Schedule) requestCrawler(ctx context.Context, host string) {
	if host == "" || ctx.Err() != nil {
		return
	}
	address, err := handshake.CrawlerPort(host, s.PortStep)
	accepted := false
	if err == nil {
		accepted, err = handshake.Ask(ctx, s.Dial, address)
	}
	if err != nil {
		s.Log.Warn("cannot request a crawler", "host", host, "error", err)
	} else {
		s.Log.Info("requested a crawler", "host", host, "accepted", accepted)
	}
	if err := s.Expiry.Touch(s.Now(), host); err != nil {
		s.Log.Error("cannot update the expiry directory", "host", host, "error", err)
	}
}
