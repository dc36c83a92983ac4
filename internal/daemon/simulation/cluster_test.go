package simulation

import (
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"
)

// cluster is the managers with an operator and a client.
type cluster struct {
	testing.TB
	clock    *clock
	pool     *pool
	operator *managertest.Caller
	client   *managertest.Caller
	classes  []string // of the managers except AdminInterfaceServer
	bus      *bus.Bus
	said     *complaints
	asked    int // requests of client, each of which has its answer
}

// complaints are the warnings and errors of the managers, with the simulated time.
type complaints struct {
	clock *clock
	mu    sync.Mutex
	lines []string
}

// Write takes one line of a log.
func (c *complaints) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, c.clock.now().Format("Mon 15:04 ")+string(line))
	return len(line), nil
}

// logger returns a logger whose warnings and errors are complaints.
func (c *complaints) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// check fails the test if there was a complaint.
func (c *complaints) check(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines[:min(len(c.lines), 20)] {
		t.Errorf("unexpected log line: %s", line)
	}
}

// newCluster starts AdminInterfaceServer.
func newCluster(t testing.TB, b *bus.Bus, c *clock, p *pool) *cluster {
	t.Helper()
	k := &cluster{TB: t, clock: c, pool: p, bus: b, said: &complaints{clock: c}}
	t.Cleanup(func() { k.said.check(t) })
	ready, endpoint := make(chan struct{}), ""
	var door *admin.Server
	base := k.base()
	base.Admin, base.Ready = "", func() { endpoint = door.Addr(); close(ready) }
	door = admin.New(base, admin.Config{Port: -1, Version: "week", Timeout: time.Hour})
	managertest.Run(t, door, ready)
	k.operator = managertest.Call(t, k.bus, endpoint)
	return k
}

func (k *cluster) base() manager.Config {
	return manager.Config{Bus: k.bus, Admin: admin.Endpoint, Log: k.said.logger(), Now: k.clock.now, PollTimeout: 20 * time.Millisecond}
}

// run starts a manager and waits until it is registered.
func (k *cluster) run(name string, build func(manager.Config) managertest.Runner) {
	k.Helper()
	ready := make(chan struct{})
	base := k.base()
	base.Ready = func() { close(ready) }
	managertest.Run(k, build(base), ready)
	k.classes = append(k.classes, name)
	for end := time.Now().Add(managertest.Patience); ; {
		if e := k.ask(wire.AdminStat, name, nil); e.Type == wire.AdminStatAns {
			return
		}
		if time.Now().After(end) {
			k.Fatalf("%s is not known", name)
		}
	}
}

func (k *cluster) ask(eventType int, class string, fields map[string]any) wire.Event {
	k.Helper()
	return k.operator.Ask(wire.ClassAdmin, eventType, wire.AdminFields{ClassName: class, Fields: fields})
}

// set changes variables of a manager.
func (k *cluster) set(class string, fields map[string]any) {
	k.Helper()
	e := k.ask(wire.AdminSet, class, fields)
	if answer := managertest.Object[wire.AdminFields](k, e); e.Type != wire.AdminSetAns || len(answer.Errors) > 0 {
		k.Fatalf("SET %s %v: %s", class, fields, e.Object)
	}
}

// stat returns the STAT of a manager.
func (k *cluster) stat(class string) map[string]json.RawMessage {
	k.Helper()
	e := k.ask(wire.AdminStat, class, nil)
	var answer struct{ Fields map[string]json.RawMessage }
	if err := json.Unmarshal(e.Object, &answer); err != nil || e.Type != wire.AdminStatAns {
		k.Fatalf("STAT %s: %s", class, e.Object)
	}
	return answer.Fields
}

// number returns one of the statistics; -1 if it is missing or not a number.
func (k *cluster) number(class, name string) int {
	k.Helper()
	n := -1
	if raw, ok := k.stat(class)[name]; ok {
		if err := json.Unmarshal(raw, &n); err != nil {
			k.Fatalf("%s of %s: %s", name, class, raw)
		}
	}
	return n
}

// busyWhile are the statistics that are above zero while a manager works.
var busyWhile = []string{
	"batches_crawl_queue", "batches_crawl_url_fetch_requests", "batches_process_queue", "purge_batches", "age_batches",
	"common_threads", "common_queue", "recrawl_threads", "recrawl_sites_queue",
}

// watches is the number of a manager's permanent workers: one for each type of its tasks. Other
// workers mean work.
var watches = map[string]string{sites.Name: "0", batches.CrawlName: "3", batches.ProcessName: "1"}

// schedule is the entry of a schedule in STAT.
type schedule struct{ Last, Next *string }

// dateLayout is the layout of the times of schedules.
const dateLayout = "2006-01-02 15:04:05"

// delivered reports whether every message between two managers was received: a pending hint
// means that there is work.
func (k *cluster) delivered(stats map[string]map[string]json.RawMessage) bool {
	count := func(class, name string) (n int) {
		if raw, ok := stats[class][name]; ok {
			if err := json.Unmarshal(raw, &n); err != nil {
				k.Fatalf("%s of %s: %s", name, class, raw)
			}
		}
		return n
	}
	for _, binder := range k.classes {
		there, back := 0, 0
		if binder == sites.Name {
			there, back = k.asked, k.asked
		}
		for _, class := range k.classes {
			if class != binder { // the connecting side names its socket after the binder
				there += count(class, binder+"_send_cnt")
				back += count(class, binder+"_recv_cnt")
			}
		}
		if there != count(binder, binder+"_recv_cnt") || back != count(binder, binder+"_send_cnt") {
			return false
		}
	}
	return true
}

// rest reports whether a manager with these statistics is idle and no schedule is due, and
// returns the time of its next schedule.
func (k *cluster) rest(class string, stat map[string]json.RawMessage) (next time.Time, resting bool) {
	k.Helper()
	resting = string(stat["workers"]) == watches[class]
	for _, name := range busyWhile {
		if raw, ok := stat[name]; ok && string(raw) != "0" {
			resting = false
		}
	}
	var all map[string]schedule
	if err := json.Unmarshal(stat["schedules"], &all); err != nil {
		k.Fatalf("schedules of %s: %s", class, stat["schedules"])
	}
	for name, s := range all {
		if s.Next == nil {
			continue
		}
		at, err := time.Parse(dateLayout, *s.Next)
		if err != nil {
			k.Fatalf("%s: schedule %s: %v", class, name, err)
		}
		if !at.After(k.clock.now()) {
			resting = false
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, resting
}

// quietRounds is how many consecutive rounds all managers must be idle, without pending
// messages or new tasks. One round is not enough, because the managers are queried one by one
// and one may send work to another that was queried before.
const quietRounds = 3

// settle waits until no work is left at the current time and returns the time of the next
// schedule.
func (k *cluster) settle() (next time.Time) {
	k.Helper()
	before, quiet := -1, 0 // tasks that had begun, rounds of rest
	for end := time.Now().Add(10 * managertest.Patience); quiet < quietRounds; {
		resting := true
		next = time.Time{}
		stats := map[string]map[string]json.RawMessage{}
		for _, class := range k.classes {
			stats[class] = k.stat(class)
			at, rests := k.rest(class, stats[class])
			resting = resting && rests
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		resting = resting && k.delivered(stats)
		running, begun := k.pool.work()
		if resting && running == 0 && begun == before {
			quiet++
		} else {
			quiet = 0
		}
		before = begun
		if time.Now().After(end) {
			var all []string
			for _, class := range k.classes {
				text, _ := json.Marshal(k.stat(class))
				all = append(all, string(text))
			}
			k.Fatalf("%v: no rest, %d tasks run: %s", k.clock.now(), running, all)
		}
	}
	return next
}

// request sends a client's request to SitesManager and decodes the answer of the only node.
func (k *cluster) request(op wire.Op, object, answer any) {
	k.Helper()
	if k.client == nil {
		k.client = managertest.Call(k, k.bus, bus.Inproc(sites.Name))
	}
	e := k.client.Ask(wire.ClassClient, int(op), object)
	k.asked++
	response := managertest.Object[wire.ClientResponse](k, e)
	if response.ErrorCode != 0 || len(response.ItemsList) != 1 || response.ItemsList[0].ErrorMessage != "" {
		k.Fatalf("%s: %s", op, e.Object)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(response.ItemsList[0].ItemObject, answer); err != nil {
		k.Fatalf("%s: %s: %v", op, e.Object, err)
	}
}
