package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// childDir is the folder of the log of a child, childPort the port of the service.
const childDir, childPort = "DC_EVENTS_DIR", "DC_EVENTS_PORT"

// TestMain is also the process that is killed: it reads events and delivers them for ever.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	port, _ := strconv.Atoi(os.Getenv(childPort))
	_, err := Open(Config{
		Dir: dir, Service: client.Server{Host: "127.0.0.1", Port: port, Timeout: time.Minute}, Networks: loopback, Every: 5 * time.Millisecond,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// kills is how often the process is killed.
const kills = 25

// Pages change all the time while the process that reads and delivers events is killed again and again. Each event arrives, in the order of
// its number and of the versions of its page, and the last version of each page is told.
func TestKills(t *testing.T) {
	stores := storestest.Open(t)
	old := stores.NewSite("https://old.example/")
	stores.AddPages(old, "https://old.example/", 5)
	w := open(t, stores, func(c *Config) { c.Networks = loopback })
	w.begin()
	r := newReceiver(t)
	h := w.webhook(r, NewWebhook{Types: []string{PageNew, PageChanged}})
	w.Close()
	sites := []string{stores.NewSite(root), stores.NewSite("https://cliff.example/")}
	latest := map[string]int64{} // version by key of a page
	change := func(n int64) {
		site := n % 2
		url := fmt.Sprint([]string{root, "https://cliff.example/"}[site], n*7%41)
		key := urlkey.Of(url)
		fields := map[string]any{"siteId": sites[site], "urlMd5": key, "crawled": n, "processed": n, "size": n, "rawContentMd5": wire.Md5(fmt.Sprint(n)), "status": wire.StatusProcessed, "httpCode": 200}
		if latest[key] == 0 {
			stores.AddURL(sites[site], url, map[string]any{"size": n, "rawContentMd5": wire.Md5(fmt.Sprint(n))})
		} else if err := stores.Ask(context.Background(), wire.URLUpdate, []any{fields}, nil); err != nil {
			t.Error(err)
		}
		latest[key] = n
	}
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				change(n)
			}
		}
	})
	begin := func() (kill func()) {
		cmd := childprocess.Self()
		cmd.Env = append(os.Environ(), childDir+"="+w.cfg.Dir, childPort+"="+stores.Port)
		cmd.Stderr = os.Stderr
		ended, err := childprocess.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	for range kills {
		wanted, kill := len(r.messages())+rand.IntN(20), begin()
		testwait.Until(t, "some messages arrive", func() bool { return len(r.messages()) >= wanted })
		kill()
	}
	close(stop)
	changes.Wait()
	kill := begin()
	told := func() map[string]int64 {
		last := map[string]int64{}
		for _, m := range r.messages() {
			last[m.event.Data.Key] = m.event.Data.Size
		}
		return last
	}
	testwait.Until(t, "the last version of each page is told", func() bool {
		last := told()
		for key, n := range latest {
			if last[key] != n {
				return false
			}
		}
		return true
	})
	kill()
	again := open(t, stores, func(c *Config) { c.Dir, c.Networks = w.cfg.Dir, loopback })
	checkMessages(t, r.messages(), again, h.ID)
}

// checkMessages compares what has arrived with the log.
func checkMessages(t *testing.T, got []message, log *watch, id string) {
	t.Helper()
	list, err := log.After(t.Context(), 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	arrived, versions, repeated, top := map[int64]bool{}, map[string]int64{}, 0, int64(0)
	for _, m := range got {
		e := m.event
		if e.ID < top {
			t.Errorf("event %d arrives after %d", e.ID, top)
		}
		if arrived[e.ID] {
			repeated++
		} else if e.Data.Size <= versions[e.Data.Key] {
			t.Errorf("page %s: version %d is told after %d", e.Data.URL, e.Data.Size, versions[e.Data.Key])
		}
		arrived[e.ID], versions[e.Data.Key], top = true, e.Data.Size, max(top, e.ID)
	}
	position, filter, wanted := log.state(id).Position, Filter{Types: []string{PageNew, PageChanged}}, 0
	for _, e := range list {
		if !filter.Allows(e) {
			continue
		}
		if wanted++; !arrived[e.ID] && e.ID <= position {
			t.Errorf("event %d has not arrived: %+v", e.ID, e)
		}
	}
	t.Logf("%d events, %d messages, %d of them repeated, %d kills", wanted, len(got), repeated, kills)
	if missing := slices.ContainsFunc(list, func(e Event) bool { return filter.Allows(e) && !arrived[e.ID] }); missing {
		t.Error("an event has not arrived")
	}
}
