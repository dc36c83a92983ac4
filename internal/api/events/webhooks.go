package events

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/crawl/fetch"
)

const (
	maxWebhooks = 100
	maxDead     = 10_000 // letters of one webhook
)

// NewWebhook is a webhook to create.
type NewWebhook struct {
	URL   string   `json:"url" maxLength:"2048" doc:"http or https; public, or in AllowedNetworks of [Api]" example:"https://example.org/hook"`
	Types []string `json:"types,omitempty" maxItems:"100" enum:"page.new,page.changed,page.gone,site.finished,site.trouble,site.deleted" doc:"only these types; all without it"`
	Sites []string `json:"sites,omitempty" maxItems:"1000" doc:"only events of these sites; all without it"`
}

// Webhook is a receiver of events.
type Webhook struct {
	ID       string     `json:"id"`
	URL      string     `json:"url"`
	Types    []string   `json:"types,omitempty"`
	Sites    []string   `json:"sites,omitempty"`
	Created  time.Time  `json:"created"`
	State    string     `json:"state" enum:"active,failing,disabled" doc:"disabled: the receiver has answered 410; a replay enables it"`
	Position int64      `json:"position" doc:"number of the last event that is done"`
	Failing  *time.Time `json:"failingSince,omitempty" doc:"first failure since the last delivery"`
	Tries    int64      `json:"tries,omitempty" doc:"of the next event"`
	Next     *time.Time `json:"nextTry,omitempty"`
	Fault    string     `json:"lastFault,omitempty"`
	Dead     int64      `json:"deadLetters" doc:"events that could not be delivered for a day"`
	secret   string
	replays  int64
}

// DeadLetter is an event that could not be delivered.
type DeadLetter struct {
	Event  Event     `json:"event"`
	Reason string    `json:"reason" doc:"of the last try"`
	Time   time.Time `json:"time" doc:"when it was given up"`
}

const webhookColumns = `SELECT id, url, secret, types, sites, created, position, disabled, failing, tries, next, fault, replays,
  (SELECT COUNT(*) FROM dead WHERE webhook = id) FROM webhooks`

// scanWebhook reads a row of webhookColumns.
func scanWebhook(row interface{ Scan(...any) error }) (h Webhook, err error) {
	var types, sites, disabled string
	var created, failing, next int64
	if err := row.Scan(&h.ID, &h.URL, &h.secret, &types, &sites, &created, &h.Position, &disabled, &failing, &h.Tries, &next, &h.Fault, &h.replays, &h.Dead); err != nil {
		return h, err
	}
	h.State, h.Created = "active", time.UnixMilli(created).UTC()
	if failing > 0 {
		since := time.UnixMilli(failing).UTC()
		h.State, h.Failing = "failing", &since
	}
	if next > 0 {
		at := time.UnixMilli(next).UTC()
		h.Next = &at
	}
	if disabled != "" {
		h.State, h.Fault, h.Next = "disabled", disabled, nil
	}
	return h, errors.Join(json.Unmarshal([]byte(types), &h.Types), json.Unmarshal([]byte(sites), &h.Sites))
}

// Webhooks returns all webhooks by id.
func (e *Events) Webhooks(ctx context.Context) ([]Webhook, error) {
	if !e.hasBegun() {
		return []Webhook{}, nil
	}
	return e.store.webhooks(ctx)
}

func (s *store) webhooks(ctx context.Context) ([]Webhook, error) {
	rows, err := s.read.QueryContext(ctx, webhookColumns+" ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Webhook{}
	for rows.Next() {
		h, err := scanWebhook(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, rows.Err()
}

// Webhook returns one webhook.
func (e *Events) Webhook(ctx context.Context, id string) (Webhook, error) {
	if !e.hasBegun() {
		return Webhook{}, &actions.NotFound{What: "webhook", Name: id}
	}
	h, err := scanWebhook(e.store.read.QueryRowContext(ctx, webhookColumns+" WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		err = &actions.NotFound{What: "webhook", Name: id}
	}
	return h, err
}

// CreateWebhook creates a webhook that gets the events from now on. The secret is not shown again. Begin comes before it.
func (e *Events) CreateWebhook(ctx context.Context, n NewWebhook) (h Webhook, secret string, err error) {
	if err := e.checkTarget(n.URL); err != nil {
		return h, "", &actions.Invalid{Field: "url", Message: err.Error()}
	}
	types, _ := json.Marshal(n.Types) // lists of texts always have a JSON form
	sites, _ := json.Marshal(n.Sites)
	id := strings.ToLower(rand.Text()[:16])
	secret = newSecret()
	err = e.store.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO webhooks(id, url, secret, types, sites, created, position)
			VALUES(?, ?, ?, ?, ?, ?, IFNULL((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0))`, id, n.URL, secret, types, sites, e.cfg.Now().UnixMilli())
		if err != nil {
			return err
		}
		count := 0
		if err := tx.QueryRow("SELECT COUNT(*) FROM webhooks").Scan(&count); err != nil || count <= maxWebhooks {
			return err
		}
		return &actions.Conflict{Message: fmt.Sprintf("there are %d webhooks already, the most that are possible", maxWebhooks)}
	})
	if err != nil {
		return h, "", err
	}
	e.startDelivery(id)
	h, err = e.Webhook(ctx, id)
	return h, secret, err
}

// checkTarget refuses URLs that can never be reached. The guard checks the addresses of names at each request.
func (e *Events) checkTarget(target string) error {
	u, err := fetch.ParseURL(target)
	switch {
	case err != nil:
		return err
	case u.User != nil:
		return errors.New("a user or a password is not possible; the signature shows who sends")
	case u.Fragment != "":
		return errors.New("a fragment is not sent; leave it out")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := fetch.Permitted(addr, e.cfg.Networks); err != nil {
			return fmt.Errorf("%w; add the network to AllowedNetworks in [Api]", err)
		}
	}
	return nil
}

// DeleteWebhook deletes a webhook with its dead letters. A request that runs may still arrive.
func (e *Events) DeleteWebhook(ctx context.Context, id string) error {
	if _, err := e.Webhook(ctx, id); err != nil {
		return err
	}
	err := e.store.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM webhooks WHERE id = ?", id); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM dead WHERE webhook = ?", id)
		return err
	})
	if err == nil {
		e.wake()
	}
	return err
}

// Replay lets a webhook get all events from a number on again, and enables it. It returns the webhook, whose position is that before the
// first event that is kept and has this number or a higher one.
func (e *Events) Replay(ctx context.Context, id string, from int64) (Webhook, error) {
	if h, err := e.Webhook(ctx, id); err != nil {
		return h, err
	}
	before, last, err := e.store.bounds(ctx)
	if err != nil {
		return Webhook{}, err
	}
	if from > last+1 {
		return Webhook{}, &actions.Invalid{Field: "from", Value: from, Message: fmt.Sprintf("the last event has the number %d", last)}
	}
	err = e.store.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE webhooks SET position = ?, disabled = '', failing = 0, tries = 0, next = 0, fault = '', replays = replays + 1 WHERE id = ?", max(from-1, before), id)
		return err
	})
	if err != nil {
		return Webhook{}, err
	}
	e.wake()
	return e.Webhook(ctx, id)
}

// DeadLetters returns at most most dead letters of a webhook behind the number of an event.
func (e *Events) DeadLetters(ctx context.Context, id string, after int64, most int) ([]DeadLetter, error) {
	if _, err := e.Webhook(ctx, id); err != nil {
		return nil, err
	}
	rows, err := e.store.read.QueryContext(ctx, "SELECT at, reason, event FROM dead WHERE webhook = ? AND seq > ? ORDER BY seq LIMIT ?", id, after, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []DeadLetter{}
	for rows.Next() {
		var one DeadLetter
		var at int64
		var text []byte
		if err := rows.Scan(&at, &one.Reason, &text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &one.Event); err != nil {
			return nil, err
		}
		one.Time = time.UnixMilli(at).UTC()
		list = append(list, one)
	}
	return list, rows.Err()
}
