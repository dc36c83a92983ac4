package head

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire/cluster"
)

// Whatever messages and writes are lost, late or repeated, and whoever is killed, the nodes never have
// more than the limit, and at the end exactly the limit.
func TestQuotaModel(t *testing.T) {
	for seed := range uint64(120) {
		limits := cluster.Amounts{int64(1 + seed%60), int64(1 + seed%25), 0}
		w := newQuotaWorld(t, seed, limits, 1+int(seed%4))
		w.faults = true
		for range 120 {
			name := w.names[w.random.IntN(len(w.names))]
			n := w.nodes[name]
			switch w.random.IntN(10) {
			case 0:
				n.links += int64(w.random.IntN(20))
			case 1:
				n.pages += int64(w.random.IntN(10))
			case 2: // URLs are deleted, resources processed
				n.used[0] -= min(n.used[0], int64(w.random.IntN(4)))
				n.used[1] -= min(n.used[1], int64(w.random.IntN(4)))
			case 3:
				w.restart()
			case 4:
				if len(w.late) > 0 {
					at := w.random.IntN(len(w.late))
					w.late[at]()
				}
			default:
				w.asks(name)
			}
			n.work()
			w.check()
		}
		w.faults = false
		for _, n := range w.nodes { // all of them have enough
			n.links, n.pages, n.active = 100, 100, true
		}
		rounds := w.settle()
		for kind := range 2 {
			if used, limit := w.sum(kind); used != limit {
				t.Fatalf("seed %d: kind %d: %d of %d after %d rounds", seed, kind, used, limit, rounds)
			}
		}
		for _, name := range w.names {
			if w.nodes[name].active {
				t.Fatalf("seed %d: a site above maxResources is active on %s", seed, name)
			}
		}
	}
}

// Limits that a client changes reach the nodes one after the other. No node adds anything for a limit that
// was lowered everywhere.
func TestQuotaOfChangedLimits(t *testing.T) {
	for seed := range uint64(40) {
		w := newQuotaWorld(t, seed, cluster.Amounts{40, 0, 0}, 3)
		w.faults = true
		for round := range 6 {
			limit := cluster.Amounts{int64(10 + w.random.IntN(60)), 0, 0}
			for _, i := range w.random.Perm(3) {
				n := w.nodes[w.names[i]]
				n.change(limit)
				for range 5 {
					asking := w.nodes[w.names[w.random.IntN(3)]]
					asking.links += 5
					before, _ := w.sum(0)
					name := w.names[w.random.IntN(3)]
					w.nodes[name].work()
					order, err := w.answerReport(t.Context(), name, w.nodes[name].report())
					if err == nil {
						w.deliver(func() { w.nodes[name].obey(order) })
					}
					w.silent.Clear()
					if used, most := w.sum(0); used > before && used > most {
						t.Fatalf("seed %d, round %d: %d of %d", seed, round, used, most)
					}
					if len(w.late) > 0 {
						w.late[w.random.IntN(len(w.late))]()
					}
				}
			}
		}
		w.faults = false
		for _, n := range w.nodes {
			n.change(cluster.Amounts{500, 0, 0})
			n.links = 500
		}
		w.settle()
		if used, _ := w.sum(0); used != 500 {
			t.Fatalf("seed %d: %d of 500", seed, used)
		}
	}
}

// Hosts move, with their rows, from one node to another. The old owner is heard first: what it does not
// use any more is given to nobody until the new one is heard.
func TestQuotaOfMovedHosts(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{90, 0, 0}, 3)
	for _, n := range w.nodes {
		n.links = 30
	}
	w.settle()
	from, to, third := w.nodes["n0"], w.nodes["n1"], w.nodes["n2"]
	from.links, to.links, third.links = 0, 0, 50
	from.used[0], to.used[0] = from.used[0]-20, to.used[0]+20
	from.lease[0] = from.used[0]
	w.step++
	from.step, third.step = w.step, w.step
	mend := w.cut("n1")
	w.asks("n0")
	w.asks("n2") // n1 has not ended the step, and does not answer
	w.check()
	mend()
	if third.links != 50 {
		t.Errorf("%d links wait, want 50", third.links)
	}
	to.step = w.step
	w.settle()
	used, _ := w.sum(0)
	if used != 90 || third.links != 0 {
		t.Errorf("%d of 90, %d links wait", used, third.links)
	}
}

// More errors than the limit on all nodes together suspend the site everywhere; fewer do not.
func TestQuotaOfErrors(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{0, 0, 20}, 3)
	for i, name := range w.names {
		n := w.nodes[name]
		n.pages = 5
		n.used[cluster.QuotaErrors] = int64([]int{1, 18, 1}[i])
	}
	w.settle()
	for _, n := range w.nodes {
		if !n.active {
			t.Error("suspended with 20 errors of 20")
		}
	}
	w.nodes["n1"].used[cluster.QuotaErrors]++
	w.settle()
	for name, n := range w.nodes {
		if n.active {
			t.Errorf("%s is not suspended with 21 errors of 20", name)
		}
	}
	// A client starts it again, and the entry has reached one node.
	first := w.nodes["n0"]
	first.active, first.position, first.used[cluster.QuotaErrors], first.lease[cluster.QuotaErrors] = true, 8, 2, 0
	w.asks("n0")
	if !first.active {
		t.Error("suspended by what another node says of the time before the restart")
	}
}

// A node that is away keeps what it may have: the others get the rest, and nothing is final.
func TestQuotaOfSilentNode(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{30, 0, 0}, 3)
	away := w.nodes["n2"]
	for _, name := range w.names {
		w.nodes[name].links = 2
		w.asks(name)
	}
	mend := w.cut("n2")
	kept := max(away.lease[0], away.used[0])
	w.nodes["n0"].links = 50
	for range 20 {
		w.asks("n0")
	}
	if used, _ := w.sum(0); used-away.used[0] != 30-kept || w.nodes["n0"].finals > 0 {
		t.Errorf("%d used, %d held by the node that is away, %d final", used, kept, w.nodes["n0"].finals)
	}
	mend()
	w.settle()
	if used, _ := w.sum(0); used != 30 {
		t.Errorf("%d of 30 when it is back", used)
	}
}

// A node that was never heard may have an equal share of rows that no limit stops, such as roots.
func TestQuotaOfUnheardNode(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{30, 0, 0}, 3)
	w.nodes["n2"].used[0] = 10
	mend := w.cut("n2")
	w.nodes["n0"].links = 50
	for range 20 {
		w.asks("n0")
	}
	if used := w.nodes["n0"].used[0]; used != 20 {
		t.Errorf("%d used, want the shares of two nodes", used)
	}
	mend()
	w.settle()
}

// What a lost order has granted to a node is not lost: another node gets it.
func TestQuotaOfLostOrder(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{30, 0, 0}, 2)
	r := w.nodes["n1"].report()
	r.Wants[0] = true
	if o, err := w.answerReport(t.Context(), "n1", r); err != nil || o.Lease[0] != 10 {
		t.Fatalf("%+v, %v", o, err)
	}
	w.nodes["n0"].links = 50
	w.settle()
	if used := w.nodes["n0"].used[0]; used != 30 {
		t.Errorf("%d of 30", used)
	}
	w.nodes["n0"].links = 1
	if o, err := w.answerReport(t.Context(), "n0", w.nodes["n0"].report()); err != nil || !o.Final[0] {
		t.Fatalf("%+v, %v", o, err)
	}
	w.nodes["n0"].links, w.nodes["n1"].links = 0, 1
	w.settle()
}

// A site that was deleted and made again begins at 0; one that only its owner has needs no other node.
func TestQuotaOfDeletedSite(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{30, 0, 0}, 3)
	for _, name := range w.names {
		w.nodes[name].links = 20
	}
	w.settle()
	for _, name := range w.names {
		*w.nodes[name] = quotaNode{gone: true, position: 9}
	}
	only := &quotaNode{limit: cluster.Amounts{25, 0, 0}, active: true, position: 9, links: 40}
	w.nodes["n1"] = only
	w.settle()
	if only.used[0] != 25 {
		t.Errorf("%d of 25", only.used[0])
	}
}

// A message with many sites has an answer for each, also for those that fail.
func TestQuotaAnswersAll(t *testing.T) {
	w := newQuotaWorld(t, 1, cluster.Amounts{30, 0, 0}, 1)
	r := w.nodes["n0"].report()
	r.Wants[0] = true
	w.revision = 1 // an unreadable ledger
	orders := w.answerAll(t.Context(), "n0", []cluster.QuotaReport{r, r}, slog.New(slog.DiscardHandler))
	if len(orders) != 2 || orders[1].Site != "s" || orders[1].Seq != 0 {
		t.Errorf("%+v", orders)
	}
}

// The nodes of a real broker: one uses what the other gives back, and the ledger is in the table.
func TestQuotaOverTheBroker(t *testing.T) {
	h := open(t, t.TempDir(), true)
	alpha, beta := started(t, h, "alpha"), started(t, h, "beta")
	testwait.Until(t, "both are members", func() bool { return len(h.Members()) == 2 })
	_, step := h.rowHolders()
	ask := func(conn *broker.Conn, n *quotaNode) {
		t.Helper()
		n.step = step
		question, _ := json.Marshal(cluster.QuotaReports{Reports: []cluster.QuotaReport{n.report()}})
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Deadline)
		defer cancel()
		replies, err := conn.Request(ctx, broker.HeadSubject(conn.Name(), "quota"), question, 1)
		var answer cluster.QuotaOrders
		if err == nil {
			err = json.Unmarshal(replies[0].Data, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.obey(answer.Orders[0])
	}
	limits := cluster.Amounts{10, 0, 0}
	a, b := &quotaNode{limit: limits, active: true, links: 20}, &quotaNode{limit: limits, active: true, used: cluster.Amounts{1}}
	ask(beta, b)
	if b.lease[0] != 3 { // its row, and a third of the 4 that alpha cannot have already
		t.Errorf("%+v", b)
	}
	stop, err := beta.Serve(broker.NodeSubject("beta", "quota"), "", func(m broker.Message) {
		var c cluster.QuotaCommand
		if err := json.Unmarshal(m.Data, &c); err != nil {
			t.Error(err)
		}
		if c.Order != nil {
			b.obey(*c.Order)
		}
		answer, _ := json.Marshal(b.report())
		if err := m.Respond(answer); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for a.links > 0 {
		ask(alpha, a)
	}
	if a.used[0] != 9 || a.finals != 1 {
		t.Errorf("%+v", a)
	}
	table, err := h.conn.Table(t.Context(), broker.TableQuota, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := table.Get(t.Context(), "s")
	var l ledger
	if err == nil {
		err = json.Unmarshal(e.Value, &l)
	}
	if err != nil || l.Nodes["alpha"].Most[0] != 9 || l.Nodes["beta"].Most[0] != 1 {
		t.Errorf("%s, %v", e.Value, err)
	}
}
