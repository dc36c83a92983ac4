package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire/cluster"
)

// machine is a node that applies the journal, and is drained when it is asked.
type machine struct {
	*broker.Conn

	mu    sync.Mutex
	steps []string // "epoch.group" of each step
}

func apply(t *testing.T, conn *broker.Conn) *machine {
	t.Helper()
	m := &machine{Conn: conn}
	c, err := conn.Consume(t.Context(), broker.StreamJournal, broker.NodeDurable(conn.Name()), "journal.>", broker.ConsumeOptions{}, func(d broker.Delivery) {
		var step cluster.HostsMove
		if json.Unmarshal(d.Data, &step) == nil && step.Groups > 0 {
			m.mu.Lock()
			m.steps = append(m.steps, fmt.Sprintf("%d.%d", step.Epoch, step.Moved))
			m.mu.Unlock()
		}
		_ = d.Ack(context.Background())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	stop, err := conn.Serve(broker.NodeSubject(conn.Name(), "drain"), "", func(r broker.Message) { _ = r.Respond([]byte(`{"state":"drained"}`)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return m
}

// done returns the steps that the node has applied, each once.
func (m *machine) done() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Compact(slices.Clone(m.steps))
}

// withData starts nodes and appends a change of a client.
func withData(t *testing.T, h *Head, names ...string) {
	t.Helper()
	for _, name := range names {
		apply(t, started(t, h, name))
	}
	awaitMembers(t, h, names...)
	if _, err := h.Run(t.Context(), executor.Task{ID: "t1", Journal: true, Stdin: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
}

func awaitMembers(t *testing.T, h *Head, names ...string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("the members %v", names), func() bool {
		h.mu.RLock()
		defer h.mu.RUnlock()
		return h.members.Groups == 0 && slices.Equal(h.members.Members, names)
	})
}

// A node joins a cluster with data, group by group, and another one leaves and is forgotten. Its name
// cannot come back.
func TestJoinAndLeave(t *testing.T) {
	h, p := openAt(t, t.TempDir(), "127.0.0.1:0", true)
	withData(t, h, "n1", "n2")
	p.mu.Lock()
	p.rows = 50_000 // two nodes: a third of 100,000 moves, in groups of 10,000
	p.mu.Unlock()
	third := apply(t, started(t, h, "n3"))
	awaitMembers(t, h, "n1", "n2", "n3")
	testwait.Until(t, "n3 has applied all steps", func() bool { return fmt.Sprint(third.done()) == "[3.0 3.1 3.2]" })

	p.silence("n1")
	if _, err := command(t, h, cluster.Remove, "n1"); err == nil || !strings.Contains(err.Error(), "is silent") {
		t.Errorf("a silent node leaves: %v", err)
	}
	p.silence()
	answer, err := command(t, h, cluster.Remove, "n1")
	if err != nil || answer.State != "leaving" {
		t.Fatalf("%+v %v", answer, err)
	}
	awaitMembers(t, h, "n2", "n3")
	testwait.Until(t, "n1 is forgotten", func() bool {
		keys, err := h.keys.Nodes()
		_, gone := h.conn.ConsumerState(t.Context(), broker.StreamJournal, broker.NodeDurable("n1"))
		return err == nil && !slices.Contains(keys, "n1") && errors.Is(gone, broker.ErrNotFound)
	})
	if n := listed(t, h, "n1"); n.Name != "" {
		t.Errorf("n1 is listed: %+v", n)
	}
	if _, err := command(t, h, cluster.Add, "n1"); err == nil || !strings.Contains(err.Error(), "cannot come back") {
		t.Errorf("n1 comes back: %v", err)
	}
}

// A machine that worked alone becomes the first node. Its rows are data: the hosts of the second node move.
func TestFirstNodeBringsData(t *testing.T) {
	h, p := openAt(t, t.TempDir(), "127.0.0.1:0", true)
	first := apply(t, started(t, h, "n1"))
	awaitMembers(t, h, "n1")
	p.mu.Lock()
	p.rows = 5
	p.mu.Unlock()
	apply(t, started(t, h, "n2"))
	awaitMembers(t, h, "n1", "n2")
	if got := fmt.Sprint(first.done()); got != "[2.0]" {
		t.Errorf("steps %s", got)
	}
	for _, name := range []string{cluster.Remove, cluster.Lost} {
		if _, err := command(t, h, name, "nobody"); err == nil || !strings.Contains(err.Error(), "is not known") {
			t.Errorf("%s of an unknown node: %v", name, err)
		}
	}
}

// A change waits for a node that is silent, in the view of an operator too. It goes on where it was
// after a restart of the head, and without the node when that is lost. Links of the lost node go to
// another one.
func TestLost(t *testing.T) {
	folder := t.TempDir()
	h := open(t, folder, true)
	withData(t, h, "n1", "n2")
	dead := started(t, h, "n3") // it never applies the journal
	if err := dead.Publish(t.Context(), "links.n3", "id", []byte("links")); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "a change", func() bool { return strings.HasPrefix(listed(t, h, "n3").Reason, "joining: 0 of 1") })
	if _, err := command(t, h, cluster.Lost, "n2"); err == nil || !strings.Contains(err.Error(), "gives signs of life") {
		t.Errorf("n2 is lost: %v", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := h.Run(context.Background(), executor.Task{ID: "read"})
		waiting <- err
	}()
	select {
	case <-waiting:
		t.Error("a request did not wait for the step")
	default:
	}
	h.mu.Lock()
	h.joining["n3"] = time.Now().Add(-time.Hour) // its last sign of life
	h.mu.Unlock()
	testwait.Until(t, "the change waits", func() bool { return strings.Contains(listed(t, h, "n3").Reason, "waits for node n3") })
	if err := <-waiting; err != nil {
		t.Errorf("a request while a node is silent: %v", err)
	}
	if _, err := command(t, h, cluster.Remove, "n2"); err != nil {
		t.Error(err)
	}
	answer, err := command(t, h, cluster.Lost, "n3")
	if err != nil || answer.State != "lost" {
		t.Fatalf("%+v %v", answer, err)
	}
	// n3 joins without waiting for it, and then both leave.
	awaitMembers(t, h, "n1")
	testwait.Until(t, "n3 is forgotten", func() bool {
		_, gone := h.conn.ConsumerState(t.Context(), broker.StreamLinks, broker.NodeDurable("n3"))
		return errors.Is(gone, broker.ErrNotFound)
	})
	links, err := h.conn.ConsumerState(t.Context(), broker.StreamLinks, broker.NodeDurable("n1"))
	if err != nil || links.Pending != 1 {
		t.Errorf("links of n1: %+v %v", links, err)
	}
	if _, err := command(t, h, cluster.Remove, "n1"); err == nil || !strings.Contains(err.Error(), "the only one") {
		t.Errorf("the last node leaves: %v", err)
	}
}

// A head that is killed within a change goes on with the same step.
func TestRestartedChange(t *testing.T) {
	folder := t.TempDir()
	h, p := openAt(t, folder, "127.0.0.1:0", true)
	_, address, _ := strings.Cut(h.server.URL(), "://")
	first := apply(t, started(t, h, "n1"))
	awaitMembers(t, h, "n1")
	if _, err := h.Run(t.Context(), executor.Task{ID: "t1", Journal: true, Stdin: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.rows = 60_000 // half of them move
	p.mu.Unlock()
	second := started(t, h, "n2")
	testwait.Until(t, "the first step", func() bool { return fmt.Sprint(first.done()) == "[2.0]" })
	closeHead(t, h)
	h, _ = openAt(t, folder, address, true)
	apply(t, second)
	awaitMembers(t, h, "n1", "n2")
	if got := fmt.Sprint(first.done()); got != "[2.0 2.1 2.2]" {
		t.Errorf("steps %s", got)
	}
}

// A closed gate holds new requests back, and waits for those inside, but not for ever.
func TestGate(t *testing.T) {
	var g gate
	if err := g.enterGate(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.closeGate()
	if g.awaitDrained(t.Context(), time.Millisecond) {
		t.Error("drained with a request inside")
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := g.enterGate(over); err == nil || !strings.Contains(err.Error(), "hosts are moving") {
		t.Errorf("a request at a closed gate: %v", err)
	}
	entered := make(chan error, 1)
	go func() { entered <- g.enterGate(t.Context()) }()
	g.leaveGate()
	if !g.awaitDrained(t.Context(), time.Hour) {
		t.Error("not drained without requests")
	}
	g.openGate()
	if err := <-entered; err != nil {
		t.Error(err)
	}
	g.leaveGate()
}
