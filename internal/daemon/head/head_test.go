package head

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
)

// pool is an executor that appends the inputs of the journal, and whose nodes are ready unless they are
// in silent. Each node has rows.
type pool struct {
	managertest.Executor
	conn  *broker.Conn
	known func() []string

	mu     sync.Mutex
	silent []string
	rows   int64
}

func (p *pool) silence(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = names
}

func (p *pool) Close() error { return nil }

func (p *pool) Nodes(context.Context) ([]executor.Node, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []executor.Node
	for _, name := range p.known() {
		state := executor.NodeReady
		if slices.Contains(p.silent, name) {
			state = executor.NodeSilent
		}
		list = append(list, executor.Node{Name: name, State: state, Busy: map[string]int{"db": 1}, Slots: map[string]int{"db": 2}})
	}
	return list, nil
}

func (p *pool) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	if t.Journal {
		return nil, p.conn.Publish(ctx, "journal.task", rand.Text(), t.Stdin)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var results []executor.Result
	for _, name := range p.known() {
		r := executor.Result{Status: executor.Status{Node: name, State: executor.Finished}}
		r.Stdout, _ = json.Marshal(wire.Call{Op: wire.HostsState}.Reply(cluster.HostsCounted{Rows: p.rows}))
		if slices.Contains(p.silent, name) {
			r.State, r.Reason = executor.Lost, "no sign of life"
		}
		results = append(results, r)
	}
	return results, nil
}

// open opens a head on a folder. It is closed at the end of the test.
func open(t *testing.T, folder string, hosts bool) *Head {
	t.Helper()
	h, _ := openAt(t, folder, "127.0.0.1:0", hosts)
	return h
}

func openAt(t *testing.T, folder, address string, hosts bool) (*Head, *pool) {
	t.Helper()
	p := &pool{}
	h, err := Open(t.Context(), Config{
		Folder: folder, Listen: address, Hosts: hosts, Log: managertest.Quiet(), Silence: time.Minute,
		Executor: func(conn *broker.Conn, known func() []string, _ time.Duration) (Executor, error) {
			p.conn, p.known = conn, known
			return p, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHead(t, h) })
	return h, p
}

func closeHead(t *testing.T, h *Head) {
	t.Helper()
	if h.ctx.Err() != nil {
		return // closed by the test
	}
	if err := h.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// command is one command of an operator.
func command(t *testing.T, h *Head, name, node string) (cluster.Answer, error) {
	t.Helper()
	return h.runCommand(t.Context(), cluster.Command{Command: name, Node: node})
}

// started is a node with the join file of "node add" that gives a sign of life.
func started(t *testing.T, h *Head, name string) *broker.Conn {
	t.Helper()
	answer, err := command(t, h, cluster.Add, name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "join")
	if err := os.WriteFile(path, answer.Join, 0o600); err != nil {
		t.Fatal(err)
	}
	join, err := broker.ReadJoin(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := broker.Dial(t.Context(), broker.DialConfig{Join: join, Log: managertest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	alive(t, conn, name)
	return conn
}

func alive(t *testing.T, conn *broker.Conn, name string) {
	t.Helper()
	table, err := conn.Table(t.Context(), broker.TableNodes, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Put(t.Context(), name, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, h *Head, name string) cluster.Node {
	t.Helper()
	answer, err := command(t, h, cluster.List, "")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(answer.Nodes, func(n cluster.Node) bool { return n.Name == name })
	if at < 0 {
		return cluster.Node{}
	}
	return answer.Nodes[at]
}

// Nodes become members at their first sign of life while there is no data, and stay members over a
// restart.
func TestMembers(t *testing.T) {
	folder := t.TempDir()
	h := open(t, folder, true)
	if _, err := h.Run(t.Context(), executor.Task{ID: "x", Journal: true}); err == nil || !strings.Contains(err.Error(), "no members") {
		t.Errorf("a change without members: %v", err)
	}
	started(t, h, "n2")
	started(t, h, "n1")
	testwait.Until(t, "two members", func() bool { return fmt.Sprint(h.Members()) == "[n1 n2]" })
	want := placement.Placement{Members: []string{"n1", "n2"}}.OwnerOfURL("http://example.org/a")
	if got := h.Owner("http://example.org/b"); got != want {
		t.Errorf("owner %s, want %s", got, want)
	}
	if n := listed(t, h, "n1"); !n.Member || n.State != executor.NodeReady || n.Busy != 1 || n.Slots != 2 || n.Lag != 0 {
		t.Errorf("n1 %+v", n)
	}
	if _, err := h.Run(t.Context(), executor.Task{ID: "t1", Journal: true}); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "a change that n1 has not applied", func() bool { return listed(t, h, "n1").Lag == 1 })
	if _, err := command(t, h, cluster.Add, "n3"); err != nil {
		t.Fatal(err)
	}
	if n := listed(t, h, "n3"); n.Member || n.State != nodeAdded {
		t.Errorf("n3 has a key only: %+v", n)
	}
	if _, err := command(t, h, cluster.Remove, "n3"); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, h, cluster.Add, "n1"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("add twice: %v", err)
	}

	closeHead(t, h)
	again := open(t, folder, true)
	if got := again.Members(); fmt.Sprint(got) != "[n1 n2]" || !again.members.Sealed {
		t.Errorf("after a restart: members %v, sealed %v", got, again.members.Sealed)
	}
}

// In placement = propagate a node may join at any time, and leave.
func TestPropagate(t *testing.T) {
	h := open(t, t.TempDir(), false)
	started(t, h, "n1")
	testwait.Until(t, "one member", func() bool { return len(h.Members()) == 1 })
	if _, err := h.Run(t.Context(), executor.Task{ID: "t1", Journal: true}); err != nil {
		t.Fatal(err)
	}
	started(t, h, "n2")
	testwait.Until(t, "two members", func() bool { return len(h.Members()) == 2 })
	if _, err := command(t, h, cluster.Remove, "n1"); err != nil || fmt.Sprint(h.Members()) != "[n2]" {
		t.Errorf("%v %v", err, h.Members())
	}
}

// Drain asks the node itself.
func TestDrain(t *testing.T) {
	h := open(t, t.TempDir(), true)
	conn := started(t, h, "n1")
	stop, err := conn.Serve(broker.NodeSubject("n1", "drain"), "", func(m broker.Message) {
		var r struct{ On bool }
		state := "working"
		if json.Unmarshal(m.Data, &r) == nil && r.On {
			state = "draining"
		}
		_ = m.Respond([]byte(`{"state":"` + state + `"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for command, want := range map[string]string{cluster.Drain: "draining", cluster.Undrain: "working"} {
		var answer cluster.Answer
		testwait.Until(t, command, func() bool { // the subscription is new
			answer, err = h.runCommand(t.Context(), cluster.Command{Command: command, Node: "n1"})
			return err == nil
		})
		if answer.State != want {
			t.Errorf("%s: %+v", command, answer)
		}
	}
	if _, err := command(t, h, cluster.Drain, "away"); err == nil || !strings.Contains(err.Error(), "node away does not answer") {
		t.Errorf("a node that is away: %v", err)
	}
}

// Nodes cannot connect to an address that means all interfaces.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]bool{"0.0.0.0:1": true, ":1": true, "[::]:1": true, "127.0.0.1:1": false, "10.0.0.5:1": false} {
		if isWildcardAddress(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
