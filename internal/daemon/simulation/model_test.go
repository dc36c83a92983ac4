package simulation

import (
	"slices"
	"strings"
)

// The model of the week says what must happen when, following docs/spec/daemon.md 2 and
// docs/spec/storage.md 4, for one node, with sequential batches and work that takes no time. It
// uses minutes and paths and shares no code with the product.

// event is one change of a site.
type event struct {
	minute int
	site   string
	what   string // "crawl", "recrawl", "gone" (deleted with delay), "purged"
	path   string // "" of a recrawl
	code   int    // of a crawl
}

// page is a URL in the model.
type page struct {
	path    string
	order   int // of its discovery
	waits   bool
	updated int // UDate, and TcDate
	stood   int // LastModified
	tag     string
	failed  bool
}

// siteModel is a site with its stored rows.
type siteModel struct {
	*site
	rows      []*page
	suspended bool
	next      int      // RecrawlDate; -1: none
	rounds    int      // Iterations
	waiting   []string // deleted with delay: paths
	found     int
}

// model is the whole cluster.
type model struct {
	sites  []*siteModel // by priority
	batch  int          // MaxURLs of a batch
	events []event

	batches   [][]event // crawls, batch by batch
	items     int       // rows that were in a batch, refused ones too
	processed int       // pages that were processed
}

func newModel(sites []*site, batch int) *model {
	m := &model{batch: batch}
	for _, s := range sites {
		n := &siteModel{site: s, next: -1}
		if s.period > 0 {
			n.next = s.first
		}
		n.discover("/")
		m.sites = append(m.sites, n)
	}
	return m
}

func (s *siteModel) discover(path string) {
	s.found++
	s.rows = append(s.rows, &page{path: path, order: s.found, waits: true})
}

func (s *siteModel) row(path string) *page {
	for _, p := range s.rows {
		if p.path == path {
			return p
		}
	}
	return nil
}

func (s *siteModel) may(mode int) bool { return !s.suspended && s.modes&mode != 0 }

// due returns the rows that may be crawled in the order of a batch: the root, then by text.
func (s *siteModel) due() []*page {
	var list []*page
	for _, p := range s.rows {
		if p.waits {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *page) int { return strings.Compare(a.path, b.path) })
	return list
}

// crawl crawls everything that is due at one minute, batch by batch.
func (m *model) crawl(now int) {
	for {
		chosen, n := m.choose()
		if n == 0 {
			return
		}
		m.items += n
		var batch []event
		for _, s := range m.sites {
			rows := chosen[s.id]
			if len(rows) == 0 {
				continue
			}
			// An exceeded limit suspends the site; its rows wait (docs/spec/DECISIONS.md 3.2).
			if s.maxErrors > 0 && s.errors() > s.maxErrors {
				s.suspended = true
				continue
			}
			for _, p := range rows {
				batch = append(batch, m.fetch(s, p, now))
			}
		}
		m.batches = append(m.batches, batch)
		m.events = append(m.events, batch...)
	}
}

// choose is the proportional selection (docs/spec/daemon.md 2.3): in each round every site
// gives an equal share, in the order of priority.
func (m *model) choose() (map[string][]*page, int) {
	var sites []*siteModel
	for _, s := range m.sites {
		if s.may(mayCrawl) {
			sites = append(sites, s)
		}
	}
	chosen, n := map[string][]*page{}, 0
	for share := max(1, m.batch/max(1, len(sites))); len(sites) > 0; {
		var more []*siteModel
		for _, s := range sites {
			taken := 0
			for _, p := range s.due()[len(chosen[s.id]):] {
				if n == m.batch {
					return chosen, n
				}
				if taken == share {
					break
				}
				chosen[s.id] = append(chosen[s.id], p)
				taken++
				n++
			}
			if taken == share {
				more = append(more, s)
			}
		}
		sites = more
	}
	return chosen, n
}

func (s *siteModel) errors() (n int) {
	for _, p := range s.rows {
		if p.failed {
			n++
		}
	}
	return n
}

// fetch applies one request.
func (m *model) fetch(s *siteModel, p *page, now int) event {
	e := event{now, s.id, "crawl", p.path, 200}
	content, there := s.page(p.path, now)
	p.waits, p.updated, p.failed = false, now, !there
	switch {
	case !there:
		e.code = 404
		return e
	case s.modified && p.tag != "" && p.tag == content.tag:
		e.code = 304
		return e
	}
	p.tag, p.stood = content.tag, content.stood
	if s.modes&mayProcess != 0 {
		m.processed++
	}
	for _, link := range content.links {
		known := s.row(link)
		switch {
		case known == nil && (s.maxURLs == 0 || len(s.rows) < s.maxURLs):
			s.discover(link)
		case known != nil && s.period > 0 && known.updated <= now-s.period:
			known.waits = true // found again, and not young any more (docs/spec/crawling.md 5.7)
		}
	}
	return e
}

// recrawl handles due sites: failed pages are deleted with delay, and the root is crawled again
// (docs/spec/daemon.md 2.14).
func (m *model) recrawl(now int) {
	for _, s := range m.sites {
		if s.next < 0 || s.next > now || !s.may(mayRecrawl) {
			continue
		}
		m.note(now, s, "recrawl", "")
		s.rounds++
		s.remove(m, now, func(p *page) bool { return p.failed })
		s.row("/").waits = true
		start := now - now%day
		s.next = start + (now-start+s.period-1)/s.period*s.period + s.period
	}
}

func (m *model) note(now int, s *siteModel, what, path string) {
	m.events = append(m.events, event{now, s.id, what, path, 0})
}

// remove deletes rows except the root with delay.
func (s *siteModel) remove(m *model, now int, old func(*page) bool) {
	s.rows = slices.DeleteFunc(s.rows, func(p *page) bool {
		if p.path == "/" || !old(p) {
			return false
		}
		m.note(now, s, "gone", p.path)
		s.waiting = append(s.waiting, p.path)
		return true
	})
}

// again crawls pages that had as much time to change as before their last fetch
// (docs/spec/daemon.md 2.9).
func (m *model) again(now int) {
	for _, s := range m.sites {
		if !s.eager || !s.may(mayCrawl) {
			continue
		}
		for _, p := range slices.Clone(s.rows) {
			if age := p.updated - p.stood; !p.failed && age >= 0 && now-p.updated > age {
				m.items++
				e := m.fetch(s, p, now)
				m.batches, m.events = append(m.batches, []event{e}), append(m.events, e)
			}
		}
	}
}

// age deletes with delay pages that did not change for two periods or for the site's own time.
// A site without recrawl keeps its pages (docs/spec/daemon.md 2.11).
func (m *model) age(now int) {
	for _, s := range m.sites {
		limit := 2 * s.period
		if s.aging > 0 {
			limit = s.aging
		}
		if s.modes&mayAge != 0 && limit > 0 {
			s.remove(m, now, func(p *page) bool { return now-p.updated > limit })
		}
	}
}

// purge removes everything that was deleted with delay (docs/spec/daemon.md 2.10).
func (m *model) purge(now int) {
	for _, s := range m.sites {
		for _, path := range s.waiting {
			m.note(now, s, "purged", path)
		}
		s.waiting = nil
	}
}
