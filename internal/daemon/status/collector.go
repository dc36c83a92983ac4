package status

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hce/dc/internal/files"
)

// collector converts the answers of one round to metrics.
type collector struct{ server *Server }

// Describe describes nothing: the statistics are known only with the answers.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// collectLimit covers this round and a running one before it, each with a wait for the stores.
const collectLimit = 5 * patience

// Collect requests STAT of all managers.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectLimit)
	defer cancel()
	t, _ := c.server.askState(ctx, query{totals: true}) // after an error no manager is up
	s := sink{out}
	processed := false
	for _, class := range c.server.cfg.Classes {
		a, ok := t.classes[class]
		up := ok && a.fault == ""
		s.sendMetric("dc_up", "1 when the manager answered, 0 when it did not.", level, floatFromBool(up), "manager", class)
		if !up {
			continue
		}
		for _, stat := range slices.Sorted(maps.Keys(a.fields)) {
			if m, whole := process[stat]; whole {
				if !processed {
					s.sendStatistic(m, stat, a.fields[stat])
				}
				continue
			}
			s.sendField(class, stat, a.fields[stat])
		}
		processed = true
	}
	s.sendTotals(t.totals)
	if free, err := files.Free(c.server.cfg.DataDir); err == nil {
		s.sendMetric("dc_data_free_bytes", "Bytes that are free on the disk of the data folder.", level, float64(free))
	}
	for _, f := range c.server.cfg.Folders {
		if free, err := files.Free(f.Path); err == nil {
			s.sendMetric("dc_folder_free_bytes", "Bytes that are free on the disk of a folder, by its name in the ini files.", level, float64(free), "folder", f.Name)
		}
	}
}

// sink sends metrics.
type sink struct{ out chan<- prometheus.Metric }

// sendMetric sends one metric; labels alternate names and values.
func (s sink) sendMetric(name, help string, kind prometheus.ValueType, value float64, labels ...string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "?"))
	}
	m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	if err != nil {
		return // only for an invalid name; a test sends all of them
	}
	s.out <- m
}

func (s sink) sendStatistic(m metric, stat string, value any, labels ...string) {
	n, ok := parseNumber(value)
	if !ok {
		return
	}
	if inMs[stat] {
		n /= 1000
	}
	if m.label != "" {
		labels = append(labels, m.label, m.value)
	}
	s.sendMetric(m.name, m.help, m.kind, n, labels...)
}

// Names of metrics that are not in metrics.
const (
	socketMessages = "dc_socket_messages_total"
	socketBytes    = "dc_socket_bytes_total"
	unnamed        = "dc_statistic"
)

var others = map[string]string{
	"START_DATE": "dc_start_timestamp_seconds", "VERSION": "dc_build_info", "clients": "dc_managers_registered", "managers": "dc_managers_registered",
	"schedules": "dc_schedule_period_seconds", "state": "dc_suspended",
	"nodes": nodeUp, "nodes_silent": nodeUp, "nodes_refused": nodeRefused,
	"batches_crawl_pause": pauseMetric, "batches_process_pause": pauseMetric,
	"batches_crawl_tally": crawlResponses, "batches_process_tally": processErrors,
}

// pauses are the statistics with the reason of a pause after a fault, and their queue.
var pauses = map[string]string{"batches_crawl_pause": "crawl", "batches_process_pause": "process"}

const pauseMetric = "dc_queue_paused"

// suspended is the state of a suspended manager.
const suspended = "suspended"

var socketStat = regexp.MustCompile(`^(.+)_(send|recv)_(cnt|bytes)$`)

// sendField sends one statistic of one manager.
func (s sink) sendField(class, stat string, value any) {
	if m, ok := metrics[stat]; ok {
		s.sendStatistic(m, stat, value, "manager", class)
		return
	}
	if part := socketStat.FindStringSubmatch(stat); part != nil {
		name, help := socketMessages, "Messages of a manager's socket, by direction."
		if part[3] == "bytes" {
			name, help = socketBytes, "Bytes of a manager's socket, by direction."
		}
		direction := map[string]string{"send": "sent", "recv": "received"}[part[2]]
		s.sendStatistic(metric{name, help, count, "direction", direction}, stat, value, "manager", class, "socket", part[1])
		return
	}
	switch stat {
	case "START_DATE":
		if at, ok := parseMoment(value); ok {
			s.sendMetric(others["START_DATE"], "When the manager started.", level, at, "manager", class)
		}
	case "VERSION":
		if text, ok := value.(string); ok {
			s.sendMetric(others["VERSION"], "1, with the version of the daemon.", level, 1, "manager", class, "version", text)
		}
	case "clients":
		if names, ok := value.([]any); ok {
			s.sendMetric(others["clients"], "Managers that AdminInterfaceServer knows.", level, float64(len(names)), "manager", class)
		}
	case "state":
		s.sendMetric(others["state"], "1 while an operator has suspended the manager.", level, floatFromBool(value == suspended), "manager", class)
	case "batches_crawl_pause", "batches_process_pause":
		reason, _ := value.(string)
		s.sendMetric(pauseMetric, "1 while a queue pauses after a fault of the machine or of its program, with the reason.", level,
			floatFromBool(reason != ""), "manager", class, "queue", pauses[stat], "reason", reason)
	case "schedules":
		s.sendSchedules(class, value)
	case "nodes":
		s.sendNodes(value)
	case "nodes_silent", "nodes_refused", "managers": // in dc_node_up, dc_node_refused, dc_up
	case "batches_crawl_tally":
		s.crawlTally(tallyOf(value))
	case "batches_process_tally":
		s.sendErrors(processErrors, "Processed pages, by error bit.", tallyOf(value))
	default:
		s.sendUnknown(class, stat, value)
	}
}

// Metric returns the name of the metric for a statistic of STAT.
func Metric(stat string) string {
	if m, ok := process[stat]; ok {
		return m.name
	}
	if m, ok := metrics[stat]; ok {
		return m.name
	}
	if part := socketStat.FindStringSubmatch(stat); part != nil {
		return map[string]string{"cnt": socketMessages, "bytes": socketBytes}[part[3]]
	}
	if name, ok := others[stat]; ok {
		return name
	}
	return unnamed
}

// sendUnknown sends a statistic that is not in metrics, under its name in STAT.
func (s sink) sendUnknown(class, stat string, value any) {
	if inner, ok := value.(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			if _, deeper := inner[key].(map[string]any); !deeper {
				s.sendUnknown(class, stat+"."+key, inner[key])
			}
		}
		return
	}
	if n, ok := parseNumber(value); ok {
		s.sendMetric(unnamed, "A statistic of STAT without a metric of its own, by its name there.", prometheus.UntypedValue, n, "manager", class, "name", stat)
	}
}

// sendSchedules sends the timers of a manager. A timer that is off or paused has no next time.
func (s sink) sendSchedules(class string, value any) {
	all, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, _ := all[name].(map[string]any)
		labels := []string{"manager", class, "schedule", name}
		if n, ok := parseNumber(one["periodSeconds"]); ok {
			s.sendMetric(others["schedules"], "Time from start to start of a schedule; 0 when it is off.", level, n, labels...)
		}
		if at, ok := parseMoment(one["last"]); ok {
			s.sendMetric("dc_schedule_last_timestamp_seconds", "When a schedule was last started.", level, at, labels...)
		}
		if at, ok := parseMoment(one["next"]); ok {
			s.sendMetric("dc_schedule_next_timestamp_seconds", "When a schedule is due; absent when it is off or rests.", level, at, labels...)
		}
	}
}

const (
	nodeUp      = "dc_node_up"
	nodeRefused = "dc_node_refused"
)

// sendNodes sends the nodes of a cluster.
func (s sink) sendNodes(value any) {
	all, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		node, _ := all[name].(map[string]any)
		state, _ := node["state"].(string)
		s.sendMetric(nodeUp, "1 while a node of the cluster gives signs of life, with its state.", level,
			floatFromBool(state != "silent" && state != "added"), "node", name, "state", state)
		refused, _ := node["refused"].([]any)
		s.sendMetric(nodeRefused, "Processes that had the identity of a node within the last hour and were refused.", level,
			float64(len(refused)), "node", name)
		for _, m := range []struct{ stat, name, help string }{
			{"busy", "dc_node_busy", "Tasks that run on a node, its own ones and those of the head."},
			{"slots", "dc_node_slots", "Tasks that a node can run at the same time."},
			{"load", "dc_node_load", "Load average of a node over one minute."},
			{"lag", "dc_node_journal_lag", "Changes of clients that a node has not applied yet."},
		} {
			if n, ok := parseNumber(node[m.stat]); ok && n >= 0 {
				s.sendMetric(m.name, m.help, level, n, "node", name)
			}
		}
	}
}

// parseNumber reads a JSON number, a bool, or a number as text.
func parseNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case bool:
		return floatFromBool(v), true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}

func floatFromBool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// parseMoment converts a time of STAT to seconds since 1970.
func parseMoment(v any) (float64, bool) {
	text, ok := v.(string)
	if !ok {
		return 0, false
	}
	t, err := time.Parse(time.DateTime, text)
	return float64(t.Unix()), err == nil
}
