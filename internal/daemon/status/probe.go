package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// probe asks the stores of all data nodes for the smallest thing there is: the
// status of site 0, which need not exist. It belongs to one goroutine.
type probe struct {
	socket *bus.Socket
	poller *bus.Poller
	now    func() time.Time

	uid   string    // of the question under way; "" for none
	asked time.Time // when it, or the last one, was sent
	fault string    // of the last answer; "" for a good one
	known bool      // there was one

	waited bool // somebody has waited for the first one
}

const (
	probeGap   = 10 * time.Second // the stores are not asked more often
	probeLimit = 90 * time.Second // after that no answer is an answer
)

func newProbe(b *bus.Bus, endpoint string) (*probe, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return &probe{socket: s, poller: bus.NewPoller(s), now: time.Now}, nil
}

// stores says what is wrong with the stores, "" when nothing is, by the last
// answer. It asks anew when that is old, and waits for the very first one alone,
// and only that long.
func (p *probe) stores(limit time.Duration) string {
	p.receive()
	start := p.now()
	if p.uid == "" && (!p.known || start.Sub(p.asked).Abs() >= probeGap) {
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
	if p.uid != "" && p.now().Sub(p.asked) >= probeLimit {
		p.uid, p.fault = "", fmt.Sprintf("the stores gave no answer within %v", probeLimit)
	}
	return p.fault
}

func (p *probe) send(now time.Time) {
	uid := bus.NewUID()
	e := wire.Event{Class: wire.ClassClient, UID: uid, Type: int(wire.SiteStatus), Object: json.RawMessage(`{"id":"0"}`)}
	p.asked = now
	if _, err := p.socket.Send(nil, e); err != nil {
		p.fault, p.known = err.Error(), true
		return
	}
	p.uid = uid
}

func (p *probe) receive() {
	for {
		m, err := p.socket.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.As(err, &bad):
			continue
		case err != nil:
			return
		}
		if m.Event.UID == p.uid {
			p.uid, p.known, p.fault = "", true, storesFault(m.Event)
		}
	}
}

// storesFault is what an answer says about the stores: each node must have
// answered well.
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
		return "the stores gave an answer that is none"
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
