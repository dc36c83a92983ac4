package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/counting"
)

// The table of docs/metrics.md is between these lines.
const (
	metricsPage = "../../../docs/metrics.md"
	tableBegin  = "<!-- metrics: go test ./internal/daemon/status -run MetricsPage -update -->\n"
	tableEnd    = "<!-- end of metrics -->\n"
)

// crawlTally is what crawler-task counts for four requests.
var crawlTally = counting.Tally{
	"responses.2xx": 3, "responses.none": 1, "bytes": 5000, "latency.50": 2, "latency.more": 1, "latency_ms": 45_100,
	"gate_waits": 4, "gate_wait_ms": 1500, "errors.HTTP_ERROR": 2,
}

// families returns the metrics of a daemon in which everything is known, by name.
func families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	fields := map[string]any{
		"START_DATE": "2026-11-22 03:59:22", "VERSION": "1", "clients": []string{"A"}, "odd": 1, "state": "running", "Admin_send_cnt": 1, "Admin_send_bytes": 1,
		"batches_crawl_pause": "disk full", "batches_crawl_tally": crawlTally, "batches_process_tally": counting.Tally{"errors.SCRAPER_ERROR": 1},
		"nodes": map[string]any{
			"n1": cluster.Node{Name: "n1", State: "ready", Member: true, Load: 0.5, Busy: 2},
			"n2": cluster.Node{Name: "n2", State: "silent", Member: true, Load: -1, Lag: -1},
		},
		"schedules": map[string]any{"crawl": map[string]any{"periodSeconds": 2, "last": "2026-11-22 04:00:00", "next": "2026-11-22 04:00:02"}},
	}
	for stat := range metrics {
		fields[stat] = 1
	}
	for stat := range process {
		fields[stat] = 1
	}
	b := managertest.Bus(t)
	managers(t, b, func(string) any { return fields })
	stores(t, b, func() any {
		list, err := json.Marshal([]wire.SiteTotal{
			{Category: 7, State: wire.SiteActive, Sites: 2, New: 40, Crawling: 3, Crawled: 2, Processing: 1},
			{Category: wire.OtherCategories, State: wire.SiteSuspended, Sites: 1, New: 5},
		})
		if err != nil {
			t.Error(err)
		}
		one := wire.ClientResponseItem{Node: "n1", ItemObject: list}
		return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{one, one}} // two nodes
	})
	s := start(t, Config{Bus: b, Classes: []string{"A"}, Sites: bus.Inproc("SitesManager"), Folders: []Folder{{Name: "raw_data_dir", Path: t.TempDir()}}})
	status, body := get(t, s, "/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`dc_crawl_responses_total{class="2xx"} 3`, `dc_crawl_responses_total{class="5xx"} 0`, `dc_crawl_responses_total{class="none"} 1`,
		`dc_crawl_received_bytes_total 5000`, `dc_crawl_errors_total{error="HTTP_ERROR"} 2`, `dc_process_errors_total{error="SCRAPER_ERROR"} 1`,
		`dc_crawl_request_seconds_bucket{le="0.05"} 2`, `dc_crawl_request_seconds_bucket{le="30"} 2`, `dc_crawl_request_seconds_bucket{le="+Inf"} 3`,
		`dc_crawl_request_seconds_sum 45.1`, `dc_crawl_request_seconds_count 3`,
		`dc_crawl_gate_wait_seconds_sum 1.5`, `dc_crawl_gate_wait_seconds_count 4`,
		`dc_sites{category="7",state="active"} 4`, `dc_site_urls{category="7",queue="new",state="active"} 80`,
		`dc_site_urls{category="7",queue="processing",state="active"} 2`, `dc_site_urls{category="other",queue="new",state="suspended"} 10`,
		`dc_node_up{node="n1",state="ready"} 1`, `dc_node_up{node="n2",state="silent"} 0`, `dc_node_busy{node="n1"} 2`,
		`dc_node_load{node="n1"} 0.5`, `dc_node_journal_lag{node="n1"} 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	return all
}

// docs/metrics.md lists every metric of the daemon with its type, labels and help.
func TestMetricsPage(t *testing.T) {
	all := families(t)
	var table strings.Builder
	table.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	rows := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if f := all[name]; strings.HasPrefix(name, "dc_") {
			rows++
			fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), labels(f), f.GetHelp())
		}
	}
	if rows < 60 {
		t.Fatalf("only %d metrics", rows)
	}
	table.WriteString("\n")
	testgolden.Part(t, metricsPage, tableBegin, tableEnd, table.String())
}

// labels returns the names of the labels of a metric.
func labels(f *dto.MetricFamily) string {
	names := map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			names[l.GetName()] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
