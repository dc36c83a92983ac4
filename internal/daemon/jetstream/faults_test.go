package jetstream

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/executortest"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

// asChild names the variable that makes the test binary a node, a head or a server, until it is
// killed. Its value is a file with a child in JSON.
const asChild = "JETSTREAM_TEST_CHILD"

// child is what a child process does. It announces itself with the file Ready.
type child struct {
	Role  string
	Ready string
	Join  broker.Join
	Dir   string          // of a node's pool
	Tasks []executor.Task // that a head submits

	Keys, Folder, Address string // of a server
	Cluster               *broker.ClusterConfig
}

// runChild is the main of a child process.
func runChild(file string) {
	var c child
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		panic(err)
	}
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, c.Role, err)
			os.Exit(1)
		}
	}
	if c.Role == "server" {
		keys, err := broker.OpenKeys(c.Keys)
		fail(err)
		_, err = broker.StartServer(broker.ServerConfig{Folder: c.Folder, Address: c.Address, Keys: keys, MaxStore: 1 << 30, Cluster: c.Cluster, Log: testLog()})
		fail(err)
	} else {
		conn, err := broker.Dial(bg, broker.DialConfig{Join: c.Join, Log: testLog()})
		fail(err)
		if c.Role == "node" {
			pool, err := executor.OpenLocal(executor.LocalConfig{Dir: c.Dir, NodeName: c.Join.Name, DefaultSlots: 2})
			fail(err)
			_, err = Serve(bg, conn, ServeConfig{Name: c.Join.Name, Pool: pool, Programs: programs(), Heartbeat: 100 * time.Millisecond, Log: testLog()})
			fail(err)
		} else {
			e, err := New(conn, Config{AckWait: ackWait, Log: testLog()})
			fail(err)
			for _, task := range c.Tasks {
				fail(e.Submit(bg, task))
			}
		}
	}
	fail(os.WriteFile(c.Ready, nil, 0o600))
	select {}
}

// process is a running child.
type process struct {
	*exec.Cmd
	done chan struct{}
}

// Kill is kill -9; it returns when the process has ended.
func (p *process) Kill() {
	p.Process.Kill()
	<-p.done
}

// startChild starts a child process and waits until it is ready.
func startChild(t *testing.T, c child) *process {
	t.Helper()
	c.Ready = filepath.Join(t.TempDir(), "ready")
	file := filepath.Join(t.TempDir(), "child")
	if err := os.WriteFile(file, fakeworker.JSON(c), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+file, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	t.Cleanup(p.Kill)
	testwait.Until(t, c.Role+" is ready", func() bool { return fakeworker.Exists(c.Ready) })
	return p
}

// recorded returns a task that records its runs until its gate is removed, and the gate.
func recorded(t *testing.T, id string) (task executor.Task, gate string) {
	t.Helper()
	task, gate = executortest.Gate(t, id)
	task.Stdin = fakeworker.JSON(fakeworker.Request{Do: "record", Text: gate})
	return task, gate
}

// runsAre compares the recorded runs, for example "begin begin end".
func runsAre(t *testing.T, gate, want string) {
	t.Helper()
	if got := lines(gate + ".runs"); got != want {
		t.Errorf("runs %q, want %q", got, want)
	}
}

// began waits for the n-th start of a task.
func began(t *testing.T, gate string, n int) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("start %d", n), func() bool {
		runs := lines(gate + ".runs")
		return strings.Count(runs, "begin")+strings.Count(runs, "overlap") >= n
	})
}

// A task moves to another node if its node is killed; one for a named node is lost.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	alpha := startChild(t, child{Role: "node", Join: b.Join(t, "alpha"), Dir: t.TempDir()})
	ready(t, e, "alpha")
	moves, gate := recorded(t, "moves")
	executortest.Submit(t, e, moves)
	began(t, gate, 1)
	once, onceGate := recorded(t, "once")
	once.Target.Nodes = []string{"alpha"}
	executortest.Submit(t, e, once)
	began(t, onceGate, 1)
	waiting := make(chan executor.Result)
	go func() {
		task, _ := recorded(t, "run")
		task.Type, task.Target.Nodes = "other", []string{"alpha"}
		rs, err := e.Run(bg, task)
		if err != nil {
			t.Error(err)
		}
		waiting <- rs[0]
	}()
	startNode(t, b.Node(t, "beta"), "beta", 2, nil)
	alpha.Kill()
	began(t, gate, 2)
	os.Remove(gate)
	if r := executortest.Over(t, e, "moves"); r.State != executor.Finished || r.Node != "beta" {
		t.Errorf("%+v", r.Status)
	}
	runsAre(t, gate, "begin begin end")
	if r := executortest.Over(t, e, "once"); r.State != executor.Lost || r.Node != "alpha" || !strings.Contains(r.Reason, "attempt 1 of 1") {
		t.Errorf("%+v", r.Status)
	}
	runsAre(t, onceGate, "begin")
	if r := <-waiting; r.State != executor.Lost || r.Node != "alpha" {
		t.Errorf("run: %+v", r.Status)
	}
	if s := stateOf(t, e, "alpha"); s != executor.NodeSilent {
		t.Errorf("alpha is %s", s)
	}
}

// A task whose nodes die is lost after its attempts.
func TestAttempts(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	alpha := startChild(t, child{Role: "node", Join: b.Join(t, "alpha"), Dir: t.TempDir()})
	task, gate := recorded(t, "t")
	task.Attempts = 1
	executortest.Submit(t, e, task)
	began(t, gate, 1)
	alpha.Kill()
	if r := executortest.Over(t, e, "t"); r.State != executor.Lost || !strings.Contains(r.Reason, "attempt 1 of 1") {
		t.Errorf("%+v", r.Status)
	}
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	executortest.Submit(t, e, task) // known: it does not run again
	executortest.Submit(t, e, executortest.Task("next", fakeworker.Request{Do: "echo"}))
	executortest.Answer(t, executortest.Over(t, e, "next"))
	runsAre(t, gate, "begin")
}

// A node without a connection kills its tasks before another node starts them. The result of the
// second run stays when the first node is back.
func TestCutLink(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	relay := brokertest.NewRelay(t, b.Server.URL())
	startNode(t, b.Dial(t, "alpha", relay.URL()), "alpha", 2, nil)
	ready(t, e, "alpha")
	task, gate := recorded(t, "t")
	executortest.Submit(t, e, task)
	began(t, gate, 1)
	startNode(t, b.Node(t, "beta"), "beta", 2, nil)
	relay.Cut()
	testwait.Until(t, "alpha is silent", func() bool { return stateOf(t, e, "alpha") == executor.NodeSilent })
	began(t, gate, 2)
	relay.Mend()
	ready(t, e, "alpha")
	os.Remove(gate)
	if r := executortest.Over(t, e, "t"); r.State != executor.Finished || r.Node != "beta" {
		t.Errorf("%+v", r.Status)
	}
	runsAre(t, gate, "begin begin end")
}

// A link that is cut for a moment ends nothing.
func TestShortCut(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	relay := brokertest.NewRelay(t, b.Server.URL())
	startNode(t, b.Dial(t, "alpha", relay.URL()), "alpha", 2, nil)
	task, gate := recorded(t, "t")
	executortest.Submit(t, e, task)
	began(t, gate, 1)
	relay.Cut()
	os.Remove(gate) // it ends without a connection
	testwait.Until(t, "the run ends", func() bool { return lines(gate+".runs") == "begin end" })
	relay.Mend()
	if r := executortest.Over(t, e, "t"); r.State != executor.Finished {
		t.Errorf("%+v", r.Status)
	}
	runsAre(t, gate, "begin end")
}

// A node joins although each answer of the broker takes longer than a heartbeat.
func TestSlowBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	relay := brokertest.NewRelay(t, b.Server.URL())
	conn := b.Dial(t, "alpha", relay.URL())
	relay.Delay(60 * time.Millisecond) // in each direction
	startNode(t, conn, "alpha", 2, func(c *ServeConfig) { c.Heartbeat = 50 * time.Millisecond })
	relay.Delay(0)
	ready(t, e, "alpha")
}

// The clock of the broker's machine is an hour behind. A node with signs of life is not silent, and
// one without them is, although a watch that begins again reports its last one.
func TestClockOfTheBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), func(c *Config) { c.Silence = 300 * time.Millisecond })
	hear := func(name string, n int) {
		stored := time.Now().Add(-time.Hour).Truncate(time.Hour).Add(time.Duration(n) * time.Second)
		e.recordHeartbeat(broker.Entry{Key: name, Value: encodeJSON(sign{Node: executor.Node{State: executor.NodeReady}}), Changed: stored})
	}
	hear("alpha", 1)
	hear("beta", 1)
	hear("beta", 2)
	if s := stateOf(t, e, "beta"); s != executor.NodeReady {
		t.Errorf("beta is %s", s)
	}
	if s := stateOf(t, e, "alpha"); s != executor.NodeSilent {
		t.Errorf("alpha is %s: its only sign of life may be an hour old", s)
	}
	testwait.Until(t, "beta is silent", func() bool { hear("beta", 2); return stateOf(t, e, "beta") == executor.NodeSilent })
}

// A node measures its membership with a clock that nobody can set.
func TestMembershipHasAMonotonicClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	n := startNode(t, b.Node(t, "alpha"), "alpha", 1, nil)
	if at := n.Confirmed().String(); !strings.Contains(at, " m=") {
		t.Errorf("confirmed at %s, without a monotonic reading", at)
	}
}

// A closing node gives its tasks back: another one starts them at once.
func TestClosedNode(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	alpha := startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	task, gate := recorded(t, "t")
	executortest.Submit(t, e, task)
	began(t, gate, 1)
	startNode(t, b.Node(t, "beta"), "beta", 2, nil)
	alpha.Stop()
	began(t, gate, 2)
	os.Remove(gate)
	if r := executortest.Over(t, e, "t"); r.State != executor.Finished || r.Node != "beta" {
		t.Errorf("%+v", r.Status)
	}
	runsAre(t, gate, "begin begin end")
}

// Accepted tasks survive a killed head: those that run continue, the others start, and none runs twice.
func TestKilledHead(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	runs, gate := recorded(t, "runs")
	ends, endGate := recorded(t, "ends")
	queued := executortest.Task("queued", fakeworker.Request{Do: "echo", Text: strings.Repeat("x", 700_000)})
	queued.Target.Nodes = []string{"alpha"}
	head := startChild(t, child{Role: "head", Join: b.Join(t, broker.Head), Tasks: []executor.Task{runs, ends, queued}})
	began(t, gate, 1)
	began(t, endGate, 1)
	head.Kill()
	os.Remove(endGate) // its result is stored while there is no head
	testwait.Until(t, "the run ends", func() bool { return lines(endGate+".runs") == "begin end" })
	e := openHead(t, b, b.Head(t), nil)
	for _, task := range []executor.Task{runs, ends, queued} {
		executortest.Submit(t, e, task) // known
	}
	executortest.Over(t, e, "ends")
	executortest.Answer(t, executortest.Over(t, e, "queued"))
	os.Remove(gate)
	executortest.Over(t, e, "runs")
	runsAre(t, gate, "begin end")
	runsAre(t, endGate, "begin end")
	// A restart changes nothing.
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openHead(t, b, b.Head(t), nil)
	for _, id := range []string{"runs", "ends", "queued"} {
		if r, err := e.Result(bg, id); err != nil || r.State != executor.Finished || len(r.Stdout) == 0 {
			t.Errorf("%s: %+v, %v", id, r.Status, err)
		}
	}
}

// A kill between the steps of Submit: the accepted task starts, what is not accepted leaves nothing.
func TestKillWithinSubmit(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	task, err := executortest.Task("accepted", fakeworker.Request{Do: "echo"}).Prepare()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"accepted", "parts"} {
		if err := e.storeInput(bg, id, task.Stdin); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.tasks.Create(bg, taskKey("accepted"), encodeJSON(record{Task: onWire(task), Gen: 1, Parts: 1, Queued: time.Now()})); err != nil {
		t.Fatal(err)
	}
	if _, err := e.tasks.Put(bg, nodeKey("alpha", "deleted"), encodeJSON(outcome{})); err != nil { // rest of a Delete
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	executortest.Answer(t, executortest.Over(t, e, "accepted"))
	if err := e.Delete(bg, "accepted"); err != nil {
		t.Error(err)
	}
	if keys, err := e.tasks.Keys(bg); err != nil || len(keys) != 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}

// servers are child processes with one set of keys.
type servers struct {
	keys  *broker.Keys
	seeds map[string]string
	urls  []string
	all   []child
	up    []*process
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startServers starts n servers, which are a cluster if n > 1, and provisions them.
func startServers(t *testing.T, n int, nodes ...string) *servers {
	t.Helper()
	folder := t.TempDir()
	keys, err := broker.OpenKeys(filepath.Join(folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{keys: keys, seeds: map[string]string{}}
	for _, name := range nodes {
		if s.seeds[name], err = keys.AddNode(name); err != nil {
			t.Fatal(err)
		}
	}
	seed, err := os.ReadFile(keys.HeadSeed())
	if err != nil {
		t.Fatal(err)
	}
	s.seeds[broker.Head] = strings.TrimSpace(string(seed))
	var routes []string
	for range n {
		routes = append(routes, freeAddress(t))
	}
	for i := range n {
		one := child{Role: "server", Keys: filepath.Join(folder, "keys"), Folder: filepath.Join(folder, fmt.Sprint("s", i)), Address: freeAddress(t)}
		if n > 1 {
			one.Cluster = &broker.ClusterConfig{ServerName: fmt.Sprint("s", i), Address: routes[i]}
			for j, address := range routes {
				if j != i {
					one.Cluster.Peers = append(one.Cluster.Peers, "nats://"+address)
				}
			}
		}
		s.all = append(s.all, one)
		s.urls = append(s.urls, "nats://"+one.Address)
	}
	started := make(chan int, n)
	s.up = make([]*process, n)
	for i := range n { // each waits for a majority of the others
		go func() { s.up[i] = startChild(t, s.all[i]); started <- i }()
	}
	s.provision(t, nodes) // at once: an election may be under way
	for range n {
		<-started
	}
	return s
}

// provision connects as the head as soon as a server listens, and provisions the streams.
func (s *servers) provision(t *testing.T, nodes []string) {
	t.Helper()
	ctx := brokertest.Context(t)
	var conn *broker.Conn
	testwait.Until(t, "a server listens", func() bool {
		var err error
		conn, err = broker.Dial(ctx, broker.DialConfig{Join: broker.Join{Name: broker.Head, URLs: s.urls, Seed: s.seeds[broker.Head]}, Log: testLog()})
		return err == nil
	})
	defer conn.Close()
	if err := conn.Provision(ctx, broker.ProvisionConfig{Nodes: nodes, MaxStore: 1 << 30, AckWait: ackWait, Replicas: len(s.all)}); err != nil {
		t.Fatal(err)
	}
}

func (s *servers) dial(t *testing.T, name string) *broker.Conn {
	t.Helper()
	conn, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: broker.Join{Name: name, URLs: s.urls, Seed: s.seeds[name]}, Log: testLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// killedServer kills one server while tasks run and wait, and checks that none is lost and no
// two runs overlap.
func killedServer(t *testing.T, n int, restart bool) {
	s := startServers(t, n, "alpha", "beta")
	e, err := New(s.dial(t, broker.Head), Config{AckWait: ackWait, Known: func() []string { return []string{"alpha", "beta"} }, Log: testLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for _, name := range []string{"alpha", "beta"} {
		startNode(t, s.dial(t, name), name, 1, nil)
	}
	ready(t, e, "alpha", "beta")
	var gates []string
	for i := range 2 {
		task, gate := recorded(t, fmt.Sprint("runs", i))
		executortest.Submit(t, e, task)
		gates = append(gates, gate)
	}
	for _, gate := range gates {
		began(t, gate, 1)
	}
	const more = 6
	for i := range more {
		executortest.Submit(t, e, executortest.Task(fmt.Sprint("waits", i), fakeworker.Request{Do: "echo"}))
	}
	s.up[0].Kill()
	if restart {
		startChild(t, s.all[0])
	}
	os.Remove(gates[0])
	os.Remove(gates[1])
	for i := range more {
		executortest.Answer(t, executortest.Over(t, e, fmt.Sprint("waits", i)))
	}
	for i, gate := range gates {
		executortest.Answer(t, executortest.Over(t, e, fmt.Sprint("runs", i)))
		if runs := lines(gate + ".runs"); strings.Contains(runs, "overlap") {
			t.Errorf("runs %s", runs)
		}
	}
	executortest.Submit(t, e, executortest.Task("new", fakeworker.Request{Do: "echo"}))
	executortest.Answer(t, executortest.Over(t, e, "new"))
}

func TestKilledServer(t *testing.T) {
	t.Parallel()
	killedServer(t, 1, true)
}

func TestKilledServerOfThree(t *testing.T) {
	t.Parallel()
	killedServer(t, 3, false)
}
