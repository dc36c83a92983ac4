package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/files"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/zpack"
)

// roleVariable makes a child process a task program or an agent instead of the tests.
const roleVariable = "NODE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "store":
		serveStore(os.Args[1])
	case "crawler":
		serveCrawler(os.Args[1])
	case "sender":
		runSender(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

// linkRow is a row of links_out in the store of the tests.
type linkRow struct {
	ID    int    `json:"id"`
	Owner string `json:"owner"`
	Link  string `json:"link"` // its URL
	Sent  bool   `json:"sent"`
}

// rows are a store of the tests: one file for links to other nodes, and one for the links of this
// node. Only one process changes them at a time.
type rows struct{ folder string }

func (r rows) read(name string, v any) {
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if files.IgnoreMissing(err) != nil {
		panic(err)
	}
}

func (r rows) write(name string, v any) {
	text, _ := json.Marshal(v)
	if err := files.Write(filepath.Join(r.folder, name), text, 0o600); err != nil {
		panic(err)
	}
}

func (r rows) out() (list []linkRow) { r.read("out.json", &list); return list }

func (r rows) stored() (list []string) { r.read("stored.json", &list); return list }

// serveStore answers as db-task does. A file "refuse" in the folder makes it fail.
func serveStore(folder string) {
	r := rows{folder}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var call wire.Call
		if err := json.Unmarshal(line, &call); err != nil {
			panic(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "refuse")); err == nil {
			os.Exit(3)
		}
		text, _ := json.Marshal(call.Reply(r.answer(call)))
		fmt.Println(string(text))
	}
}

func (r rows) answer(call wire.Call) any {
	var request struct {
		IDs []int64 `json:"ids"`
		cluster.LinksStoreRequest
	}
	if err := json.Unmarshal(call.Object, &request); err != nil {
		panic(err)
	}
	switch call.Op {
	case wire.LinksTake:
		return r.take()
	case wire.QuotaRead, wire.QuotaSet:
		return r.quota(call)
	case wire.LinksSent:
		list := r.out()
		for i := range list {
			list[i].Sent = list[i].Sent || slices.Contains(request.IDs, int64(list[i].ID))
		}
		r.write("out.json", list)
	case wire.LinksStore:
		list := r.stored()
		answer := cluster.LinksStored{Unknown: []string{}}
		var all cluster.LinksMessage
		for _, message := range request.Messages {
			var one cluster.LinksMessage
			text, err := zpack.Unpack(message, zpack.MaxMessage)
			if err != nil || json.Unmarshal(text, &one) != nil {
				return wire.Refuse(errors.New("cannot be read"))
			}
			all.Bundles = append(all.Bundles, one.Bundles...)
		}
		for _, bundle := range all.Bundles {
			for _, link := range bundle.Links {
				if slices.Contains(list, link.URL) {
					answer.Known++
					continue
				}
				answer.New++
				list = append(list, link.URL)
			}
		}
		var deliveries int
		r.read("deliveries.json", &deliveries)
		r.write("deliveries.json", deliveries+1)
		r.write("stored.json", list) // last: tests wait for it
		return answer
	}
	return wire.GeneralResponse{}
}

// take returns at most two links of each owner.
func (r rows) take() (t cluster.LinksTaken) {
	byOwner := map[string][]linkRow{}
	for _, row := range r.out() {
		switch {
		case row.Sent:
		case len(byOwner[row.Owner]) == 2:
			t.Left++
		default:
			byOwner[row.Owner] = append(byOwner[row.Owner], row)
		}
	}
	for owner, list := range byOwner {
		g := cluster.LinkGroup{Owner: owner, Count: int64(len(list))}
		var message cluster.LinksMessage
		for _, row := range list {
			g.IDs = append(g.IDs, int64(row.ID))
			message.Bundles = append(message.Bundles, cluster.LinkBundle{ID: int64(row.ID), From: "alpha", Links: []cluster.LinkOut{{URL: row.Link}}})
		}
		text, _ := json.Marshal(message)
		g.Message = zpack.Pack(text)
		t.Owners = append(t.Owners, g)
	}
	return t
}

// serveCrawler answers a request as soon as the file "finish" exists. SIGTERM ends it.
func serveCrawler(folder string) {
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadBytes('\n'); err != nil {
			return
		}
		for {
			if _, err := os.Stat(filepath.Join(folder, "finish")); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println("{}")
	}
}

// stage is this test binary in a role.
func stage(role, folder string) executor.Stage {
	return executor.Stage{Program: os.Args[0], Args: []string{folder}, Env: []string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}}
}

// member is a membership that the test controls: its renewals are real values of the table "nodes".
type member struct {
	conn     *broker.Conn
	caughtUp chan struct{}
	last     atomic.Int64
	ended    chan struct{}
	end      context.CancelFunc
}

func enter(ctx context.Context, conn *broker.Conn, caughtUp chan struct{}) (*member, error) {
	table, err := conn.Table(ctx, broker.TableNodes, broker.TableConfig{})
	if err != nil {
		return nil, err
	}
	m := &member{conn: conn, caughtUp: caughtUp, ended: make(chan struct{})}
	ctx, m.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(m.ended)
		for ctx.Err() == nil {
			one, cancel := context.WithTimeout(ctx, time.Second)
			if _, err := table.Put(one, conn.Name(), []byte("{}")); err == nil {
				m.last.Store(time.Now().UnixNano())
			}
			cancel()
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return m, nil
}

func (m *member) CaughtUp() <-chan struct{} { return m.caughtUp }
func (m *member) Confirmed() time.Time      { return time.Unix(0, m.last.Load()) }
func (m *member) Position() int64           { return 7 }
func (m *member) Close(context.Context)     { m.end(); <-m.ended }

// machine is a node: an agent, a real pool, a store, and two managers that it holds.
type machine struct {
	rows
	agent    *Agent
	pool     *executor.Local
	caughtUp chan struct{}
	bus      *bus.Bus
	stop     func()

	mu      sync.Mutex
	running bool // the first manager may work
	hints   int
}

// state returns whether the batch managers may work, and the hints so far.
func (m *machine) state() (running bool, hints int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running, m.hints
}

const leaseTime = 500 * time.Millisecond

// newMachine starts a node. Its journal is applied when the test closes caughtUp.
func newMachine(t *testing.T, join broker.Join) *machine {
	t.Helper()
	m := &machine{rows: rows{t.TempDir()}, caughtUp: make(chan struct{})}
	var err error
	if m.bus, err = bus.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.bus.Term(managertest.Patience) }) // the server of a test has goroutines of its own
	if m.pool, err = executor.OpenLocal(executor.LocalConfig{Dir: filepath.Join(m.folder, "env"), KillGrace: time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.pool.Close(context.Background()) })
	for _, name := range []string{batches.CrawlName, batches.ProcessName} {
		ready := make(chan struct{})
		l := manager.New(manager.Config{Name: name, Bus: m.bus, Log: managertest.Quiet(), Held: true, Ready: func() { close(ready) }})
		l.Bind(name, bus.Inproc(name), bus.Options{})
		l.ServeHold(name)
		l.Handle(name, wire.ClassInternal, wire.InternalWork, func(manager.Peer, wire.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.hints++
		})
		if name == batches.CrawlName {
			l.Maintain("note", func() time.Duration { return 5 * time.Millisecond }, func(time.Time) {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.running = !l.Suspended()
			})
		}
		managertest.Run(t, l, ready)
	}
	ready := make(chan struct{})
	m.agent = New(manager.Config{Bus: m.bus, Log: managertest.Quiet(), Ready: func() { close(ready) }}, Config{
		Join: join, Pool: m.pool, DBTask: stage("store", m.folder), Placement: filepath.Join(m.folder, "placement.json"), Moves: filepath.Join(m.folder, "moves"), DrainFile: filepath.Join(m.folder, "draining"),
		Enter: func(ctx context.Context, conn *broker.Conn, _ Session) (Member, error) {
			return enter(ctx, conn, m.caughtUp)
		},
		Held: []string{batches.CrawlName, batches.ProcessName}, Lease: leaseTime,
	})
	m.stop = managertest.Run(t, m.agent, ready)
	return m
}

// place publishes the placement of all nodes.
func place(t *testing.T, b *brokertest.Broker, epoch int, members ...string) {
	t.Helper()
	head := b.Head(t)
	defer head.Close()
	table, err := head.Table(brokertest.Context(t), broker.TableCluster, broker.TableConfig{})
	if err == nil {
		text, _ := json.Marshal(map[string]any{"epoch": epoch, "members": members})
		_, err = table.Put(brokertest.Context(t), "placement", text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) awaitRunning(t *testing.T, event string, want bool) {
	t.Helper()
	testwait.Until(t, event, func() bool { running, _ := m.state(); return running == want })
}

// killed ends this process as kill -9 does.
func killed() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
