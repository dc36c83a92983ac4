package status

import "github.com/prometheus/client_golang/prometheus"

// metric describes one statistic of STAT. All metrics have the label manager.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	label      string // another label; "" for none
	value      string // of that label
}

// inMs are the statistics in milliseconds whose metrics are in seconds.
var inMs = map[string]bool{"batches_crawl_time_total": true}

const (
	count = prometheus.CounterValue
	level = prometheus.GaugeValue
)

const queueHelp = "Waiting and running work of a manager, by queue."

func queueMetric(name string) metric {
	return metric{"dc_queue_length", queueHelp, level, "queue", name}
}

// taskMetrics are the statistics of a schedule without batches: purge_batches,
// purge_batches_total and so on.
func taskMetrics(prefix, schedule string) map[string]metric {
	of := func(outcome string) metric {
		return metric{"dc_" + schedule + "_tasks_" + outcome + "_total", "Tasks of " + schedule + ": " + outcome + ".", count, "", ""}
	}
	return map[string]metric{
		prefix:                   queueMetric(schedule),
		prefix + "_total":        {"dc_" + schedule + "_tasks_total", "Tasks of " + schedule + ", started.", count, "", ""},
		prefix + "_canceled":     of("canceled"),
		prefix + "_error":        of("error"),
		prefix + "_fault":        of("fault"),
		prefix + "_fault_ttl":    of("expired"),
		prefix + "_check_fault":  of("check_fault"),
		prefix + "_delete_fault": of("delete_fault"),
	}
}

// metrics are the statistics with their own metric (docs/spec/daemon.md 4.4). All others are
// a dc_statistic.
var metrics = map[string]metric{
	"batches_crawl_total":               {"dc_batches_crawl_total", "Crawl batches, including empty ones.", count, "", ""},
	"batches_crawl_filled":              {"dc_batches_crawl_filled_total", "Crawl batches that were not empty.", count, "", ""},
	"batches_crawl_urls":                {"dc_batches_crawl_urls_total", "URLs in crawl batches.", count, "", ""},
	"batches_crawl_items_avg":           {"dc_batches_crawl_items_avg", "Mean number of URLs in active crawl batches.", level, "", ""},
	"batches_crawl_fault":               {"dc_batches_crawl_faults_total", "Failed crawl batches.", count, "", ""},
	"batches_crawl_urls_fault":          {"dc_batches_crawl_faults_urls_total", "URLs in failed crawl batches.", count, "", ""},
	"batches_crawl_fault_ttl":           {"dc_batches_crawl_expired_total", "Crawl batches that expired before they started.", count, "", ""},
	"batches_crawl_pauses":              {"dc_batches_crawl_pauses_total", "Pauses of crawling after faults of the machine or of the program.", count, "", ""},
	"batches_crawl_halved":              {"dc_batches_crawl_halved", "Crawl batches that are halved, because their program died.", level, "", ""},
	"batches_crawl_delete_fault":        {"dc_batches_crawl_delete_faults_total", "Crawl tasks that could not be deleted.", count, "", ""},
	"batches_crawl_check_fault":         {"dc_batches_crawl_check_faults_total", "Failed requests for the state of crawl tasks.", count, "", ""},
	"batches_crawl_url_fetch":           {"dc_batches_crawl_url_fetch_total", "Selections of URLs to crawl.", count, "", ""},
	"batches_crawl_url_fetch_cancelled": {"dc_batches_crawl_url_fetch_cancelled_total", "Selections of URLs that a limit prevented.", count, "", ""},
	"batches_crawl_url_fetch_incr":      {"dc_batches_crawl_url_fetch_incremental_total", "Selections of URLs for incremental crawling.", count, "", ""},
	"batches_crawl_url_fetch_requests":  {"dc_batches_crawl_url_fetch_requests", "Selections that wait for an answer.", level, "", ""},
	"batches_crawl_urls_ret":            {"dc_batches_crawl_urls_returned_total", "URLs that were returned to the status New.", count, "", ""},
	"batches_crawl_fetcher_dynamic":     {"dc_batches_crawl_fetcher_dynamic_total", "Batches for the browser.", count, "", ""},
	"batches_crawl_fetcher_static":      {"dc_batches_crawl_fetcher_static_total", "Batches without the browser.", count, "", ""},
	"batches_crawl_fetcher_mixed":       {"dc_batches_crawl_fetcher_mixed_total", "Batches of both kinds.", count, "", ""},
	"batches_crawl_time_avg":            {"dc_batches_realtime_seconds_avg", "Mean time of a real-time batch, in seconds.", level, "", ""},
	"batches_crawl_time_total":          {"dc_batches_realtime_seconds_total", "Total time of real-time batches, in seconds.", count, "", ""},
	"batches_realtime_queue":            queueMetric("realtime_waiting"),
	"batches_crawl_queue":               queueMetric("crawl"),
	"batches_realtime_threads":          queueMetric("realtime"),
	"batches_realtime_threads_created":  {"dc_batches_realtime_workers_started_total", "Started workers for real-time batches.", count, "", ""},

	"batches_process_total":        {"dc_batches_process_total", "Processing batches, including empty ones.", count, "", ""},
	"batches_process_filled":       {"dc_batches_process_filled_total", "Processing batches that were not empty.", count, "", ""},
	"batches_process_urls":         {"dc_batches_process_urls_total", "URLs in processing batches.", count, "", ""},
	"batches_process_cancelled":    {"dc_batches_process_cancelled_total", "Processing batches that a limit prevented.", count, "", ""},
	"batches_process_fault":        {"dc_batches_process_faults_total", "Failed processing batches.", count, "", ""},
	"batches_process_urls_fault":   {"dc_batches_process_faults_urls_total", "URLs in failed processing batches.", count, "", ""},
	"batches_process_fault_ttl":    {"dc_batches_process_expired_total", "Processing batches that expired before they started.", count, "", ""},
	"batches_process_pauses":       {"dc_batches_process_pauses_total", "Pauses of processing after faults of the machine or of the program.", count, "", ""},
	"batches_process_halved":       {"dc_batches_process_halved", "Processing batches that are halved, because their program died.", level, "", ""},
	"batches_process_delete_fault": {"dc_batches_process_delete_faults_total", "Processing tasks that could not be deleted.", count, "", ""},
	"batches_process_check_fault":  {"dc_batches_process_check_faults_total", "Failed requests for the state of processing tasks.", count, "", ""},
	"batches_process_queue":        queueMetric("process"),

	"common_operations_cnt":     {"dc_operations_total", "Requested operations on sites and URLs.", count, "", ""},
	"common_threads":            {"dc_operations_running", "Running operations.", level, "", ""},
	"common_threads_created":    {"dc_operations_workers_started_total", "Started workers for operations.", count, "", ""},
	"common_queue":              queueMetric("operations"),
	"sites_recrawl_drce_cnt":    {"dc_node_requests_total", "Requests to the data nodes.", count, "", ""},
	"sites_recrawl_cnt":         {"dc_recrawl_runs_total", "Runs of the recrawl of sites.", count, "", ""},
	"sites_recrawl_fault_cnt":   {"dc_recrawl_faults_total", "Recrawls of sites that failed.", count, "", ""},
	"sites_recrawl_updated_cnt": {"dc_recrawl_updates_total", "Sites whose URLs a recrawl renewed.", count, "", ""},
	"sites_recrawl_deleted_cnt": {"dc_recrawl_deletes_total", "Sites whose old URLs a recrawl deleted.", count, "", ""},
	"recrawl_threads":           {"dc_recrawl_running", "Running recrawls.", level, "", ""},
	"recrawl_threads_created":   {"dc_recrawl_workers_started_total", "Started workers for recrawls.", count, "", ""},
	"recrawl_sites_queue":       queueMetric("recrawl"),

	"requests": queueMetric("requests"),
	"turns":    {"dc_loop_turns_total", "Turns of a manager's loop: each handles messages or timers. An idle manager makes a few in a minute.", count, "", ""},
	"workers":  {"dc_workers_running", "Running workers of a manager, including watches.", level, "", ""},
}

func init() {
	for _, list := range []map[string]metric{taskMetrics("purge_batches", "purge"), taskMetrics("age_batches", "age")} {
		for stat, m := range list {
			metrics[stat] = m
		}
	}
}

// process are the statistics of the whole process. Every manager reports them; they are sent
// once, without the label manager.
var process = map[string]metric{
	"RAMV":    {"dc_process_virtual_memory_bytes", "Virtual memory of the daemon.", level, "", ""},
	"RAMR":    {"dc_process_resident_memory_bytes", "Memory of the daemon.", level, "", ""},
	"CPUU":    {"dc_process_cpu_seconds_total", "Processor time of the daemon, by mode.", count, "mode", "user"},
	"CPUS":    {"dc_process_cpu_seconds_total", "Processor time of the daemon, by mode.", count, "mode", "system"},
	"THREADS": {"dc_process_threads", "Threads of the operating system.", level, "", ""},
}
