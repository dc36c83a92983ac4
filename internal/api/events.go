package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hce/dc/internal/api/events"
	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
)

const (
	maxStreams   = 64 // of events, at once
	eventsAtOnce = 500
	heartbeat    = 15 * time.Second // between two lines of a stream without events
)

// eventsInput chooses events.
type eventsInput struct {
	Sites  []string `query:"site,explode" maxItems:"1000" doc:"only events of these sites: ids, separated by commas or in several parameters"`
	Types  []string `query:"types,explode" maxItems:"100" doc:"only these types, separated by commas or in several parameters; all without it" example:"[\"page.new\",\"page.changed\"]"`
	After  string   `query:"after" maxLength:"20" pattern:"^[0-9]*$" doc:"number of the last event that the client has; 0: from the oldest. Without it, and without Last-Event-ID, a stream begins with the next event"`
	Last   string   `header:"Last-Event-ID" maxLength:"20" pattern:"^[0-9]*$" doc:"as after, which has priority; clients of event streams send it by themselves"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"most events of a list"`
	Accept string   `header:"Accept" maxLength:"1024" doc:"application/json: a list that ends; anything else: a stream of events"`
}

// filter returns what the client wants and may see.
func (in *eventsInput) filter(c caller) (f events.Filter, err error) {
	f.Sites, f.Types = splitLists(in.Sites), splitLists(in.Types)
	for _, one := range f.Types {
		if !slices.Contains(events.Types, one) {
			return f, &actions.Invalid{Field: "types", Value: one, Message: "it is not one of " + strings.Join(events.Types, ", ")}
		}
	}
	for _, id := range f.Sites {
		if !c.AllowsSite(id) {
			return f, &actions.NotFound{What: "site", Name: id}
		}
	}
	if len(f.Sites) == 0 {
		f.Sites = c.Key.Sites
	}
	return f, nil
}

// splitLists joins lists that are separated by commas.
func splitLists(lists []string) (all []string) {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// position returns the number behind which the client reads; given is false if it does not say so.
func (in *eventsInput) position() (n int64, given bool) {
	for _, text := range []string{in.After, in.Last} {
		if text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// eventList is a part of the events.
type eventList struct {
	Items []events.Event `json:"items"`
	Next  string         `json:"next" doc:"parameter after of the next request"`
	Gap   bool           `json:"gap,omitempty" doc:"events before the first one are not kept any more"`
}

// addEvents registers the operations about events.
func (s *Server) addEvents(api huma.API) {
	add(s, api, operation{
		id: "listEvents", method: http.MethodGet, path: "/v1/events", tag: "events", summary: "Stream what happens to pages and sites", scope: apikeys.Read, open: true, limit: -1,
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
		about: "Server-sent events, without an end; with Accept: application/json a list. Events of a site are ordered. After a break the client goes on with the header Last-Event-ID. " +
			"An event gap comes first if events that the client does not have are not kept any more. The first request begins the log: nothing before it is told.",
	}, s.listEvents)
	answer := api.OpenAPI().Paths["/v1/events"].Get.Responses["200"]
	answer.Description = "OK"
	answer.Content = map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString, Description: "lines id, event and data; data is an event as in the list"}},
		"application/json":  {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[eventList](), true, "EventList")},
	}
}

// checkEvents returns an error if there is no log.
func (s *Server) checkEvents() error {
	if s.events == nil {
		return newProblem(http.StatusServiceUnavailable, "the log of events cannot be opened; the log of the daemon says more")
	}
	return nil
}

// beginEvents begins the log, if it has not begun.
func (s *Server) beginEvents() error {
	err := s.checkEvents()
	if err == nil {
		err = s.events.Begin()
	}
	if err == events.ErrClosed {
		return newProblem(http.StatusServiceUnavailable, err.Error())
	}
	return err
}

// listEvents answers with a stream or a list.
func (s *Server) listEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	filter, err := in.filter(callerOf(ctx))
	if err == nil {
		err = s.beginEvents()
	}
	if err != nil {
		return nil, err
	}
	before, last, err := s.events.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	position, given := in.position()
	gap := given && (position < before || position > last)
	switch {
	case gap:
		position = before
	case !given:
		position = last
	}
	if strings.Contains(in.Accept, "application/json") {
		if !given {
			position = before
		}
		list, err := s.readEvents(ctx, filter, position, in.Limit)
		list.Gap = gap
		return &huma.StreamResponse{Body: func(c huma.Context) {
			_, w := humago.Unwrap(c)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(list) // fails only if the client has disconnected
		}}, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			w.Header().Set("Retry-After", "60")
			s.refuse(w, r, newProblem(http.StatusServiceUnavailable, fmt.Sprintf("there are %d streams of events already", cap(s.streams))), callerOf(ctx).trace)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		stream := eventStream{server: s, out: &steadyWriter{control, w}, control: control, filter: filter, position: position}
		if gap {
			stream.writeGap(before + 1)
		}
		stream.send(r)
	}}, nil
}

// readEvents returns at most most events behind a position.
func (s *Server) readEvents(ctx context.Context, filter events.Filter, position int64, most int) (eventList, error) {
	list := eventList{Items: []events.Event{}}
	for {
		found, err := s.events.After(ctx, position, eventsAtOnce)
		for _, e := range found {
			if len(list.Items) == most {
				break
			}
			if position = e.ID; filter.Allows(e) {
				list.Items = append(list.Items, e)
			}
		}
		if err != nil || len(list.Items) == most || len(found) < eventsAtOnce {
			list.Next = strconv.FormatInt(position, 10)
			return list, err
		}
	}
}

// eventStream is the stream of one client.
type eventStream struct {
	server   *Server
	out      *steadyWriter
	control  *http.ResponseController
	filter   events.Filter
	position int64
	told     int64 // position that the client knows
	err      error // of the first write that failed
}

// write writes lines; after an error nothing.
func (e *eventStream) write(format string, values ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.out, format, values...)
	}
}

// writeGap says that events are missing, and that the next one is oldest or later.
func (e *eventStream) writeGap(oldest int64) {
	e.write("id: %d\nevent: gap\ndata: {\"oldest\":%d}\n\n", e.position, oldest)
}

// writePlace tells a client whose filter leaves events out how far it is. The event has data: some clients forget an id without.
func (e *eventStream) writePlace() {
	if e.told == e.position {
		e.write(": still here\n\n")
		return
	}
	e.told = e.position
	e.write("id: %d\nevent: place\ndata: {}\n\n", e.position)
}

// send sends events until the client leaves, the daemon stops, or the key is revoked.
func (e *eventStream) send(r *http.Request) {
	ready := e.server.events.Ready()
	beat := time.NewTicker(e.server.beat)
	defer beat.Stop()
	for e.err == nil {
		changed := e.server.events.Changed()
		if !e.sendNext(r.Context()) {
			return
		}
		if e.err == nil {
			e.err = e.control.Flush()
		}
		select {
		case <-r.Context().Done():
			return
		case <-e.server.events.Done():
			return
		case <-ready:
			ready = nil
			e.write(": ready\n\n")
		case <-changed:
		case <-beat.C:
			if _, p := e.server.findCaller(r); p != nil {
				return
			}
			e.writePlace()
		}
	}
}

// sendNext sends the events that are there. It returns false if they cannot be read.
func (e *eventStream) sendNext(ctx context.Context) bool {
	for e.err == nil {
		list, err := e.server.events.After(ctx, e.position, eventsAtOnce)
		if err != nil {
			if ctx.Err() == nil {
				e.server.log.Error("cannot read events", "error", err)
			}
			return false
		}
		if len(list) > 0 && list[0].ID > e.position+1 { // a client that reads slower than events are removed
			e.position = list[0].ID - 1
			e.writeGap(list[0].ID)
		}
		for _, one := range list {
			if e.position = one.ID; !e.filter.Allows(one) {
				continue
			}
			data, err := json.Marshal(one)
			if err != nil {
				e.err = err
			}
			e.told = one.ID
			e.write("id: %d\nevent: %s\ndata: %s\n\n", one.ID, one.Type, data)
		}
		if len(list) < eventsAtOnce {
			return true
		}
	}
	return true
}
