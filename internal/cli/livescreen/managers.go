package livescreen

import (
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/wire/cluster"
)

// dateLayout is the layout of times in statistics (UTC).
const dateLayout = "2006-01-02 15:04:05"

// ManagersSample is one reading of the managers, with rates since the reading before. Its JSON
// is a line of `dc-admin top --json`.
type ManagersSample struct {
	Time      string     `json:"time"` // UTC
	Away      string     `json:"away,omitempty"`
	Managers  []Manager  `json:"managers"`
	Batches   Batches    `json:"batches"`
	Rates     *Rates     `json:"rates"` // null in the first sample and after a restart of the daemon
	Sites     *Totals    `json:"sites"` // null while unknown
	Process   Process    `json:"process"`
	Schedules []Schedule `json:"schedules"` // sorted by next
	// Nodes are those of a cluster, sorted by name; none for one machine.
	Nodes []cluster.Node `json:"nodes,omitempty"`
}

// Manager is the state of one manager.
type Manager struct {
	Class  string           `json:"className"`
	State  string           `json:"state"`         // running or suspended; empty with an error
	Uptime int64            `json:"uptimeSeconds"` // 0 if unknown
	Queues map[string]int64 `json:"queues"`        // by name of the statistic
	Error  string           `json:"error,omitempty"`
}

// Batches counts active batches and, across restarts, all batches.
type Batches struct {
	Crawling      int64 `json:"crawling"`
	Processing    int64 `json:"processing"`
	RealTime      int64 `json:"realTime"`
	CrawlTotal    int64 `json:"crawlTotal"`
	CrawlFaults   int64 `json:"crawlFaults"`
	ProcessTotal  int64 `json:"processTotal"`
	ProcessFaults int64 `json:"processFaults"`
}

// Rates are per second.
type Rates struct {
	URLs     float64 `json:"urls"`     // added to batches of crawling
	Pages    float64 `json:"pages"`    // added to batches of processing
	Errors   float64 `json:"errors"`   // URLs of failed batches
	Batches  float64 `json:"batches"`  // started, of both kinds
	Requests float64 `json:"requests"` // of clients
	CPU      float64 `json:"cpu"`      // busy processors of the daemon's own process
}

// Process is the resources of the daemon's own process.
type Process struct {
	Resident int64 `json:"resident"` // bytes
	Virtual  int64 `json:"virtual"`  // bytes
	Threads  int64 `json:"threads"`
}

// Schedule is an active schedule.
type Schedule struct {
	Class  string  `json:"className"`
	Name   string  `json:"name"`
	Next   string  `json:"next"`      // UTC
	In     int64   `json:"inSeconds"` // 0 if due
	Period float64 `json:"periodSeconds"`
}

const (
	crawlClass   = "BatchTasksManager"
	processClass = "BatchTasksManagerProcess"
	rtClass      = "BatchTasksManagerRealTime"
	sitesClass   = "SitesManager"
	clientsClass = "ClientInterfaceService"
)

// queues are the gauges that are shown as queues, with their labels, by class.
var queues = map[string][][2]string{
	crawlClass:   {{"batches_crawl_queue", "crawl"}, {"purge_batches", "purge"}, {"age_batches", "age"}},
	processClass: {{"batches_process_queue", "process"}},
	rtClass:      {{"batches_realtime_threads", "batches"}},
	sitesClass:   {{"common_threads", "running"}, {"common_queue", "waiting"}, {"recrawl_sites_queue", "recrawl"}},
	clientsClass: {{"requests", "requests"}},
}

// Compare computes the sample of a reading. before is an earlier reading, or zero.
func Compare(before, now Reading) ManagersSample {
	s := ManagersSample{Time: now.At.UTC().Format(dateLayout), Away: now.Away, Sites: now.Sites, Managers: []Manager{}, Schedules: []Schedule{}}
	for _, m := range now.Managers {
		s.Managers = append(s.Managers, managerOf(m, now.At))
		s.Schedules = append(s.Schedules, schedulesOf(m, now.At)...)
	}
	slices.SortStableFunc(s.Schedules, func(a, b Schedule) int { return strings.Compare(a.Next+a.Name, b.Next+b.Name) })
	s.Nodes = nodesOf(now.statOf(client.ClusterClass))
	crawl, process := now.statOf(crawlClass), now.statOf(processClass)
	s.Batches = Batches{
		Crawling: wholeNumber(crawl, "batches_crawl_queue"), Processing: wholeNumber(process, "batches_process_queue"), RealTime: wholeNumber(now.statOf(rtClass), "batches_realtime_threads"),
		CrawlTotal: wholeNumber(crawl, "batches_crawl_total"), CrawlFaults: wholeNumber(crawl, "batches_crawl_fault"),
		ProcessTotal: wholeNumber(process, "batches_process_total"), ProcessFaults: wholeNumber(process, "batches_process_fault"),
	}
	for _, m := range now.Managers { // all managers report the same process
		if m.Err == nil {
			s.Process = Process{Resident: wholeNumber(m, "RAMR"), Virtual: wholeNumber(m, "RAMV"), Threads: wholeNumber(m, "THREADS")}
			break
		}
	}
	s.Rates = computeRates(before, now)
	return s
}

// statOf returns the statistics of one class, empty if it did not answer.
func (r Reading) statOf(class string) client.Stat {
	for _, m := range r.Managers {
		if m.Class == class {
			return m
		}
	}
	return client.Stat{Class: class}
}

func wholeNumber(s client.Stat, name string) int64 { return int64(s.Number(name)) }

// computeRates divides the differences of counters by the time between two readings. It returns
// nil unless both are readings of one run of the daemon. A missing counter counts as 0.
func computeRates(before, now Reading) *Rates {
	seconds := now.At.Sub(before.At).Seconds()
	if before.At.IsZero() || seconds <= 0 || before.Away != "" || now.Away != "" || hasRestarted(before, now) {
		return nil
	}
	per := func(class string, names ...string) float64 {
		a, b := before.statOf(class), now.statOf(class)
		if a.Fields == nil || b.Fields == nil {
			return 0
		}
		sum := 0.0
		for _, name := range names {
			sum += b.Number(name) - a.Number(name)
		}
		return max(0, sum) / seconds
	}
	r := &Rates{
		URLs:     per(crawlClass, "batches_crawl_urls"),
		Pages:    per(processClass, "batches_process_urls"),
		Errors:   per(crawlClass, "batches_crawl_urls_fault") + per(processClass, "batches_process_urls_fault"),
		Batches:  per(crawlClass, "batches_crawl_total") + per(processClass, "batches_process_total"),
		Requests: per(clientsClass, "serverConnection_recv_cnt"),
	}
	for _, m := range now.Managers {
		if m.Err == nil && before.statOf(m.Class).Fields != nil {
			r.CPU = per(m.Class, "CPUU", "CPUS")
			break
		}
	}
	return r
}

// hasRestarted reports whether a manager has restarted between the readings.
func hasRestarted(before, now Reading) bool {
	return slices.ContainsFunc(now.Managers, func(m client.Stat) bool {
		was := before.statOf(m.Class).Fields["START_DATE"]
		return was != nil && m.Fields["START_DATE"] != nil && was != m.Fields["START_DATE"]
	})
}

func managerOf(m client.Stat, at time.Time) Manager {
	line := Manager{Class: m.Class, Queues: map[string]int64{}}
	if m.Err != nil {
		line.Error = m.Err.Error()
		return line
	}
	line.State, _ = m.Fields["state"].(string)
	if began, ok := parseDate(m.Fields["START_DATE"]); ok {
		line.Uptime = max(0, int64(at.Sub(began).Seconds()))
	}
	for _, q := range queues[m.Class] {
		if _, ok := m.Fields[q[0]].(float64); ok {
			line.Queues[q[0]] = wholeNumber(m, q[0])
		}
	}
	return line
}

func parseDate(v any) (time.Time, bool) {
	text, _ := v.(string)
	t, err := time.Parse(dateLayout, text)
	return t, err == nil
}

func schedulesOf(m client.Stat, at time.Time) []Schedule {
	var due []Schedule
	all, _ := m.Fields["schedules"].(map[string]any)
	for name, v := range all {
		fields, _ := v.(map[string]any)
		next, ok := parseDate(fields["next"])
		if !ok {
			continue // inactive
		}
		period, _ := fields["periodSeconds"].(float64)
		due = append(due, Schedule{Class: m.Class, Name: name, Next: next.Format(dateLayout), In: max(0, int64(next.Sub(at).Seconds())), Period: period})
	}
	return due
}
