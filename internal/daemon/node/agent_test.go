package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/zpack"
)

// The batch managers wait until the journal is applied and the placement is written; they stop, and
// their tasks end, while the broker is away, and go on when it is back.
func TestLease(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	relay := brokertest.NewRelay(t, b.Server.URL())
	m := newMachine(t, b.Join(t, "alpha", relay.URL()))
	place(t, b, 2, "alpha")
	testwait.Until(t, "the node joins", func() bool { return m.stat(t, "cluster_lease") == 1 })
	if running, _ := m.state(); running {
		t.Error("the batch managers work before the journal is applied")
	}
	close(m.caughtUp)
	place(t, b, 3, "alpha", "beta")
	m.awaitRunning(t, "the batch managers work", true)
	path := filepath.Join(m.folder, "placement.json")
	testwait.Until(t, "the new placement is written", func() bool {
		text, _ := os.ReadFile(path)
		return strings.Contains(string(text), "beta")
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := placement.Parse(text); err != nil || p.Epoch != 3 || p.Self != "alpha" || !slices.Equal(p.Members, []string{"alpha", "beta"}) {
		t.Errorf("%s %v", text, err)
	}

	task := executor.Task{ID: "crawl-1", Type: batches.CrawlTask, Stages: []executor.Stage{stage("crawler", m.folder)}, Stdin: []byte("{}")}
	if err := m.pool.Submit(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	relay.Cut()
	m.awaitRunning(t, "the batch managers stop", false)
	testwait.Until(t, "the task ends", func() bool {
		all, err := m.pool.Status(t.Context(), task.ID)
		return err == nil && all[0].State == executor.Cancelled
	})
	relay.Mend()
	m.awaitRunning(t, "the batch managers work again", true)
}

// A node that starts while the broker is away works when it is there.
func TestBrokerComesLater(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	place(t, b, 1, "alpha")
	join := b.Join(t, "alpha")
	b.Close(t)
	m := newMachine(t, join)
	close(m.caughtUp)
	if running, _ := m.state(); running || m.stat(t, "cluster_connected") != 0 {
		t.Error("the node works without a broker")
	}
	b.Open(t)
	b.Provision(t)
	m.awaitRunning(t, "the batch managers work", true)
}

// alphaAndBeta starts a broker and two machines that work.
func alphaAndBeta(t *testing.T) (b *brokertest.Broker, alpha, beta *machine) {
	t.Helper()
	b = brokertest.Start(t, "alpha", "beta")
	place(t, b, 1, "alpha", "beta")
	alpha, beta = newMachine(t, b.Join(t, "alpha")), newMachine(t, b.Join(t, "beta"))
	close(alpha.caughtUp)
	close(beta.caughtUp)
	alpha.awaitRunning(t, "alpha works", true)
	beta.awaitRunning(t, "beta works", true)
	return b, alpha, beta
}

// Links travel to their owner once, and the owner's crawl manager gets a hint. They wait while the
// broker is away, and while the owner cannot store them. What cannot be read is dropped.
func TestLinksTravel(t *testing.T) {
	b, alpha, beta := alphaAndBeta(t)
	broken := zpack.Pack([]byte("{}"))
	if err := b.Node(t, "alpha").Publish(brokertest.Context(t), "links.beta", "", broken[:len(broken)-1]); err != nil {
		t.Fatal(err)
	}
	head := b.Head(t)
	testwait.Until(t, "the broken message is dropped", func() bool {
		state, err := head.ConsumerState(brokertest.Context(t), broker.StreamLinks, broker.NodeDurable("beta"))
		return err == nil && state.Pending == 0
	})
	_, hints := beta.state()
	refuse := filepath.Join(beta.folder, "refuse")
	if err := os.WriteFile(refuse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	alpha.found(t, 5)
	testwait.Until(t, "alpha has sent its links", func() bool { return alpha.unsent() == 0 })
	if len(beta.stored()) > 0 {
		t.Error("a store that fails has stored links")
	}
	if err := os.Remove(refuse); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "beta has the links", func() bool { return len(beta.stored()) == 5 })
	testwait.Until(t, "beta's crawl manager gets a hint", func() bool { _, n := beta.state(); return n > hints })
	testwait.Until(t, "the statistics show them", func() bool {
		return alpha.stat(t, "links_sent") == 5 && beta.stat(t, "links_received") == 5 && alpha.stat(t, "links_waiting") == 0
	})

	b.Close(t)
	testwait.Until(t, "alpha sees that the broker is away", func() bool { return alpha.stat(t, "cluster_connected") == 0 })
	alpha.found(t, 7)
	if alpha.unsent() != 2 {
		t.Errorf("%d links wait, want 2", alpha.unsent())
	}
	b.Open(t)
	b.Provision(t)
	testwait.Until(t, "beta has the later links", func() bool { return len(beta.stored()) == 7 })
}

// What comes within a pause is stored together, but for what comes again. If one delivery cannot be stored, it
// is dropped alone.
func TestLinksTogether(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	beta := newMachine(t, b.Join(t, "beta")) // its journal is not applied: it takes no links by itself
	alpha := b.Node(t, "alpha")
	came, gathered := make(chan broker.Delivery), make(chan []broker.Delivery)
	var taken atomic.Int64
	var twice atomic.Bool // each delivery comes again
	c, err := b.Node(t, "beta").Consume(brokertest.Context(t), broker.StreamLinks, broker.NodeDurable("beta"), "links.beta", broker.ConsumeOptions{}, func(d broker.Delivery) {
		if twice.Load() && d.Count == 1 {
			giveBack(0, d)
			return
		}
		select {
		case came <- d:
			taken.Add(1)
		case <-t.Context().Done():
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	send := func(texts ...string) {
		for _, text := range texts {
			if err := alpha.Publish(brokertest.Context(t), "links.beta", "", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(i int) string {
		return fmt.Sprintf(`{"bundles":[{"id":%d,"from":"alpha","links":[{"url":"http://b.example/%d"}]}]}`, i, i)
	}
	stored := func(calls int, urls ...string) {
		t.Helper()
		var n int
		if beta.read("deliveries.json", &n); n != calls || !slices.Equal(beta.stored(), urls) {
			t.Errorf("%v after %d calls, want %v after %d", beta.stored(), n, urls, calls)
		}
	}
	in := &beta.agent.in
	gather := func() { gathered <- in.gatherDeliveries(brokertest.Context(t), came, time.Now()) }

	in.pause.Store(int64(time.Hour))
	go gather()
	send(link(1), link(2), link(3))
	testwait.Until(t, "three wait", func() bool { return taken.Load() == 3 })
	in.pause.Store(0)
	beta.agent.takeDeliveries(t.Context(), <-gathered...)
	stored(1, "http://b.example/1", "http://b.example/2", "http://b.example/3")

	in.pause.Store(int64(time.Hour))
	go gather()
	send("no JSON")
	testwait.Until(t, "one waits", func() bool { return taken.Load() == 4 })
	twice.Store(true)
	send(link(4))
	list := <-gathered
	if len(list) != 2 || list[1].Count < 2 {
		t.Fatalf("%d deliveries", len(list))
	}
	beta.agent.takeDeliveries(t.Context(), list...)
	stored(2, "http://b.example/1", "http://b.example/2", "http://b.example/3", "http://b.example/4")
	head := b.Head(t)
	testwait.Until(t, "all deliveries are finished", func() bool {
		state, err := head.ConsumerState(brokertest.Context(t), broker.StreamLinks, broker.NodeDurable("beta"))
		return err == nil && state.Pending == 0
	})
}

// A draining node starts no batches, waits for those that run, and sends its links.
func TestDrain(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	place(t, b, 1, "alpha", "beta")
	m := newMachine(t, b.Join(t, "alpha"))
	close(m.caughtUp)
	m.awaitRunning(t, "the batch managers work", true)
	task := executor.Task{ID: "crawl-1", Type: batches.CrawlTask, Stages: []executor.Stage{stage("crawler", m.folder)}, Stdin: []byte("{}")}
	if err := m.pool.Submit(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	head := b.Head(t)
	ask := func(d Drain) (answer Draining) {
		request, _ := json.Marshal(d)
		replies, err := head.Request(brokertest.Context(t), broker.NodeSubject("alpha", "drain"), request, 1)
		if err == nil {
			err = json.Unmarshal(replies[0].Data, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := ask(Drain{On: true}).State; got != "draining" {
		t.Errorf("state %s", got)
	}
	m.awaitRunning(t, "the batch managers stop", false)
	m.found(t, 3)
	if got := ask(Drain{Only: true}).State; got != "draining" {
		t.Errorf("state %s while a task runs", got)
	}
	if err := os.WriteFile(filepath.Join(m.folder, "finish"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(m.folder, "draining")); err != nil {
		t.Errorf("a restart would end draining: %v", err)
	}
	testwait.Until(t, "the node is drained", func() bool { return ask(Drain{Only: true}).State == "drained" })
	if m.unsent() != 0 {
		t.Errorf("a drained node has %d unsent links", m.unsent())
	}
	if got := ask(Drain{On: false}).State; got != "working" {
		t.Errorf("state %s", got)
	}
	m.awaitRunning(t, "the batch managers work again", true)
}

// The sender is killed at each point of a round. All links arrive, and those that the stream dropped
// as copies arrive once.
func TestKilledSender(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	place(t, b, 1, "alpha", "beta")
	beta := newMachine(t, b.Join(t, "beta"))
	close(beta.caughtUp)
	r := rows{t.TempDir()}
	join := filepath.Join(r.folder, "alpha.join")
	brokertest.WriteJoin(t, join, b.Join(t, "alpha"))
	for i, point := range []string{"before publish", "after publish", "after sent", ""} {
		r.write("out.json", linksTo("beta", 2*i+2, r.out()))
		c := exec.Command(os.Args[0], r.folder)
		c.Env = append(os.Environ(), roleVariable+"=sender", killVariable+"="+point, "GORACE=atexit_sleep_ms=0")
		out, err := c.CombinedOutput()
		if (err == nil) != (point == "") {
			t.Errorf("killed %q: %v\n%s", point, err, out)
		}
	}
	if unsent(r.out()) != 0 {
		t.Errorf("%d links are unsent", unsent(r.out()))
	}
	testwait.Until(t, "beta has the links", func() bool { return len(beta.stored()) == 8 })
	var deliveries int
	beta.read("deliveries.json", &deliveries)
	if deliveries != 4 {
		t.Errorf("%d deliveries, want 4: a repeated group has the id of the first one", deliveries)
	}
}

const killVariable = "NODE_TEST_KILL"

// runSender runs one round and kills its process at the point of the variable.
func runSender(folder string) {
	point := os.Getenv(killVariable)
	join, err := broker.ReadJoin(filepath.Join(folder, "alpha.join"))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	conn, err := broker.Dial(ctx, broker.DialConfig{Join: join})
	if err != nil {
		panic(err)
	}
	pool, err := executor.OpenLocal(executor.LocalConfig{Dir: filepath.Join(folder, "env")})
	if err != nil {
		panic(err)
	}
	s := store{killing{pool, point}, stage("store", folder)}
	if _, err := s.sendAll(ctx, killingPublisher{conn, point}); err != nil {
		panic(err)
	}
}

type killingPublisher struct {
	*broker.Conn
	point string
}

func (k killingPublisher) Publish(ctx context.Context, subject, id string, data []byte) error {
	if k.point == "before publish" {
		killed()
	}
	err := k.Conn.Publish(ctx, subject, id, data)
	if k.point == "after publish" {
		killed()
	}
	return err
}

// killing kills the process when LINKS_SENT has ended.
type killing struct {
	*executor.Local
	point string
}

func (k killing) Run(ctx context.Context, task executor.Task) ([]executor.Result, error) {
	results, err := k.Local.Run(ctx, task)
	if k.point == "after sent" && len(task.Stdin) > 3 && string(task.Stdin[:3]) == "[64" {
		killed()
	}
	return results, err
}

// linksTo returns list, filled up to n links.
func linksTo(owner string, n int, list []linkRow) []linkRow {
	for i := len(list); i < n; i++ {
		list = append(list, linkRow{ID: i + 1, Owner: owner, Link: fmt.Sprintf("http://b.example/%d", i+1)})
	}
	return list
}

func unsent(list []linkRow) (n int) {
	for _, row := range list {
		if !row.Sent {
			n++
		}
	}
	return n
}

func (m *machine) unsent() int { return unsent(m.out()) }

// found stores links of beta, n in total, and ends a crawl task, as a batch does.
func (m *machine) found(t *testing.T, n int) {
	t.Helper()
	m.write("out.json", linksTo("beta", n, m.out()))
	task := executor.Task{ID: fmt.Sprintf("found-%d", n), Type: batches.CrawlTask, Stages: []executor.Stage{{Program: "cat"}}, Stdin: []byte("{}")}
	if err := m.pool.Submit(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the task is over", func() bool {
		all, err := m.pool.Status(t.Context(), task.ID)
		return err == nil && all[0].State.Over()
	})
}

// stat reads a statistic in the loop of the agent.
func (m *machine) stat(t *testing.T, name string) int {
	t.Helper()
	got := make(chan int, 1)
	m.agent.postToLoop(func() {
		a := m.agent
		got <- map[string]int{
			"cluster_lease": intFromBool(a.lease.good), "cluster_connected": intFromBool(a.session.connected),
			"links_sent": int(a.out.sent), "links_received": int(a.in.received), "links_waiting": int(a.out.left),
		}[name]
	})
	select {
	case v := <-got:
		return v
	case <-time.After(brokertest.Timeout):
		t.Fatal("the agent does not answer")
		return 0
	}
}

// Links are sent while the batch that found them runs: it may last as long as its sites have URLs.
func TestLinksTravelDuringABatch(t *testing.T) {
	_, alpha, beta := alphaAndBeta(t)
	task := executor.Task{ID: "crawl-1", Type: batches.CrawlTask, Stages: []executor.Stage{stage("crawler", alpha.folder)}, Stdin: []byte("{}")}
	if err := alpha.pool.Submit(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		list, err := alpha.pool.Status(t.Context(), "crawl-1")
		return err == nil && list[0].State == executor.Running
	}
	testwait.Until(t, "the batch runs", running)
	for _, n := range []int{5, 7} {
		alpha.write("out.json", linksTo("beta", n, alpha.out()))
		testwait.Until(t, "beta has the links", func() bool { return len(beta.stored()) == n && alpha.unsent() == 0 })
	}
	if !running() {
		t.Error("the batch has ended")
	}
	if err := os.WriteFile(filepath.Join(alpha.folder, "finish"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
