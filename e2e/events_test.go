//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// hookEvent is a message of a webhook.
type hookEvent struct {
	ID   int64
	Type string
	Data struct{ Site, URL string }
}

// The daemon is killed during a crawl and a recrawl: a webhook is told each page, each change and the end after them, a second time only
// with the same number, in the order of the numbers.
func TestEventsOfKilledDaemon(t *testing.T) {
	t.Parallel()
	const n = 120
	content := tree(n)
	w := newWitness(t, content)
	var mu sync.Mutex
	var got []hookEvent
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e hookEvent
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil { // else the sender was killed
			got = append(got, e)
		}
	}))
	t.Cleanup(receiver.Close)
	port := freePorts(t, 1)[0]
	env := []string{fmt.Sprint("DC_Api_ApiPort=", port), "DC_Api_AllowedNetworks=127.0.0.0/8", "DC_Api_EventsPeriod=100"}
	data := t.TempDir()
	r := start(t, data, env...)
	post := func(path, body string, want int) {
		t.Helper()
		answer, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/%s", port, path), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != want {
			t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	post("webhooks", `{"url":"`+receiver.URL+`"}`, http.StatusCreated)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	kill := func(times int) {
		t.Helper()
		for range times {
			content.awaitRequests(t, w, 5+random.IntN(20))
			children := descendants(r.PID())
			if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-r.Ended()
			gone(t, children)
			r = start(t, data, env...)
		}
	}
	kill(4)
	content.slowFrom(0, 0)
	finish(t, r, id)
	count := func(kind string) map[string]bool {
		mu.Lock()
		defer mu.Unlock()
		urls := map[string]bool{}
		for _, e := range got {
			if e.Type == kind && e.Data.Site == id {
				urls[e.Data.URL] = true
			}
		}
		return urls
	}
	testwait.Until(t, "all pages are told", func() bool { return len(count("page.new")) == n+1 && len(count("site.finished")) == 1 })
	content.set("/p7.html", tree(n).texts["/p8.html"])
	content.set("/p119.html", "")
	post("sites/"+id+"/recrawl", "{}", http.StatusOK)
	kill(2)
	content.slowFrom(0, 0)
	finish(t, r, id)
	testwait.Until(t, "the changes are told", func() bool { return len(count("page.changed")) > 0 && len(count("page.gone")) > 0 })
	if changed, left := count("page.changed"), count("page.gone"); len(changed) != 1 || len(left) != 1 || !changed[w.URL+"/p7.html"] || !left[w.URL+"/p119.html"] {
		t.Errorf("changed %v, gone %v", changed, left)
	}
	testwait.Until(t, "the recrawl has ended", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got[len(got)-1].Type == "site.finished"
	})
	mu.Lock()
	defer mu.Unlock()
	last, seen, repeated := int64(0), map[int64]bool{}, 0
	fresh := map[string]bool{}
	for _, e := range got {
		switch {
		case seen[e.ID]:
			repeated++
			continue
		case e.ID < last:
			t.Errorf("event %d arrives after %d", e.ID, last)
		case e.Type == "page.new" && fresh[e.Data.URL]:
			t.Errorf("page %s is new twice", e.Data.URL)
		case e.Type == "site.trouble" || e.Type == "page.changed" && !fresh[e.Data.URL]:
			t.Errorf("event %+v", e)
		}
		last, seen[e.ID] = e.ID, true
		if e.Type == "page.new" {
			fresh[e.Data.URL] = true
		}
	}
	t.Logf("%d messages, %d of them repeated", len(got), repeated)
	if strings.Contains(tail(data+"/daemon.out"), "whsec_") {
		t.Error("the log has the secret")
	}
}
