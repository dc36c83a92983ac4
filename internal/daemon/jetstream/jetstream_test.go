package jetstream

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/executortest"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	if file := os.Getenv(asChild); file != "" {
		runChild(file)
	}
	os.Exit(m.Run())
}

var bg = context.Background()

// ackWait is that of brokertest.
const ackWait = 5 * time.Second

// testLog writes to standard error with DC_TEST_LOG=1.
func testLog() *slog.Logger {
	var to io.Writer = io.Discard
	if os.Getenv("DC_TEST_LOG") != "" {
		to = os.Stderr
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testNode is a node in this process.
type testNode struct {
	*Node
	Pool *executor.Local
	once sync.Once
}

// Stop closes the node and its pool.
func (n *testNode) Stop() {
	n.once.Do(func() {
		n.Close(bg)
		n.Pool.Close(bg)
	})
}

// programs returns the programs of a node: the fake worker.
func programs() map[string]executor.Stage {
	program, env := fakeworker.Command()
	return map[string]executor.Stage{filepath.Base(program): {Program: program, Env: env}}
}

// startNode starts a node with that connection.
func startNode(t testing.TB, conn *broker.Conn, name string, slots int, change func(*ServeConfig)) *testNode {
	t.Helper()
	pool, err := executor.OpenLocal(executor.LocalConfig{Dir: filepath.Join(t.TempDir(), "spool"), NodeName: name, DefaultSlots: slots, KillGrace: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	cfg := ServeConfig{Name: name, Pool: pool, Programs: programs(), Extra: []string{executortest.First, executortest.Second}, Heartbeat: 100 * time.Millisecond,
		Log: testLog().With("at", name)}
	if change != nil {
		change(&cfg)
	}
	n, err := Serve(brokertest.Context(t), conn, cfg)
	if err != nil {
		pool.Close(bg)
		t.Fatal(err)
	}
	one := &testNode{Node: n, Pool: pool}
	t.Cleanup(one.Stop)
	return one
}

// openHead opens the executor of the head. It knows all nodes that have a key.
func openHead(t testing.TB, b *brokertest.Broker, conn *broker.Conn, change func(*Config)) *Executor {
	t.Helper()
	cfg := Config{AckWait: ackWait, Silence: 2 * time.Second, Grace: 5 * time.Second, Log: testLog().With("at", "head"), Known: func() []string {
		nodes, err := b.Keys.Nodes()
		if err != nil {
			t.Error(err)
		}
		return nodes
	}}
	if change != nil {
		change(&cfg)
	}
	e, err := New(conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// ready waits until nodes are ready.
func ready(t testing.TB, e *Executor, names ...string) {
	t.Helper()
	for _, name := range names {
		testwait.Until(t, name+" is ready", func() bool { return stateOf(t, e, name) == executor.NodeReady })
	}
}

func stateOf(t testing.TB, e *Executor, name string) string {
	t.Helper()
	all, err := e.Nodes(bg)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if n.Name == name {
			return n.State
		}
	}
	return ""
}

func TestConformance(t *testing.T) {
	for _, names := range [][]string{{"alpha"}, {"alpha", "beta", "gamma"}} {
		t.Run(map[int]string{1: "one node", 3: "three nodes"}[len(names)], func(t *testing.T) {
			executortest.Run(t, func(t testing.TB, o executortest.Options) executortest.Harness {
				b := brokertest.Start(t, names...)
				t.Cleanup(func() { executortest.NoChildren(t) })
				var clock executortest.Clock
				e := openHead(t, b, b.Head(t), func(c *Config) { c.Now, c.MaxQueue, c.Silence = clock.Now, o.MaxQueue, brokertest.Timeout })
				for _, name := range names {
					startNode(t, b.Node(t, name), name, o.Slots, nil)
				}
				ready(t, e, names...)
				return executortest.Harness{Executor: e, Nodes: names, Close: e.Close, Advance: func(d time.Duration) { clock.Add(d); e.sweepTasks() }}
			})
		})
	}
}
