package status

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
)

// Metrics of crawling, from what the task programs counted.
const (
	crawlResponses = "dc_crawl_responses_total"
	crawlBytes     = "dc_crawl_received_bytes_total"
	crawlLatency   = "dc_crawl_request_seconds"
	crawlGateWait  = "dc_crawl_gate_wait_seconds"
	crawlErrors    = "dc_crawl_errors_total"
	processErrors  = "dc_process_errors_total"
)

// classes are the values of the label class.
var classes = []string{"1xx", "2xx", "3xx", "4xx", "5xx", counting.NoResponse}

// tallyOf reads a tally of STAT.
func tallyOf(value any) counting.Tally {
	t := counting.Tally{}
	fields, _ := value.(map[string]any)
	for name, v := range fields {
		if n, ok := parseNumber(v); ok {
			t[name] = int64(n)
		}
	}
	return t
}

// crawlTally sends what crawler-task counted. Metrics without events are 0, so that the first
// ones count in rates.
func (s sink) crawlTally(t counting.Tally) {
	for _, class := range classes {
		s.sendMetric(crawlResponses, "Responses by class of their HTTP code, with those of redirects and robots.txt; none: requests without a response.", count,
			float64(t[counting.Responses+class]), "class", class)
	}
	s.sendMetric(crawlBytes, "Bytes of response bodies, decoded.", count, float64(t[counting.Bytes]))
	s.sendLatency(t)
	s.sendSummary(crawlGateWait, "Waits for the permission to send a request to a host.", t[counting.Waits], t[counting.WaitMs])
	s.sendErrors(crawlErrors, "Crawled URLs, by error bit.", t)
}

func (s sink) sendLatency(t counting.Tally) {
	var all uint64
	buckets := map[float64]uint64{}
	for _, limit := range counting.LatencyLimits {
		all += uint64(t[counting.Latency+strconv.FormatInt(limit, 10)])
		buckets[float64(limit)/1000] = all
	}
	all += uint64(t[counting.Latency+counting.LatencyMore])
	desc := prometheus.NewDesc(crawlLatency, "Time of a request with its redirects, to the last byte.", nil, nil)
	s.out <- prometheus.MustNewConstHistogram(desc, all, float64(t[counting.LatencyMs])/1000, buckets)
}

func (s sink) sendSummary(name, help string, n, sumMs int64) {
	desc := prometheus.NewDesc(name, help, nil, nil)
	s.out <- prometheus.MustNewConstSummary(desc, uint64(n), float64(sumMs)/1000, nil)
}

// sendErrors sends the error bits of a tally. A URL with several bits counts for each.
func (s sink) sendErrors(name, help string, t counting.Tally) {
	bits := t.Under(counting.Errors)
	for _, bit := range slices.Sorted(maps.Keys(bits)) {
		s.sendMetric(name, help+" A URL with several bits counts for each.", count, float64(bits[bit]), "error", bit)
	}
}

// stateNames are the values of the label state.
var stateNames = map[int64]string{
	wire.SiteActive: "active", wire.SiteDisabled: "disabled", wire.SiteSuspended: "suspended",
	wire.SiteDeleted: "deleted", wire.SiteDeleteTask: "deleting", wire.SiteCleaned: "cleaned", wire.SiteCleanupTask: "cleaning",
}

// sendTotals sends the sums over sites. The number of groups is limited by wire.MostCategories.
func (s sink) sendTotals(sums []wire.SiteTotal) {
	for _, one := range sums {
		category, state := strconv.FormatInt(one.Category, 10), cmp.Or(stateNames[one.State], strconv.FormatInt(one.State, 10))
		if one.Category == wire.OtherCategories {
			category = "other"
		}
		labels := []string{"category", category, "state", state}
		s.sendMetric("dc_sites", "Sites, by their categoryId and state.", level, float64(one.Sites), labels...)
		for _, queue := range []struct {
			name string
			n    int64
		}{{"new", one.New}, {"crawling", one.Crawling}, {"crawled", one.Crawled}, {"processing", one.Processing}} {
			s.sendMetric("dc_site_urls", "URLs of sites that wait or are in work: new ones wait for crawling, crawled pages for processing.", level,
				float64(queue.n), append(slices.Clone(labels), "queue", queue.name)...)
		}
	}
}
