package hceclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Event is what happened to a page or a site (docs/events.md).
type Event struct {
	ID   int64     `json:"id"`
	Type string    `json:"type"` // page.new, page.changed, page.gone, site.finished, site.trouble, site.deleted; gap: see Events
	Time time.Time `json:"timestamp"`
	Data EventData `json:"data"`
}

// EventData says to what it happened.
type EventData struct {
	Site        string     `json:"site"`
	URL         string     `json:"url"`
	Key         string     `json:"urlMd5"`
	HTTPCode    int64      `json:"httpCode"`
	ContentType string     `json:"contentType"`
	Size        int64      `json:"size"`
	Hash        string     `json:"rawContentMd5"`
	Changed     *time.Time `json:"changed"`
	Reason      string     `json:"reason"`
}

// EventChoice chooses events. Empty lists choose all.
type EventChoice struct {
	Sites, Types []string
	After        int64 // number of the last event that the caller has; 0: from the oldest; below 0: from the next one
}

func (c EventChoice) query() url.Values {
	query := url.Values{}
	if len(c.Sites) > 0 {
		query.Set("site", strings.Join(c.Sites, ","))
	}
	if len(c.Types) > 0 {
		query.Set("types", strings.Join(c.Types, ","))
	}
	if c.After >= 0 {
		query.Set("after", strconv.FormatInt(c.After, 10))
	}
	return query
}

// ListEvents returns at most limit events, and the number to go on after.
func (c Client) ListEvents(ctx context.Context, choice EventChoice, limit int) (list []Event, after int64, err error) {
	var answer struct {
		Items []Event `json:"items"`
		Next  string  `json:"next"`
	}
	query := choice.query()
	query.Set("limit", strconv.Itoa(limit))
	if err := c.exchange(ctx, http.MethodGet, "/v1/events?"+query.Encode(), http.Header{"Accept": {"application/json"}}, nil, &answer); err != nil {
		return nil, 0, err
	}
	after, err = strconv.ParseInt(answer.Next, 10, 64)
	return answer.Items, after, err
}

// reconnectPause is the time between two connections of Events.
const reconnectPause = time.Second

// Events returns events as they come, until ctx ends. A connection that breaks off is opened again behind the last event. An event of type
// gap says that events were not kept long enough: read the pages again. The last value has the error of ctx, or a *Problem.
func (c Client) Events(ctx context.Context, choice EventChoice) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			more, err := c.streamEvents(ctx, &choice, yield)
			if !more {
				return
			}
			if p := (*Problem)(nil); ctx.Err() != nil || errors.As(err, &p) && p.Status < 500 {
				yield(Event{}, errors.Join(ctx.Err(), err))
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(reconnectPause):
			}
		}
	}
}

// streamEvents reads one connection. more is false if the caller has enough.
func (c Client) streamEvents(ctx context.Context, choice *EventChoice, yield func(Event, error) bool) (more bool, err error) {
	answer, err := c.send(ctx, http.MethodGet, "/v1/events?"+choice.query().Encode(), http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxProblem)
	var kind string
	var data []byte
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			if choice.After, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return true, fmt.Errorf("read the stream of events: %w", err)
			}
		case "event":
			kind = string(value)
		case "data":
			data = append(data[:0], value...)
		}
		if len(lines.Bytes()) > 0 {
			continue
		}
		e := Event{ID: choice.After, Type: kind}
		if kind != "" && kind != "place" && kind != "gap" {
			if err := json.Unmarshal(data, &e); err != nil {
				return true, fmt.Errorf("read the stream of events: %w", err)
			}
		}
		if kind != "" && kind != "place" && !yield(e, nil) {
			return false, nil
		}
		kind, data = "", data[:0]
	}
	return true, lines.Err()
}

// Webhook is a server that gets events (docs/events.md).
type Webhook struct {
	ID       string     `json:"id"`
	URL      string     `json:"url"`
	Types    []string   `json:"types"`
	Sites    []string   `json:"sites"`
	State    string     `json:"state"` // active, failing, disabled
	Position int64      `json:"position"`
	Next     *time.Time `json:"nextTry"`
	Fault    string     `json:"lastFault"`
	Dead     int64      `json:"deadLetters"`
	Secret   string     `json:"secret"` // of CreateWebhook only
}

// DeadLetter is an event that a webhook did not get.
type DeadLetter struct {
	Event  Event     `json:"event"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

// CreateWebhook sends events from now on to a server. Empty lists choose all. The answer has the secret of the signatures, once.
func (c Client) CreateWebhook(ctx context.Context, address string, types, sites []string) (h Webhook, err error) {
	body := map[string]any{"url": address}
	for name, list := range map[string][]string{"types": types, "sites": sites} {
		if len(list) > 0 {
			body[name] = list
		}
	}
	return h, c.exchange(ctx, http.MethodPost, "/v1/webhooks", nil, body, &h)
}

// Webhooks returns all webhooks.
func (c Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	var answer struct{ Items []Webhook }
	err := c.exchange(ctx, http.MethodGet, "/v1/webhooks", nil, nil, &answer)
	return answer.Items, err
}

// Webhook shows a webhook and how far it is.
func (c Client) Webhook(ctx context.Context, id string) (h Webhook, err error) {
	return h, c.exchange(ctx, http.MethodGet, join("/v1/webhooks", id), nil, nil, &h)
}

// DeleteWebhook deletes a webhook.
func (c Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.exchange(ctx, http.MethodDelete, join("/v1/webhooks", id), nil, nil, nil)
}

// DeadLetters returns the events that a webhook did not get. The error is the last value.
func (c Client) DeadLetters(ctx context.Context, id string) iter.Seq2[DeadLetter, error] {
	return items[DeadLetter](ctx, c, join("/v1/webhooks", id, "dead"), nil)
}

// ReplayWebhook sends events again from a number on; 0: from the oldest that is kept.
func (c Client) ReplayWebhook(ctx context.Context, id string, from int64) (h Webhook, err error) {
	return h, c.exchange(ctx, http.MethodPost, join("/v1/webhooks", id, "replay"), nil, map[string]int64{"from": from}, &h)
}
