package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// quota answers for the site "s", whose report is in quota.json.
func (r rows) quota(call wire.Call) (answer cluster.QuotaReports) {
	var request struct {
		cluster.QuotaReadRequest
		cluster.QuotaSetRequest
	}
	if err := json.Unmarshal(call.Object, &request); err != nil {
		panic(err)
	}
	answer.Reports = []cluster.QuotaReport{}
	var s cluster.QuotaReport
	if r.read("quota.json", &s); s.Site == "" {
		return answer
	}
	for _, o := range request.Orders {
		s.Seq, s.Lease = o.Seq, o.Lease
		s.Short[cluster.QuotaURLs] = o.Lease[cluster.QuotaURLs] < 7 && !o.Final[cluster.QuotaURLs]
		r.write("quota.json", s)
		answer.Added++
	}
	if len(request.Orders) > 0 || request.Site == s.Site || !request.Wanted || s.AnyShort() {
		answer.Reports = append(answer.Reports, s)
	}
	return answer
}

// A node asks the head while something waits, and obeys its orders; an idle node asks nothing.
func TestQuotaRounds(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	place(t, b, 1, "alpha")
	head := b.Head(t)
	var mu sync.Mutex
	var asked []cluster.QuotaReport
	lease := int64(0)
	stop, err := head.Serve(broker.HeadSubject("*", "quota"), "", func(m broker.Message) {
		mu.Lock()
		defer mu.Unlock()
		var question cluster.QuotaReports
		if err := json.Unmarshal(m.Data, &question); err != nil || m.Subject != "dc.head.alpha.quota" {
			t.Errorf("%s: %s", m.Subject, m.Data)
		}
		r := question.Reports[0]
		asked = append(asked, r)
		lease += 5
		answer, _ := json.Marshal(cluster.QuotaOrders{Orders: []cluster.QuotaOrder{{Site: "s", Seq: r.Seq + 1, Lease: cluster.Amounts{lease}}}})
		if err := m.Respond(answer); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	m := newMachine(t, b.Join(t, "alpha"))
	m.write("quota.json", cluster.QuotaReport{Site: "s", Active: true, Limit: cluster.Amounts{40}, Short: cluster.Kinds{true}})
	close(m.caughtUp)
	m.awaitRunning(t, "alpha works", true)
	stored := func() (s cluster.QuotaReport) { m.read("quota.json", &s); return s }
	testwait.Until(t, "the lease is large enough", func() bool { return stored().Lease[cluster.QuotaURLs] == 10 })
	testwait.Until(t, "nothing waits", func() bool { return m.stat(t, "limits_waiting") == 0 && stored().Seq == 2 })
	mu.Lock()
	first := asked[0]
	questions := len(asked)
	mu.Unlock()
	if questions != 2 || first.From != 7 || first.Until != 7 || first.Step == 0 {
		t.Errorf("%d questions, the first one %+v", questions, first)
	}

	// The head asks too, with an order or without.
	for i, c := range []cluster.QuotaCommand{{Site: "s"}, {Site: "s", Order: &cluster.QuotaOrder{Site: "s", Seq: 9, Lease: cluster.Amounts{8}}}} {
		data, _ := json.Marshal(c)
		replies, err := head.Request(brokertest.Context(t), broker.NodeSubject("alpha", "quota"), data, 1)
		var r cluster.QuotaReport
		if err == nil {
			err = json.Unmarshal(replies[0].Data, &r)
		}
		if err != nil || r.Lease[cluster.QuotaURLs] != []int64{10, 8}[i] || r.Step != first.Step {
			t.Errorf("%+v, %v", r, err)
		}
	}

	// A store that fails does not end the rounds.
	refuse := filepath.Join(m.folder, "refuse")
	if err := os.WriteFile(refuse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := stored()
	s.Short, s.Lease = cluster.Kinds{true}, cluster.Amounts{1}
	m.write("quota.json", s)
	m.agent.postToLoop(m.agent.wantQuota)
	if err := os.Remove(refuse); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the lease has grown again", func() bool { return stored().Lease[cluster.QuotaURLs] >= 15 })
}
