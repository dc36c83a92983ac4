package status

import (
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// probe checks the stores of all data nodes with a small request: the status of site 0, which
// need not exist. It belongs to one goroutine.
type probe struct {
	socket *bus.Socket
	poller *bus.Poller
	now    func() time.Time

	uid   string    // of the pending request; "" for none
	sent  time.Time // of the last request
	fault string    // of the last answer; "" if it was good
	known bool      // there was an answer

	waited bool // a caller has waited for the first answer
}

const (
	probeGap   = 10 * time.Second // between two requests
	probeLimit = 90 * time.Second // a missing answer then counts as a fault
)

func newProbe(b *bus.Bus, endpoint string) (*probe, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		return nil, fmt.Errorf("connect status server: %w", err)
	}
	return &probe{socket: s, poller: bus.NewPoller(s), now: time.Now}, nil
}

// stores returns the fault of the stores in the last answer, or "". It sends a new request if
// the answer is old. It waits only for the first answer, at most limit.
func (p *probe) stores(limit time.Duration) string {
	p.receive()
	start := p.now()
	if p.uid == "" && (!p.known || start.Sub(p.sent).Abs() >= probeGap) {
		p.send(start)
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
		p.receive()
	}
	if p.uid != "" && p.now().Sub(p.sent) >= probeLimit {
		p.uid, p.fault = "", fmt.Sprintf("the stores gave no answer within %v", probeLimit)
	}
	return p.fault
}

func (p *probe) send(now time.Time) {
	uid := bus.NewUID()
	e := wire.Event{Class: wire.ClassClient, UID: uid, Type: int(wire.SiteStatus), Object: json.RawMessage(`{"id":"0"}`)}
	p.sent = now
	if _, err := p.socket.Send(nil, e); err != nil {
		p.fault, p.known = err.Error(), true
		return
	}
	p.uid = uid
}

func (p *probe) receive() {
	drain(p.socket, func(e wire.Event) {
		if e.UID == p.uid {
			p.uid, p.known, p.fault = "", true, storesFault(e)
		}
	})
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
		return clip("the stores: " + r.ErrorMessage)
	}
	for _, i := range r.ItemsList {
		if i.ErrorCode != 0 {
			return clip(fmt.Sprintf("the stores of node %q: %s", i.Node, i.ErrorMessage))
		}
	}
	return ""
}
