package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/testkit/testwait"
)

// stream is a client of events. Its lines come until its end.
type stream struct {
	testing.TB
	lines chan string
	end   context.CancelFunc
	last  string // id
}

// listen opens a stream and waits for its head.
func (a *served) listen(path string, header ...string) *stream {
	a.Helper()
	ctx, end := context.WithCancel(a.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", a.url+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		a.Fatalf("%s: %d %s", path, answer.StatusCode, answer.Header)
	}
	s := &stream{TB: a.TB, lines: make(chan string, 1000), end: end}
	go func() {
		defer answer.Body.Close()
		defer close(s.lines)
		for text := bufio.NewScanner(answer.Body); text.Scan(); {
			s.lines <- text.Text()
		}
	}()
	a.TB.(interface{ Cleanup(func()) }).Cleanup(end)
	return s
}

// next returns the next line that begins with a text, without it. It is "" at the end.
func (s *stream) next(prefix string) string {
	s.Helper()
	deadline := time.After(testwait.Deadline)
	for {
		select {
		case line, open := <-s.lines:
			if id, is := strings.CutPrefix(line, "id: "); is {
				s.last = id
			}
			if rest, is := strings.CutPrefix(line, prefix); is || !open {
				return rest
			}
		case <-deadline:
			s.Fatalf("no line %q comes", prefix)
		}
	}
}

// A stream begins with the next event, goes on behind the last one that the client has, and knows its filter.
func TestEventStream(t *testing.T) {
	a := start(t, nil)
	site, other := a.NewSite(root), a.NewSite("https://other.example/")
	a.AddPage(site, root+"old", "Old", "text")
	first := a.listen("/v1/events?types=page.new,page.changed")
	first.next(": ready")
	a.AddPage(site, root+"1", "One", "text")
	if data := first.next("data: "); !strings.Contains(data, `"id":1,"type":"page.new"`) || !strings.Contains(data, `"url":"`+root+`1"`) {
		t.Errorf("first event: %s", data)
	}
	first.end()
	for i := 2; i <= 20; i++ {
		a.AddPage([]string{site, other}[i%2], fmt.Sprint([]string{root, "https://other.example/"}[i%2], i), "Title", "text")
	}
	again := a.listen("/v1/events?types=page.new&types=page.changed", "Last-Event-ID", first.last)
	var urls []string
	for range 19 {
		data := again.next("data: ")
		urls = append(urls, data[strings.Index(data, `"url":"`)+7:strings.Index(data, `","urlMd5`)])
	}
	slices.Sort(urls)
	if n := len(slices.Compact(urls)); n != 19 {
		t.Errorf("%d different pages after the break: %v", n, urls)
	}
	if data := a.listen("/v1/events?after=0&site=" + other).next("data: "); !strings.Contains(data, `"site":"`+other+`"`) {
		t.Errorf("other site: %s", data)
	}
	list := a.expect("GET", "/v1/events?types=page.new&limit=3", "", 200, `{"items":[{"id":1,"type":"page.new"`, "Accept", "application/json")
	if strings.Count(list, "page.new") != 3 {
		t.Errorf("list: %s", list)
	}
	a.expect("GET", "/v1/events?after=1000", "", 200, `"gap":true`, "Accept", "application/json")
	a.expect("GET", "/v1/events?types=page.read", "", 422, "page.changed")
	a.expect("GET", "/v1/events?after=x", "", 422, "query.after")
}

// Old events are removed. A client that needs them is told.
func TestEventGap(t *testing.T) {
	a := start(t, func(c *Config) { c.EventsKept = 10 })
	a.listen("/v1/events").next(": ready")
	site := a.NewSite(root)
	a.AddPages(site, root, 30)
	a.AddPages(site, root+"more", 30)
	testwait.Until(t, "old events are removed", func() bool {
		before, last, err := a.server.events.Bounds(t.Context())
		return err == nil && last >= 60 && before >= last-10
	})
	s := a.listen("/v1/events?after=5")
	if name := s.next("event: "); name != "gap" {
		t.Errorf("the first event is %s", name)
	}
	if name := s.next("event: "); name != "page.new" && name != "site.finished" {
		t.Errorf("the second event is %s", name)
	}
}

// Streams end with their key and with the daemon, tell their position when nothing happens, and have a bound. Keys of single sites see these only.
func TestEventStreamEnds(t *testing.T) {
	a := start(t, nil)
	a.server.beat, a.server.streams = 10*time.Millisecond, make(chan struct{}, 2)
	site := a.NewSite(root)
	other := a.NewSite("https://other.example/")
	admin, narrow := a.newKey(apikeys.Admin), a.newKey(apikeys.Read, site)
	one := a.listen("/v1/events", "Authorization", "Bearer "+narrow)
	one.next(": ready")
	two := a.listen("/v1/events", "Authorization", "Bearer "+admin)
	a.expect("GET", "/v1/events", "", 503, "2 streams", "Authorization", "Bearer "+admin)
	a.expect("GET", "/v1/events?site="+other, "", 404, "not known", "Authorization", "Bearer "+narrow)
	a.AddPage(other, "https://other.example/a", "A", "text")
	two.next("event: page.new")
	one.next("event: place") // behind the event of the other site
	a.AddPage(site, root+"a", "A", "text")
	one.next("event: page.new")
	if data := one.next("data: "); !strings.Contains(data, root+"a") {
		t.Errorf("the narrow key sees %s", data)
	}
	one.next(": still here")
	if err := a.server.keys.Revoke(t.Context(), strings.Split(narrow, "_")[1]); err != nil {
		t.Fatal(err)
	}
	one.next("end") // of the stream
	a.server.events.End()
	two.next("end")
	a.server.awaitRequests()
}

// Webhooks are created, shown without their secret, replayed and deleted with a key of scope admin.
func TestWebhooks(t *testing.T) {
	a := start(t, nil)
	a.expect("GET", "/v1/webhooks", "", 200, `{"items":[]}`)
	if before, last, err := a.server.events.Bounds(t.Context()); err == nil {
		t.Errorf("a list has begun the log: %d %d", before, last)
	}
	var got sync.Map
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("webhook-id"), r.Header.Get("webhook-signature"))
	}))
	t.Cleanup(receiver.Close)
	text := a.expect("POST", "/v1/webhooks", `{"url":"`+receiver.URL+`/","types":["page.new"]}`, 201, `"secret":"whsec_`)
	var made struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	path := "/v1/webhooks/" + made.ID
	<-a.server.events.Ready()
	a.AddPage(a.NewSite(root), root, "Coast", "text")
	testwait.Until(t, "the event is delivered", func() bool {
		_, shown := a.send("GET", path, "")
		return strings.Contains(shown, `"position":1`)
	})
	for _, list := range []string{"/v1/webhooks", path} {
		if shown := a.expect("GET", list, "", 200, made.ID); strings.Contains(shown, "whsec_") {
			t.Errorf("the secret is shown: %s", shown)
		}
	}
	got.Clear()
	a.expect("POST", path+"/replay", `{"from":1}`, 200, `"position":0`)
	testwait.Until(t, "the event arrives again", func() bool {
		found := false
		got.Range(func(any, any) bool { found = true; return false })
		return found
	})
	a.expect("POST", path+"/replay", `{"from":99}`, 422, "the last event has the number")
	a.expect("GET", path+"/dead", "", 200, `{"items":[]}`)
	a.expect("POST", "/v1/webhooks", `{"url":"http://10.0.0.1/"}`, 422, "AllowedNetworks")
	a.expect("POST", "/v1/webhooks", `{"url":"`+receiver.URL+`/","types":["page.read"]}`, 422, "body.types[0]")
	a.expect("GET", "/v1/webhooks/none", "", 404, "webhook none is not known")
	crawl := a.newKey(apikeys.Crawl)
	a.expect("GET", "/v1/webhooks", "", 403, "needs admin", "Authorization", "Bearer "+crawl)
	a.key = a.newKey(apikeys.Admin)
	a.expect("DELETE", path, "", 204, "")
	a.expect("GET", path, "", 404, "not known")
	if strings.Contains(a.log.String(), "whsec_") {
		t.Errorf("the log has the secret: %s", a.log)
	}
}
