package simulation

import (
	"fmt"
	"slices"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Bits of MODES_FLAG (docs/spec/daemon.md 2.14).
const (
	mayCrawl   = 1
	mayProcess = 2
	mayRecrawl = 8
	mayAge     = 16
	mayAll     = 255
)

// site is one site of the week. Times are minutes of the simulation.
type site struct {
	id        string
	priority  int // all differ, so that the order of batches is known
	period    int // RecrawlPeriod; 0: never again
	first     int // RecrawlDate
	modes     int // MODES_FLAG
	maxURLs   int
	maxErrors int
	modified  bool // DETECT_MODIFIED by ETag
	eager     bool // INCREMENTAL_CRAWLING
	aging     int  // rows older than so many minutes are aged by the site's own criterion; 0: by that of the daemon
	page      func(path string, minute int) (text, bool)

	url string // of its root, once it is served
}

// tree returns a page with n leaves, /a, /b and so on, that never change.
func tree(n int) func(string, int) (text, bool) {
	return func(path string, _ int) (text, bool) {
		leaves := paths(n)
		switch {
		case path == "/":
			return text{links: leaves}, true
		case slices.Contains(leaves, path):
			return text{}, true
		}
		return text{}, false
	}
}

func paths(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("/%c", 'a'+i)
	}
	return list
}

const (
	hour = 60
	day  = 24 * hour
)

// theSites are the sites of the week, highest priority first.
func theSites() []*site {
	list := []*site{
		{id: "daily", period: day, first: day, page: tree(5)},
		{id: "hourly", period: hour, first: hour, page: tree(3)},
		// The grid of its dates restarts at each midnight.
		{id: "crooked", period: 100, first: 100, page: tree(2)},
		// Its dates are between two selections of due sites.
		{id: "between", period: 3*hour + 17, first: 25, page: tree(2)},
		// It changes every ten hours, and one of its leaves every day; otherwise it answers
		// 304.
		{id: "modified", period: 4 * hour, first: 4 * hour, modified: true, page: func(path string, m int) (text, bool) {
			switch path {
			case "/":
				return text{links: []string{"/still", "/moving"}, tag: fmt.Sprintf(`"v%d"`, m/(10*hour))}, true
			case "/still":
				return text{tag: `"one"`}, true
			case "/moving":
				return text{tag: fmt.Sprintf(`"v%d"`, m/day)}, true
			}
			return text{}, false
		}},
		// It has six leaves and a limit of two.
		{id: "small", period: 6 * hour, first: 6 * hour, maxURLs: 3, page: tree(6)},
		// It has three missing leaves, as many as allowed. With one more both the crawler and
		// the processor would suspend the site, in random order.
		{id: "broken", period: 5 * hour, first: 5 * hour, maxErrors: 3, page: func(path string, _ int) (text, bool) {
			return text{links: paths(3)}, path == "/"
		}},
		// As broken, without a limit.
		{id: "patient", period: 12 * hour, first: 12 * hour, page: func(path string, _ int) (text, bool) {
			return text{links: paths(2)}, path == "/"
		}},
		// A news site: every six hours a new page at the top; the last three are linked.
		{id: "news", period: 2 * hour, first: 2 * hour, page: func(path string, m int) (text, bool) {
			newest := m / (6 * hour)
			if path == "/" {
				var p text
				for i := newest; i > newest-3 && i >= 0; i-- {
					p.links = append(p.links, fmt.Sprintf("/news%d", i))
				}
				return p, true
			}
			var n int
			_, err := fmt.Sscanf(path, "/news%d", &n)
			return text{}, err == nil && n <= newest
		}},
		// Vanished pages are kept for the site's own time.
		{id: "keeper", period: 2 * hour, first: 2 * hour, aging: 30 * hour, page: func(path string, m int) (text, bool) {
			leaves := paths(4)
			if m >= day {
				leaves = leaves[:2]
			}
			return text{links: leaves}, path == "/" || slices.Contains(leaves, path)
		}},
		// Its pages have a Last-Modified date: older pages are fetched less often between two
		// recrawls.
		{id: "eager", period: 2 * day, first: 2 * day, eager: true, page: func(path string, _ int) (text, bool) {
			switch path {
			case "/":
				return text{links: []string{"/old", "/new"}, dated: true, stood: -8 * hour}, true
			case "/old":
				return text{dated: true, stood: -3 * day}, true
			case "/new":
				return text{dated: true, stood: -hour}, true
			}
			return text{}, false
		}},
		{id: "once", page: tree(4), modes: mayAll &^ mayAge},
		{id: "unloved", period: 3 * hour, first: 3 * hour, page: tree(2), modes: mayAll &^ mayRecrawl &^ mayAge},
		{id: "ageless", period: hour, first: 2 * day, page: tree(2), modes: mayAll &^ mayAge},
		{id: "raw", period: 8 * hour, first: 8 * hour, page: tree(2), modes: mayAll &^ mayProcess},
		{id: "closed", period: hour, first: hour, page: tree(2), modes: mayAll &^ mayCrawl},
	}
	for i, s := range list {
		s.priority = 100 - i
		if s.modes == 0 {
			s.modes = mayAll
		}
	}
	return list
}

// request returns the SITE_NEW of a site.
func (s *site) request() map[string]any {
	properties := map[string]string{"PROCESS_CTYPES": "text/html", "ROBOTS_MODE": "0"}
	if s.modes != mayAll {
		properties["MODES_FLAG"] = fmt.Sprint(s.modes)
	}
	if s.modified {
		properties["DETECT_MODIFIED"] = `{"algorithm":1,"mode":1,"compare":0,"behavior":1}`
	}
	if s.eager {
		properties["INCREMENTAL_CRAWLING"] = "1"
	}
	if s.aging > 0 {
		properties["AGING_URL_CRITERION"] = fmt.Sprintf("`ParentMd5`<>'' AND `UDate` < DATE_SUB(NOW(), INTERVAL %d MINUTE)", s.aging)
	}
	r := map[string]any{
		"id": s.id, "state": wire.SiteActive, "priority": s.priority, "urls": []string{s.url}, "properties": properties,
		"filters":      []any{map[string]any{"pattern": "(.*)", "type": 1}},
		"requestDelay": 0, "processingDelay": 0, "httpTimeout": 30000, "maxURLs": s.maxURLs, "maxResources": 0, "maxErrors": s.maxErrors,
		"maxURLsFromPage": 0, "maxResourceSize": 0, "recrawlPeriod": s.period,
	}
	if s.period > 0 {
		r["recrawlDate"] = string(schema.DateOf(at(s.first)))
	}
	return r
}
