package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
)

// quotaNode is a node of the model, with one site. It follows orders as sqlstore.QuotaSet does.
type quotaNode struct {
	seq                      int64
	limit, lease, used, busy cluster.Amounts
	links                    int64 // that wait
	pages                    int64 // that a batch may crawl
	active                   bool
	gone                     bool
	step, position           int64
	finals                   int
}

func (n *quotaNode) report() cluster.QuotaReport {
	if n.gone {
		return cluster.QuotaReport{Site: "s", Gone: true, From: n.position, Until: n.position}
	}
	r := cluster.QuotaReport{Site: "s", Active: n.active, Seq: n.seq, Limit: n.limit, Lease: n.lease, Used: n.used, Busy: n.busy,
		Step: n.step, From: n.position, Until: n.position}
	for k, limit := range n.limit {
		r.Wants[k] = limit > n.lease[k] && 2*n.used[k] > n.lease[k]
	}
	work := n.active && n.pages > 0
	r.Short = cluster.Kinds{n.links > 0, work && n.limit[1] > 0 && n.used[1] >= min(n.limit[1], n.lease[1]), work && n.limit[2] > 0 && n.used[2] > min(n.limit[2], n.lease[2])}
	return r
}

func (n *quotaNode) obey(o cluster.QuotaOrder) {
	if o.Seq <= n.seq || n.gone {
		return
	}
	n.seq = o.Seq
	for k := range n.lease {
		switch {
		case o.Lease[k] == cluster.QuotaReturn:
			n.lease[k] = min(n.lease[k], n.used[k])
		case o.Limit[k] != n.limit[k]:
			n.lease[k] = min(n.lease[k], o.Lease[k])
		default:
			n.lease[k] = o.Lease[k]
		}
	}
	n.work()
	if o.Limit != n.limit {
		return
	}
	if o.Final[cluster.QuotaURLs] {
		n.links, n.finals = 0, n.finals+1
	}
	if o.Suspend != 0 {
		n.active = false
	}
}

// work uses the lease.
func (n *quotaNode) work() {
	got := max(min(n.links, min(n.limit[0], n.lease[0])-n.used[0]), 0)
	n.links -= got
	n.used[0] += got
	if !n.active {
		return
	}
	got = max(min(n.pages, min(n.limit[1], n.lease[1])-n.used[1]), 0)
	n.pages -= got
	n.used[1] += got
}

// change is a change of a limit by a client.
func (n *quotaNode) change(limit cluster.Amounts) {
	n.limit = limit
	n.position++
	for k := range n.lease {
		n.lease[k] = min(n.lease[k], n.used[k])
	}
}

// quotaWorld is a head, its table and its nodes, whose messages and writes can be lost, late or repeated.
type quotaWorld struct {
	*testing.T
	*quotas
	random *rand.Rand
	faults bool
	nodes  map[string]*quotaNode
	names  []string
	step   int64
	late   []func() // messages that have not arrived yet

	value    []byte
	revision uint64
}

var errFault = errors.New("a fault of the test")

func newQuotaWorld(t *testing.T, seed uint64, limits cluster.Amounts, n int) *quotaWorld {
	w := &quotaWorld{T: t, random: rand.New(rand.NewPCG(seed, 1)), nodes: map[string]*quotaNode{}}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		w.names = append(w.names, name)
		w.nodes[name] = &quotaNode{limit: limits, active: true}
	}
	w.restart()
	return w
}

// restart kills the head and starts another one.
func (w *quotaWorld) restart() {
	w.quotas = &quotas{ledgers: w, holders: func() ([]string, int64) { return w.names, w.step }, command: w.send}
}

func (w *quotaWorld) fault() bool { return w.faults && w.random.IntN(8) == 0 }

// send is a command to a node. It runs side by side with others: package quotas does that for several
// nodes, so the model allows one at a time.
func (w *quotaWorld) send(_ context.Context, name string, c cluster.QuotaCommand) (cluster.QuotaReport, error) {
	w.locks[63].Lock() // of no site here
	defer w.locks[63].Unlock()
	n := w.nodes[name]
	if c.Order != nil {
		w.deliver(func() { n.obey(*c.Order) })
	}
	if w.fault() {
		return cluster.QuotaReport{}, errFault
	}
	return n.report(), nil
}

// deliver delivers a message now, later, or both; or never.
func (w *quotaWorld) deliver(message func()) {
	if w.fault() {
		w.late = append(w.late, message)
		return
	}
	message()
	if w.fault() {
		w.late = append(w.late, message)
	}
}

func (w *quotaWorld) Get(context.Context, string) (broker.Entry, error) {
	if w.revision == 0 {
		return broker.Entry{}, broker.ErrNotFound
	}
	return broker.Entry{Value: w.value, Revision: w.revision}, nil
}

func (w *quotaWorld) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return w.Update(ctx, key, value, 0)
}

func (w *quotaWorld) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	if revision != w.revision {
		return 0, broker.ErrConflict
	}
	if w.fault() {
		return 0, errFault
	}
	w.value, w.revision = value, w.revision+1
	if w.fault() {
		return 0, errFault // killed after the write
	}
	return w.revision, nil
}

// asks lets a node ask the head once.
func (w *quotaWorld) asks(name string) {
	n := w.nodes[name]
	n.work()
	order, err := w.answerReport(w.Context(), name, n.report())
	if err == nil {
		w.deliver(func() { n.obey(order) })
	}
	w.silent.Clear()
	w.check()
}

func (w *quotaWorld) sum(kind int) (used, limit int64) {
	for _, n := range w.nodes {
		used += n.used[kind]
		limit = max(limit, n.limit[kind])
	}
	return used, limit
}

func (w *quotaWorld) check() {
	w.Helper()
	for kind := range 2 {
		if used, limit := w.sum(kind); used > limit {
			ledger, _ := json.Marshal(w.nodes)
			w.Fatalf("kind %d: %d of %d are used: %s %s", kind, used, limit, ledger, w.value)
		}
	}
}

// cut lets a node not answer until mend is called.
func (w *quotaWorld) cut(away string) (mend func()) {
	send := w.command
	w.command = func(ctx context.Context, name string, c cluster.QuotaCommand) (cluster.QuotaReport, error) {
		if name == away {
			return cluster.QuotaReport{}, errFault
		}
		return send(ctx, name, c)
	}
	return func() { w.command = send }
}

// settle lets all nodes ask until nothing waits.
func (w *quotaWorld) settle() (rounds int) {
	w.Helper()
	for {
		waits := false
		for _, name := range w.names {
			r := w.nodes[name].report()
			if r.AnyShort() {
				waits = true
				w.asks(name)
			}
		}
		if rounds++; !waits {
			return rounds
		}
		if rounds > 200 {
			state, _ := json.Marshal(w.nodes)
			w.Fatalf("something waits for ever: %s %s", state, w.value)
		}
	}
}
