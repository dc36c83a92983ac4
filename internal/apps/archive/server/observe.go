package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// observer is a registered client.
type observer struct {
	address  string
	since    time.Time
	position atomic.Int64 // the last commit that was sent
}

// registry has the observers that are connected.
type registry struct {
	most int

	mu  sync.Mutex
	all map[*observer]bool
}

// add registers an observer, unless there are too many.
func (r *registry) add(o *observer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) >= r.most {
		return protocol.ErrBusy
	}
	r.all[o] = true
	return nil
}

func (r *registry) remove(o *observer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, o)
}

// observerStates returns the observers, the oldest first.
func (r *registry) observerStates() []protocol.ObserverState {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []protocol.ObserverState{}
	for o := range r.all {
		list = append(list, protocol.ObserverState{Address: o.address, Since: timeText(o.since), Position: o.position.Load()})
	}
	slices.SortFunc(list, func(a, b protocol.ObserverState) int {
		return strings.Compare(a.Since+a.Address, b.Since+b.Address)
	})
	return list
}

// serveObserver registers a client and sends it the commits after its position, until its connection is
// lost or the server stops.
func (s *Server) serveObserver(w http.ResponseWriter, r *http.Request, q protocol.Request) error {
	position, err := s.observerPosition(r.Context(), q.After, r.Header.Get(protocol.LastEventID))
	if err != nil {
		return err
	}
	o := &observer{address: r.RemoteAddr, since: time.Now()}
	o.position.Store(position)
	if err := s.registry.add(o); err != nil {
		return err
	}
	defer s.registry.remove(o)
	s.cfg.Log.Debug("observer registered", "client", o.address, "position", position)
	err = s.sendEvents(w, r, o)
	s.cfg.Log.Debug("observer removed", "client", o.address, "position", o.position.Load(), "error", err)
	return nil
}

// observerPosition returns the number after which an observer wants commits. A number that no commit has is
// an error: the client knows another archive, and would miss commits.
func (s *Server) observerPosition(ctx context.Context, after int64, lastEvent string) (int64, error) {
	if lastEvent != "" {
		number, err := strconv.ParseInt(lastEvent, 10, 64)
		if err != nil || number < 0 {
			return 0, fmt.Errorf("header %s %.100q %w", protocol.LastEventID, lastEvent, archive.ErrInvalid)
		}
		after = number
	}
	if after == protocol.FromNow {
		err := s.feed.awaitReady(ctx)
		return s.feed.lastNumber(), err
	}
	if after == 0 {
		return 0, nil
	}
	list, err := s.cfg.Store.Commits(ctx, after-1, 1)
	if err == nil && (len(list) == 0 || list[0].Number != after) {
		err = fmt.Errorf("the archive has no commit with the number %d, so it is not the one that you observed, or its database was rebuilt; observe from 0: the position %w", after, archive.ErrInvalid)
	}
	return after, err
}

// sendEvents sends events until the client or the server ends.
func (s *Server) sendEvents(w http.ResponseWriter, r *http.Request, o *observer) error {
	out := s.beginEvents(w)
	if err := out.send(protocol.Event{Kind: protocol.Registered, ID: o.position.Load(), Data: []byte("{}")}.Text()); err != nil {
		return err
	}
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		list, changed, err := s.feed.commitsAfter(r.Context(), o.position.Load())
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if err := out.sendChanges(list); err != nil {
				return err
			}
			o.position.Store(list[len(list)-1].Number)
			continue
		}
		select {
		case <-changed:
		case <-heartbeat.C:
			if err := out.send(protocol.Alive); err != nil {
				return err
			}
		case <-r.Context().Done():
			return r.Context().Err()
		case <-s.stopping:
			return nil
		}
	}
}

// eventWriter writes events. A client must take each within the patience of the server.
type eventWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// beginEvents begins the answer.
func (s *Server) beginEvents(w http.ResponseWriter) *eventWriter {
	out := &eventWriter{w, http.NewResponseController(w), s.cfg.Patience}
	h := w.Header()
	h.Set(protocol.KindHeader, string(protocol.Events))
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not wait for more
	return out
}

func (w *eventWriter) send(text []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.patience))
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.control.Flush()
}

func (w *eventWriter) sendChanges(list []archive.Commit) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return w.send(protocol.Event{Kind: protocol.Changes, ID: list[len(list)-1].Number, Data: data}.Text())
}
