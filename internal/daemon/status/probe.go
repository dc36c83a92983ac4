package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// probe repeats one small request to SitesManager and keeps the last answer. It belongs to one
// goroutine.
type probe struct {
	socket *bus.Socket
	poller *bus.Poller
	now    func() time.Time

	op    wire.Op
	gap   time.Duration                   // between two requests
	judge func(wire.Event) (fault string) // of an answer

	uid   string    // of the pending request; "" for none
	sent  time.Time // of the last request
	fault string    // of the last answer; "" if it was good
	known bool      // there was an answer

	waited bool // a caller has waited for the first answer
}

const (
	probeGap   = 10 * time.Second // between two requests for the health
	totalsGap  = 30 * time.Second // between two sums of all sites
	probeLimit = 90 * time.Second // a missing answer then counts as a fault
)

// newProbe returns a probe of the stores of all data nodes: the status of site 0, which need not
// exist.
func newProbe(b *bus.Bus, endpoint string) (*probe, error) {
	return newQuestion(b, endpoint, wire.SiteStatus, probeGap, storesFault)
}

// newQuestion returns a probe that judges answers to op.
func newQuestion(b *bus.Bus, endpoint string, op wire.Op, gap time.Duration, judge func(wire.Event) string) (*probe, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		return nil, fmt.Errorf("connect status server: %w", err)
	}
	return &probe{socket: s, poller: bus.NewPoller(s), now: time.Now, op: op, gap: gap, judge: judge}, nil
}

// storeFault returns the fault of the last answer, or "". It sends a new request if the answer is
// old. It waits only for the first answer, at most limit.
func (p *probe) storeFault(limit time.Duration) string {
	p.receiveAnswers()
	start := p.now()
	if p.uid == "" && (!p.known || start.Sub(p.sent).Abs() >= p.gap) {
		p.sendRequest(start)
	}
	for !p.known {
		left := limit - p.now().Sub(start)
		if left <= 0 || p.waited {
			p.waited = true
			return "the stores have not answered yet"
		}
		if _, err := p.poller.Wait(min(left, slice)); err != nil {
			return err.Error()
		}
		p.receiveAnswers()
	}
	if p.uid != "" && p.now().Sub(p.sent) >= probeLimit {
		p.uid, p.fault = "", fmt.Sprintf("the stores gave no answer within %v", probeLimit)
	}
	return p.fault
}

func (p *probe) sendRequest(now time.Time) {
	uid := bus.NewUID()
	e := wire.Event{Class: wire.ClassClient, UID: uid, Type: int(p.op), Object: json.RawMessage(`{"id":"0"}`)}
	p.sent = now
	if _, err := p.socket.Send(nil, e); err != nil {
		p.fault, p.known = err.Error(), true
		return
	}
	p.uid = uid
}

func (p *probe) receiveAnswers() {
	drainSocket(p.socket, func(e wire.Event) {
		if e.UID == p.uid {
			p.uid, p.known, p.fault = "", true, p.judge(e)
		}
	})
}

// totals are the sums over sites of all nodes, as of the last good answer.
type totals struct {
	*probe
	sums []wire.SiteTotal // nil: unknown
}

func newTotals(b *bus.Bus, endpoint string) (t *totals, err error) {
	t = &totals{}
	t.probe, err = newQuestion(b, endpoint, wire.SiteTotals, totalsGap, t.readAnswers)
	return t, err
}

// latestSums returns the last sums. It waits only for the first ones, at most limit.
func (t *totals) latestSums(limit time.Duration) []wire.SiteTotal {
	if t.storeFault(limit) != "" {
		return nil
	}
	return t.sums
}

// readAnswers adds up the answers of the nodes.
func (t *totals) readAnswers(e wire.Event) (fault string) {
	if fault := storesFault(e); fault != "" {
		return fault
	}
	var r struct {
		ItemsList []struct {
			Object []wire.SiteTotal `json:"itemObject"`
		} `json:"itemsList"`
	}
	if err := json.Unmarshal(e.Object, &r); err != nil {
		return "the stores gave an invalid answer"
	}
	type group struct{ category, state int64 }
	sums := map[group]wire.SiteTotal{}
	for _, node := range r.ItemsList {
		for _, one := range node.Object {
			k := group{one.Category, one.State}
			sums[k] = one.Plus(sums[k])
		}
	}
	t.sums = slices.Collect(maps.Values(sums))
	return ""
}

// storesFault returns the fault in an answer, or "": every node must have answered well.
func storesFault(e wire.Event) string {
	var r struct {
		ErrorCode    int    `json:"errorCode"`
		ErrorMessage string `json:"errorMessage"`
		ItemsList    []struct {
			ErrorCode    int    `json:"errorCode"`
			ErrorMessage string `json:"errorMessage"`
			Node         string `json:"node"`
		} `json:"itemsList"`
	}
	if err := json.Unmarshal(e.Object, &r); err != nil {
		return "the stores gave an invalid answer"
	}
	if r.ErrorCode != 0 || len(r.ItemsList) == 0 {
		return clipText("the stores: " + r.ErrorMessage)
	}
	for _, i := range r.ItemsList {
		if i.ErrorCode != 0 {
			return clipText(fmt.Sprintf("the stores of node %q: %s", i.Node, i.ErrorMessage))
		}
	}
	return ""
}
