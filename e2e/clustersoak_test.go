//go:build e2e && soak

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

const (
	soakHosts = 48
	soakDelay = 100 * time.Millisecond
	soakLease = 4 * time.Second // of the nodes, and how long the head waits for one
	// soakStep is the number of requests from one fault to the next.
	soakStep = 100
	// soakMark is the number of faults from one change of a client to the next.
	soakMark = 5
	// soakBusy is how many nodes may have a fault at a time.
	soakBusy = 2
)

// clusterSoak is a cluster with random faults.
type clusterSoak struct {
	*testing.T
	*rig.Cluster
	random  *rand.Rand
	web     *rig.Web
	id      string
	names   []string
	bin     string
	ini     string
	disks   map[string]*disk
	clocks  map[string]wallClock
	servers *natsServers // nil: the head has the broker
	kinds   []faultKind

	mu     sync.Mutex
	busy   map[string]string // by target: the kind of its fault
	count  map[string]int    // faults by kind
	lost   int               // pages that may be requested again, as far as is known
	marks  []string          // sites of changes that all nodes must have
	ended  sync.WaitGroup
	events *os.File
}

// faultKind is a kind of fault of a target: a node, the head or the servers.
type faultKind struct {
	name   string
	target string // "node", "head" or "servers"
	// most is the longest time; the shortest one is a tenth of it.
	most time.Duration
	// ends reports whether requests in flight may end and come again.
	ends bool
	// begin begins the fault and returns what ends it.
	begin func(target string) (end func())
}

// A cluster survives what happens to machines: SOAK_FAULTS random faults (300) during a crawl, of
// all kinds that kinds lists. At the end no page is missing or stored twice, only pages in flight
// were requested twice, no host was asked by two nodes or too early, the counters are exact, and
// the stores have no fault.
func TestClusterSoak(t *testing.T) {
	faults := 300
	if s := os.Getenv("SOAK_FAULTS"); s != "" {
		var err error
		if faults, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	one, two := seed(t)
	bin, ini := jumpingPrograms(t)
	for i, engine := range []string{"embedded", "three servers"} {
		t.Run(engine, func(t *testing.T) {
			s := &clusterSoak{T: t, random: rand.New(rand.NewPCG(one, two+uint64(i))), names: []string{"n1", "n2", "n3", "n4"}, bin: bin, ini: ini,
				disks: map[string]*disk{}, clocks: map[string]wallClock{}, busy: map[string]string{}, count: map[string]int{}}
			s.open((faults+1)/2, i == 1)
			begin := time.Now()
			for n := range (faults + 1) / 2 {
				s.fault(n)
				if n%soakMark == 0 {
					s.ended.Go(func() { s.change(n) })
				}
			}
			s.ended.Wait()
			s.judge(begin)
		})
	}
}

// open starts the cluster on disks and clocks of its own, and the crawl.
func (s *clusterSoak) open(faults int, three bool) {
	data := s.TempDir()
	var err error
	if s.events, err = os.Create(filepath.Join(data, "events")); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.events.Close() })
	s.clocks["head"] = newWallClock(s.T)
	for _, name := range s.names {
		s.disks[name], s.clocks[name] = newDisk(s.T, filepath.Join(data, name)), newWallClock(s.T)
	}
	if s.web, err = rig.StartWeb(soakHosts, max(faults*soakStep/soakHosts, 20), soakDelay); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.web.Close)
	o := rig.Options{Bin: s.bin, Ini: s.ini, Data: data, AllowLoopback: true, Relays: true, Env: []string{
		fmt.Sprintf("DC_Node_lease=%d", soakLease/time.Second), fmt.Sprintf("DC_Cluster_node_timeout=%d", soakLease/time.Second),
		fmt.Sprintf("DC_CrawlerTask_chunk_items=%d", chunk), "DC_CrawlerTask_chunk_time=50", s.clocks["head"].env(),
	}, NodeEnv: func(name string) []string { return []string{s.clocks[name].env()} }}
	if three {
		s.servers = startServers(s.T, filepath.Join(data, "head"))
		o.Brokers, o.NewKey = s.servers.urls, s.servers.reload
		o.Env = append(o.Env, "DC_Cluster_replicas=3")
	}
	s.Cleanup(func() { s.save(data) })
	if s.Cluster, err = rig.StartCluster(s.Context(), o, s.names...); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.Cluster.Close)
	s.kinds = s.allKinds()
	if s.id, err = s.NewSite(s.Context(), rig.Site{Root: s.web.Root(), Filter: s.web.Filter(), RequestDelay: int(soakDelay.Milliseconds())}); err != nil {
		s.Fatal(err)
	}
}

// allKinds lists the faults. Long ones take up to twice the lease, short ones end before it.
func (s *clusterSoak) allKinds() []faultKind {
	const long, short = 2 * soakLease, soakLease / 2
	kinds := []faultKind{
		{"kill -9 of a node", "node", long, true, s.killNode},
		{"link cut", "node", short, true, func(n string) func() { s.Link(n).Cut(); return s.Link(n).Mend }},
		{"link cut for long", "node", long, true, func(n string) func() { s.Link(n).Cut(); return s.Link(n).Mend }},
		{"silent link", "node", short, true, func(n string) func() { s.Link(n).Hold(); return s.Link(n).Mend }},
		{"silent link for long", "node", long, true, func(n string) func() { s.Link(n).Hold(); return s.Link(n).Mend }},
		{"full disk", "node", long, true, func(n string) func() { s.disks[n].fill(s.T); return func() { s.disks[n].free(s.T) } }},
		{"disk that hangs", "node", short, true, func(n string) func() { s.disks[n].freeze(s.T); return func() { s.disks[n].thaw(s.T) } }},
		{"disk that hangs for long", "node", long, true, func(n string) func() { s.disks[n].freeze(s.T); return func() { s.disks[n].thaw(s.T) } }},
		{"machine that pauses", "node", short, true, func(n string) func() { return stopTree(s.NodePID(n)) }},
		{"machine that pauses for long", "node", long, true, func(n string) func() { return stopTree(s.NodePID(n)) }},
		{"clock of a node", "node", short, false, s.setClock},
		{"kill -9 of the head", "head", long, true, s.killHead},
		{"clock of the head", "head", short, false, s.setClock},
	}
	if s.servers != nil {
		kinds = append(kinds, faultKind{"kill -9 of a NATS server", "servers", long, true, s.killServer})
	}
	return kinds
}

func (s *clusterSoak) killNode(name string) func() {
	s.KillNode(name)
	return func() {
		if err := s.LaunchNode(name); err != nil {
			s.Error(err)
		}
	}
}

func (s *clusterSoak) killHead(string) func() {
	s.Rig.Kill()
	return func() {
		if err := s.RestartHead(s.Context()); err != nil {
			s.Error(err)
		}
	}
}

func (s *clusterSoak) killServer(string) func() {
	i := s.number(3)
	s.servers.kill(i)
	return func() { s.servers.start(i) }
}

// setClock sets a clock up to two hours before or behind the true one. It stays so.
func (s *clusterSoak) setClock(target string) func() {
	jump := time.Duration(s.number(4*3600)-2*3600) * time.Second
	s.clocks[target].set(s.T, jump)
	fmt.Fprintf(s.events, "%s is %v ahead\n", target, jump)
	return func() {}
}

// number is a random number below n.
func (s *clusterSoak) number(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// fault waits for its place in the crawl and begins a fault, which ends by itself.
func (s *clusterSoak) fault(n int) {
	kind := s.kinds[s.number(len(s.kinds))]
	length := kind.most/10 + time.Duration(s.number(int(kind.most*9/10)))
	testwait.UntilWithin(s.T, crawlLimit, fmt.Sprintf("fault %d: the crawl has got further", n), func() bool {
		return s.web.Record().Requests >= n*soakStep
	})
	var target string
	testwait.UntilWithin(s.T, crawlLimit, fmt.Sprintf("fault %d: a target is free", n), func() bool {
		target = s.take(kind)
		return target != ""
	})
	s.note("begin", kind, target, length)
	end := kind.begin(target)
	s.ended.Go(func() {
		time.Sleep(length) // the fault
		end()
		s.note("end", kind, target, 0)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, target)
	})
	if s.Failed() {
		s.FailNow()
	}
}

// change creates a site, which no node may miss: that is so if the client was told that it is done, or
// that the nodes without an answer will do it.
func (s *clusterSoak) change(n int) {
	root := fmt.Sprintf("http://127.41.%d.%d:9/", n/250, n%250+1) // nobody listens there
	_, err := s.NewSite(s.Context(), rig.Site{Root: root})
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.events, "%s change %d: %v\n", time.Now().UTC().Format("15:04:05.000"), n, err)
	if err == nil || strings.Contains(err.Error(), "it is in the journal") {
		s.marks = append(s.marks, rig.SiteID(root))
	}
}

// take reserves a target for a fault of a kind, or returns "".
func (s *clusterSoak) take(kind faultKind) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := []string{kind.target}
	if kind.target == "node" {
		free = s.names
	}
	nodes := 0
	for target := range s.busy {
		if slices.Contains(s.names, target) {
			nodes++
		}
	}
	free = slices.DeleteFunc(slices.Clone(free), func(target string) bool { return s.busy[target] != "" })
	if len(free) == 0 || kind.target == "node" && nodes >= soakBusy {
		return ""
	}
	target := free[s.random.IntN(len(free))]
	s.busy[target] = kind.name
	s.count[kind.name]++
	switch {
	case !kind.ends:
	case kind.target == "node":
		s.lost += 2*chunk + soakHosts/2 // no node has more hosts
	default: // all nodes may lose their lease
		s.lost += len(s.names)*2*chunk + soakHosts
	}
	return target
}

// note writes the faults down, for the search of causes.
func (s *clusterSoak) note(what string, kind faultKind, target string, length time.Duration) {
	fmt.Fprintf(s.events, "%s %s %s of %s %v, %d requests\n", time.Now().UTC().Format("15:04:05.000"), what, kind.name, target, length.Round(time.Millisecond), s.web.Record().Requests)
}

// judge completes the crawl and checks everything.
func (s *clusterSoak) judge(begin time.Time) {
	for _, c := range s.clocks {
		c.set(s.T, 0) // so that nothing waits for an hour that was skipped
	}
	all := soakHosts * s.web.Pages
	status := s.done(all)
	record := s.web.Record()
	for _, fault := range s.web.Faults() {
		if !strings.Contains(fault, "were requested before") {
			s.Error(fault)
		}
	}
	if record.Doubles > s.lost {
		s.Errorf("%d pages were requested twice, at most %d were in flight", record.Doubles, s.lost)
	}
	if status.CollectedURLs != all-1 || status.Resources+status.Contents != all || status.Contents != all || status.Errors != 0 {
		s.Errorf("counters: %+v, want %d pages", status, all)
	}
	s.checkRows(all)
	for _, id := range s.marks {
		testwait.Until(s.T, "all nodes have the site "+id, func() bool { _, err := s.Status(s.Context(), id); return err == nil })
	}
	for _, name := range s.names {
		s.StopNode(name)
		s.check(name)
	}
	total := 0
	for _, n := range s.count {
		total += n
	}
	s.Logf("%d faults and %d changes of clients in %v: %v", total, len(s.marks), time.Since(begin).Round(time.Second), s.count)
	s.Logf("%d pages, %d requested twice (at most %d), smallest gap %v, longest pause of a host %v (%s), requests by node %v",
		all, record.Doubles, s.lost, record.Gap, record.Longest.Round(time.Millisecond), record.Paused, record.Nodes)
}

// done waits until all pages are crawled and processed.
func (s *clusterSoak) done(all int) (last rig.Status) {
	defer func() {
		if s.Failed() {
			s.Logf("%+v, %+v", last, s.web.Record())
		}
	}()
	testwait.UntilWithin(s.T, crawlLimit, "all pages are crawled and processed", func() bool {
		status, err := s.Status(s.Context(), s.id)
		if err != nil {
			return false
		}
		last = status
		done := false
		if last.Contents >= all {
			done, err = s.Done(s.Context(), s.id, last)
		}
		return done && err == nil
	})
	return last
}

// checkRows checks that each page has one row, of an answer without a fault.
func (s *clusterSoak) checkRows(all int) {
	rows, err := s.AllRows(s.Context(), s.id)
	if err != nil {
		s.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if row.HTTPCode != 200 || row.ErrorMask != 0 || seen[row.URL] {
			s.Errorf("row %+v, seen before: %v", row, seen[row.URL])
		}
		seen[row.URL] = true
	}
	if len(rows) != all {
		s.Errorf("%d rows, want %d", len(rows), all)
	}
}

// check runs db-task --check on the stores of a node.
func (s *clusterSoak) check(name string) {
	cmd := exec.Command(filepath.Join(s.bin, "db-task"), "-c", filepath.Join(s.ini, "db-task.ini"), "--check")
	cmd.Env = s.NodeEnv(name)
	out, err := cmd.Output()
	var sum struct{ Faults, Without int }
	if err == nil {
		err = json.Unmarshal(out, &sum)
	}
	if err != nil || sum.Faults != 0 || sum.Without != 0 {
		s.Errorf("node %s: db-task --check: %s, %v", name, out, err)
	}
}

// save keeps what a run left in the folder SOAK_SAVE.
func (s *clusterSoak) save(data string) {
	to := os.Getenv("SOAK_SAVE")
	if to == "" {
		return
	}
	to = filepath.Join(to, time.Now().UTC().Format("20060102T150405"))
	for _, d := range slices.Collect(maps.Values(s.disks)) {
		_ = os.Remove(d.filler)
	}
	_ = os.MkdirAll(to, 0o700)
	args := []string{"-a", data}
	if s.servers != nil {
		args = append(args, s.servers.log(0), s.servers.log(1), s.servers.log(2))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "cp", append(args, to)...).CombinedOutput()
	s.Logf("saved in %s: %s %v", to, out, err)
}
