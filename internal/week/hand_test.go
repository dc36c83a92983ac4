package week

import (
	"fmt"
	"testing"

	"hce/dc/internal/dc"
)

// By hand: an operator does what schedules would do.
func (s *simulation) recrawlByHand(m *model, now int) {
	for _, e := range m.events {
		if e.minute == now && e.what == "recrawl" {
			s.request(dc.URLUpdate, []any{map[string]any{"siteId": e.site, "status": 1, "state": 0, "criterions": map[string]any{"WHERE": "`ParentMd5`=''", "LIMIT": "100"}}}, nil)
		}
	}
	s.request(dc.SiteUpdate, map[string]any{"id": s.sites[0].id, "priority": 100}, nil)
}

func (s *simulation) ageByHand(m *model) {
	for _, n := range m.sites {
		if n.modes&mayAge == 0 {
			continue
		}
		s.request(dc.URLAge, []any{map[string]any{"delayedType": 0, "maxURLs": 100, "sitesCriterions": map[string]any{"WHERE": fmt.Sprintf("`Id`='%s'", n.id)},
			"urlsCriterions": map[string]any{"WHERE": fmt.Sprintf("`ParentMd5`<>'' AND `UDate` < DATE_SUB(NOW(), INTERVAL %d MINUTE)", 2*n.period)}}}, nil)
	}
}

func TestByHand(t *testing.T) {
	s := newSimulation(t, theSites())
	m := newModel(s.sites, batchURLs)
	m.crawl(crawlStart)
	s.settle()
	for now := 10; now < 2*day; now++ {
		switch {
		case now%10 == 0:
			before := len(m.events)
			m.recrawl(now)
			if len(m.events) == before {
				continue
			}
			s.until(now)
			s.clock.set(at(now))
			s.recrawlByHand(m, now)
			s.settle()
			m.crawl(now)
		case now%(3*hour) == 5:
			s.until(now)
			s.clock.set(at(now))
			m.age(now)
			s.ageByHand(m)
			s.settle()
		}
	}
	compare(t, s.web.visits(), m.batches)
	t.Logf("%d jumps of the clock, %d requests", s.jumps, len(m.events))
}
