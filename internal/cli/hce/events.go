package hce

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

const (
	eventsEvery = 2 * time.Second  // between two looks for finished URLs; longer if looks are slow
	eventsShare = 20               // of the time, one part at most is for looks
	eventsLate  = 10 * time.Second // between the date of a row and its storing; later ones have their line at the end
)

// events prints the lines of hce crawl --json: an object each, with the members event and at (UTC). A URL has one line,
// page or problem, when the crawl has finished it. Methods of nil do nothing.
type events struct {
	c     *crawl
	to    io.Writer
	told  map[uint64]bool // URLs that have a line, by the first half of their keys; some 40 bytes each
	since time.Time       // the last look saw the rows of before, except those that were stored late
	next  time.Time       // look
	line  time.Time       // of the next progress
	why   string          // the last reason for waiting
}

// newEvents returns nil without --json.
func (c *crawl) newEvents() *events {
	if !c.JSON {
		return nil
	}
	return &events{c: c, to: c.summaryTo(), told: map[uint64]bool{}, since: c.run0.at}
}

// emitLine prints a line with the members of objects.
func (e *events) emitLine(event string, objects ...any) error {
	if e == nil {
		return nil
	}
	var line bytes.Buffer
	fmt.Fprintf(&line, `{"event":%q,"at":%q`, event, time.Now().UTC().Format(time.RFC3339))
	for _, object := range objects {
		var members bytes.Buffer
		encoder := json.NewEncoder(&members)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(object); err != nil {
			return err
		}
		line.WriteByte(',')
		line.Write(bytes.TrimSuffix(members.Bytes()[1:], []byte("}\n")))
	}
	line.WriteString("}\n")
	_, err := e.to.Write(line.Bytes())
	return err
}

// startedEvent is the first line.
type startedEvent struct {
	Site  string   `json:"site"`
	Roots []string `json:"roots"`
}

func (e *events) emitStarted(site wire.Site) error {
	o := startedEvent{Site: site.ID}
	for _, root := range site.URLs {
		o.Roots = append(o.Roots, root.URL.URL)
	}
	return e.emitLine("started", o)
}

// progressEvent is the progress of the site.
type progressEvent struct {
	Done        int64            `json:"done"` // URLs that were fetched or failed
	Pages       int64            `json:"pages"`
	Waiting     int64            `json:"waiting"` // URLs
	Errors      int64            `json:"errors"`  // URLs
	Causes      map[string]int64 `json:"causes,omitempty"`
	PerSecond   float64          `json:"perSecond"`             // URLs in the last 30 seconds
	SecondsLeft float64          `json:"secondsLeft,omitempty"` // estimated for the known URLs
	AskedLater  int64            `json:"askedLater,omitempty"`  // URLs whose host said "later"
}

// problemEvent is a problem that is not one of a URL.
type problemEvent struct {
	Message string `json:"message"`
}

// showProgress prints what a look at the site has found.
func (e *events) showProgress(ctx context.Context, p progress, done bool) error {
	if e == nil {
		return nil
	}
	if p.Why != e.why && p.Why != "" {
		if err := e.emitLine("problem", problemEvent{"waiting because: " + p.Why}); err != nil {
			return err
		}
	}
	e.why = p.Why
	var part *service.Incomplete // the follower has noted it
	if err := e.emitFinished(ctx); err != nil && !errors.As(err, &part) {
		return err
	}
	if !done && p.At.Before(e.line) {
		return nil
	}
	e.line = p.At.Add(lineEvery)
	return e.emitLine("progress", progressEvent{Done: p.Done, Pages: p.Site.Contents, Waiting: p.queueLength(), Errors: p.Site.Errors,
		Causes: p.Causes, PerSecond: math.Round(10*p.Rate) / 10, SecondsLeft: p.estimateLeft().Seconds(), AskedLater: p.Paused.URLs})
}

// emitFinished prints the URLs that were finished since the last look. It reads the keys of all rows of the site, so on a large
// one it comes less often.
func (e *events) emitFinished(ctx context.Context) error {
	began := time.Now()
	if began.Before(e.next) {
		return nil
	}
	err := e.readFinished(ctx, e.since.Add(-eventsLate))
	e.next = time.Now().Add(max(eventsEvery, eventsShare*time.Since(began)))
	if err == nil {
		e.since = began
	}
	return err
}

// emitRest prints the URLs of this run that have no line yet.
func (e *events) emitRest(ctx context.Context) error {
	if e == nil {
		return nil
	}
	return e.readFinished(ctx, e.c.run0.at)
}

// readFinished prints the finished URLs that changed at since or later and have no line.
func (e *events) readFinished(ctx context.Context, since time.Time) error {
	if since.Before(e.c.run0.at) {
		since = e.c.run0.at
	}
	where := wire.FinishedRow + " AND `TcDate`>='" + since.UTC().Format(time.DateTime) + "'"
	return pages.Reader{Service: e.c.Service, Site: e.c.site.ID, Where: where}.Read(ctx, "", e.emitRow, nil)
}

// emitRow prints the line of a URL.
func (e *events) emitRow(p *pages.Page) error {
	key, err := hex.DecodeString(p.URLMd5)
	if err != nil || len(key) < 8 {
		return fmt.Errorf("URL %s has the key %q, which is no md5", p.URL.URL, p.URLMd5)
	}
	id := binary.BigEndian.Uint64(key)
	if e.told[id] {
		return nil
	}
	e.told[id] = true
	found, event := e.c.run0.outcomeOf(p), "page"
	switch found {
	case isSkipped:
		return nil
	case isFailed:
		event = "problem"
	}
	fields, err := export.Object(p, export.URLFields)
	if err != nil {
		return err
	}
	return e.emitLine(event, map[string]outcome{"outcome": found}, json.RawMessage(fields))
}
