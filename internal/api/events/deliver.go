package events

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/crawl/fetch"
)

const (
	answerLimit = 15 * time.Second
	answerBytes = 64 << 10
	firstPause  = 5 * time.Second // after a failure; it doubles up to lastPause
	lastPause   = time.Hour
	giveUp      = 24 * time.Hour // age of an event whose receiver fails all the time
	deadPause   = time.Second    // after a dead letter
	listed      = 100            // events that are read at once
	skipAtOnce  = 1000           // events that the filter leaves out, before the position is stored
)

// pauseAfter returns the pause after some failures: with jitter, so that receivers are not asked in step.
func pauseAfter(tries int64) time.Duration {
	pause := min(firstPause<<min(tries-1, 20), lastPause)
	return pause*3/4 + rand.N(pause/4+1)
}

// delivery sends the events of one webhook, one after the other. All that must survive a kill is in its row.
type delivery struct {
	*Events
	id string
	// There is nothing to send between position, as it is stored, and passed.
	position, passed int64
	list             []Event // behind passed
}

// startDelivery starts the goroutine of a webhook. It ends with the webhook and with the log.
func (e *Events) startDelivery(id string) {
	d := &delivery{Events: e, id: id}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.life.Err() == nil {
		e.running.Go(d.run)
	}
}

// run sends events until the webhook is deleted.
func (d *delivery) run() {
	for {
		changed := d.Changed()
		wait, err := d.sendNext()
		missing := (*actions.NotFound)(nil)
		switch {
		case d.life.Err() != nil || errors.As(err, &missing):
			return
		case err != nil:
			d.cfg.Log.Error("cannot read or write the state of a webhook; trying again", "webhook", d.id, "error", err)
			wait = firstPause
		}
		var after <-chan time.Time // never: until there is a change
		if wait > 0 {
			after = d.cfg.After(wait)
		}
		if wait == 0 {
			continue
		}
		select {
		case <-d.life.Done():
			return
		case <-changed:
		case <-after:
		}
	}
}

// sendNext sends the next event. It returns the time to wait after it; negative: until there is a change.
func (d *delivery) sendNext() (wait time.Duration, err error) {
	h, err := d.Webhook(d.life, d.id)
	if err != nil || h.State == "disabled" {
		return -1, err
	}
	now := d.cfg.Now()
	if h.Next != nil && now.Before(*h.Next) {
		return h.Next.Sub(now), nil
	}
	e, err := d.findNext(h)
	if err != nil || e == nil {
		return -1, err
	}
	h.Position = d.position
	code, fault := d.post(h, *e)
	if d.life.Err() != nil {
		return -1, nil // the answer is not known: it is sent again
	}
	return d.record(h, *e, code, fault)
}

// findNext returns the next event that the webhook wants; nil: there are no more.
func (d *delivery) findNext(h Webhook) (*Event, error) {
	if h.Position != d.position {
		d.position, d.passed, d.list = h.Position, h.Position, nil
	}
	filter := Filter{Types: h.Types, Sites: h.Sites}
	for {
		if err := d.readList(); err != nil || len(d.list) == 0 {
			return nil, err
		}
		if filter.Allows(d.list[0]) {
			return &d.list[0], nil
		}
		d.passed, d.list = d.list[0].ID, d.list[1:]
		if d.passed-d.position >= skipAtOnce {
			if err := d.set(h, "position = ?", d.passed); err != nil {
				return nil, err
			}
			h.Position, d.position = d.passed, d.passed
		}
	}
}

// readList reads further events if list is empty.
func (d *delivery) readList() (err error) {
	if len(d.list) > 0 {
		return nil
	}
	d.list, err = d.store.readAfter(d.life, d.passed, listed)
	if err != nil || len(d.list) == 0 {
		return err
	}
	if first := d.list[0].ID; first > d.passed+1 {
		d.cfg.Log.Warn("events of a webhook are lost: it has failed for too long", "webhook", d.id, "from", d.passed+1, "to", first-1)
	}
	return nil
}

// set changes columns of a webhook, unless another request has moved its position meanwhile, as a replay does.
func (d *delivery) set(h Webhook, columns string, values ...any) error {
	return d.store.update(d.life, func(tx *sql.Tx) error {
		_, err := setColumns(tx, h, columns, values...)
		return err
	})
}

func setColumns(tx *sql.Tx, h Webhook, columns string, values ...any) (done bool, err error) {
	changed, err := tx.Exec("UPDATE webhooks SET "+columns+" WHERE id = ? AND position = ? AND replays = ?", append(values, h.ID, h.Position, h.replays)...)
	if err != nil {
		return false, err
	}
	n, err := changed.RowsAffected()
	return n > 0, err
}

// record stores what came of a request.
func (d *delivery) record(h Webhook, e Event, code int, fault string) (wait time.Duration, err error) {
	now := d.cfg.Now()
	switch {
	case code >= 200 && code < 300:
		d.position, d.passed, d.list = e.ID, e.ID, d.list[1:]
		return 0, runIn(d.life, d.store.light, func(tx *sql.Tx) error {
			if _, err := tx.Exec("DELETE FROM dead WHERE webhook = ? AND seq = ?", h.ID, e.ID); err != nil {
				return err
			}
			_, err := setColumns(tx, h, "position = ?, failing = 0, tries = 0, next = 0, fault = ''", e.ID)
			return err
		})
	case code == http.StatusGone:
		d.cfg.Log.Warn("webhook disabled: its receiver answers 410", "webhook", d.id)
		return -1, d.set(h, "disabled = ?", "the receiver answers 410 Gone")
	}
	since := now
	if h.Failing != nil {
		since = *h.Failing
	} else {
		d.cfg.Log.Warn("cannot deliver events; trying again for a day", "webhook", d.id, "number", e.ID, "fault", fault)
	}
	if now.Sub(since) >= giveUp && now.Sub(e.Time) >= giveUp {
		d.cfg.Log.Warn("event could not be delivered for a day", "webhook", d.id, "number", e.ID, "fault", fault)
		return deadPause, d.bury(h, e, fault)
	}
	pause := pauseAfter(h.Tries + 1)
	return pause, d.set(h, "failing = ?, tries = ?, next = ?, fault = ?", since.UnixMilli(), h.Tries+1, now.Add(pause).UnixMilli(), fault)
}

// bury makes an event a dead letter, and the next one follows.
func (d *delivery) bury(h Webhook, e Event, fault string) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return d.store.update(d.life, func(tx *sql.Tx) error {
		done, err := setColumns(tx, h, "position = ?, tries = 0, next = ?, fault = ?", e.ID, d.cfg.Now().Add(deadPause).UnixMilli(), fault)
		if err != nil || !done {
			return err
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO dead(webhook, seq, at, reason, event) VALUES(?, ?, ?, ?, ?)", h.ID, e.ID, d.cfg.Now().UnixMilli(), fault, text); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM dead WHERE webhook = ? AND seq <= (SELECT seq FROM dead WHERE webhook = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)", h.ID, h.ID, maxDead)
		return err
	})
}

// post sends an event. code is the status of the answer, 0 without one; fault says what is wrong with it, for a person.
func (d *delivery) post(h Webhook, e Event) (code int, fault string) {
	body, err := json.Marshal(e)
	if err != nil {
		return 0, err.Error()
	}
	id, at := fmt.Sprintf("msg_%s_%d", d.store.name, e.ID), d.cfg.Now().Unix()
	signature, err := signBody(h.secret, id, at, body)
	if err != nil {
		return 0, "the secret is damaged"
	}
	header := http.Header{}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": fetch.DefaultUserAgent,
		"Webhook-Id": id, "Webhook-Timestamp": strconv.FormatInt(at, 10), "Webhook-Signature": signature,
	} {
		header.Set(name, value)
	}
	answer, err := d.client.Get(d.life, fetch.Request{URL: h.URL, Method: http.MethodPost, Header: header, Body: body, Timeout: answerLimit, MaxBytes: answerBytes})
	if err == nil {
		return answer.Code, "the receiver answers " + strconv.Itoa(answer.Code)
	}
	if f, ok := errors.AsType[*fetch.Fault](err); ok {
		fault := f.Kind.String() // the URL may have secrets
		if refused, ok := errors.AsType[*fetch.AddressError](err); ok {
			fault = refused.Error()
		}
		if f.Code > 0 {
			fault = fmt.Sprintf("the receiver answers %d (%s)", f.Code, fault)
		}
		return f.Code, fault
	}
	return 0, err.Error()
}
